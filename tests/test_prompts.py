import ast

from judging import DOUBLE

from tritonsmith.extract import extract
from tritonsmith.prompts import feedback_message, messages, midend_messages, render_completion, replied
from tritonsmith.types import Finding, Interval, KernelStats, Mismatch, StageResult, Task, Timing, Verdict

TASK = Task(id="level1/relu", level=1, source="\nimport torch\n\nclass Model(torch.nn.Module):\n    pass\n\n")
REJECTED = Verdict(
    task="level1/relu",
    device="cpu",
    target="sm_90",
    policy="strict",
    stage="compile",
    valid=True,
    compiled=True,
    findings=[Finding(rule="race", message="two programs store to one element", line=7)],
    mismatch=Mismatch(
        variant="as given",
        output="output",
        message="values differ",
        index=[3, 4],
        expected=1.0,
        got=2.5,
        wrong_share=0.25,
    ),
    kernels=[KernelStats(name="relu_kernel", registers=32, spills=None, shared=128, launches=1)],
    stages=[
        StageResult(name="ast", ok=True, seconds=0.0),
        StageResult(name="tiny", ok=False, seconds=0.1, detail="no"),
    ],
)


def test_bare_prompt_is_the_task_alone() -> None:
    assert messages(TASK, "bare") == [{"role": "user", "content": TASK.source.strip()}]


def test_full_prompt_holds_rule_example_and_task() -> None:
    text = "\n".join(message["content"] for message in messages(TASK, "full"))
    for part in ("ModelNew", "@triton.jit", "```python", TASK.source.strip(), "plan"):
        assert part in text


def test_traced_prompt_is_the_task_and_its_graph_as_comments() -> None:
    (message,) = messages(DOUBLE, "traced")
    head, _, graph = message["content"].partition("\n\n\n# ATen graph:\n")
    assert head == DOUBLE.source.strip()
    assert graph.splitlines() == ["# %0 = mul(x: f32[64,48], other=2.0) -> f32[64,48]", "# return %0"]
    ast.parse(message["content"])


def test_traced_prompt_of_a_task_without_a_trace_is_the_bare_one() -> None:
    assert messages(TASK, "traced") == messages(TASK, "bare")


def test_traced_prompt_of_a_task_that_does_not_load_is_the_bare_one() -> None:
    broken = Task(id="t", level=1, source="import nosuchmodule")
    assert messages(broken, "traced") == messages(broken, "bare")


def test_worked_example_is_an_extractable_answer() -> None:
    question = messages(TASK, "full")[-1]["content"]
    example = question.partition("Answer:\n")[2].partition("Now replace")[0]
    found = extract(example)
    assert found.source is not None and found.plan
    assert "class ModelNew" in found.source
    ast.parse(found.source)


def test_completion_is_plan_blank_line_and_block() -> None:
    assert render_completion("Plan.\n", "\nx = 1\n\n") == "Plan.\n\n```python\nx = 1\n```"


def test_completion_without_plan_starts_with_the_block() -> None:
    assert render_completion("", "x = 1") == "```python\nx = 1\n```"


def test_feedback_names_stage_rule_line_and_mismatch() -> None:
    message = feedback_message(REJECTED)
    assert message["role"] == "user"
    for part in (
        "`tiny`",
        "race",
        "line 7",
        "[3, 4]",
        "expected 1",
        "got 2.5",
        "25.0 %",
        "relu_kernel",
        "32 registers",
    ):
        assert part in message["content"]


def test_feedback_calls_a_prediction_a_prediction() -> None:
    speedup = Interval(median=1.5, low=1.5, high=1.5)
    timing = Timing(kind="predicted", reference_ms=3.0, candidate_ms=2.0, speedup=speedup)
    good = REJECTED.model_copy(
        update={"correct": True, "findings": [], "mismatch": None, "speedup": speedup, "timing": timing}
    )
    assert "1.50 times" in feedback_message(good)["content"]
    assert "predicted" in feedback_message(good)["content"]


def test_feedback_on_an_answer_without_code() -> None:
    empty = Verdict(task="a", device="cpu", target="sm_90", policy="strict")
    assert "no Python code" in feedback_message(empty)["content"]


TUNED = KernelStats(
    name="relu_kernel", registers=32, spills=0, shared=0, launches=2, warps=4, stages=3, grid=[64, 8], occupancy=0.75,
    lines=["8 x ld.global.v4.b32", "5 x bar.sync"],
)  # fmt: skip


def test_the_midend_is_told_launches_occupancy_lines_and_the_roofline() -> None:
    speedup = Interval(median=1.5, low=1.4, high=1.6)
    timing = Timing(
        kind="measured", reference_ms=3.0, candidate_ms=2.0, speedup=speedup, bytes_moved=4096, roofline_share=0.4
    )
    verdict = REJECTED.model_copy(update={"kernels": [TUNED], "timing": timing, "speedup": speedup})
    text = midend_messages(TASK, "import triton", verdict)[0]["content"]
    assert "2 launches, grid 64x8, 4 warps, 3 stages, 32 registers, 0 bytes spilled, 0 bytes shared" in text
    assert "occupancy 75 %\n#   8 x ld.global.v4.b32\n#   5 x bar.sync\n# 2 ms, PyTorch 3 ms" in text
    assert "4096 bytes moved, 40 % of the roofline\n# Make it faster." in text


def test_what_is_not_known_of_a_kernel_is_left_out() -> None:
    text = midend_messages(TASK, "import triton", REJECTED)[0]["content"]
    assert "relu_kernel: 1 launch, 32 registers, ? bytes spilled" in text
    assert "occupancy" not in text and "None" not in text


def test_the_midends_plain_prompt_has_the_plain_task_and_its_full_one_the_rules() -> None:
    task = TASK.model_copy(update={"source": "import torch  # remark\n\n\nx: int = 1\n"})
    assert midend_messages(task, "k = 1", REJECTED, "plain")[0]["content"].startswith("import torch\nx = 1\n")
    system, user = midend_messages(task, "k = 1", REJECTED, "full")
    assert system["role"] == "system" and "ModelNew" in system["content"] and "```python block" in user["content"]


def test_a_reply_adds_the_answer_and_what_the_verifier_says() -> None:
    chat = messages(TASK, "bare")
    longer = replied(chat, "my answer", REJECTED)
    assert longer == [*chat, {"role": "assistant", "content": "my answer"}, feedback_message(REJECTED)]
