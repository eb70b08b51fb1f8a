"""What stays of a failed answer: all before the line that is blamed, and less each time that it does not help."""

from tritonsmith.extract import extract
from tritonsmith.redraw import begun
from tritonsmith.types import Finding, Verdict

ASK = [{"role": "user", "content": "do"}]
SOURCE = (
    "import triton\n\n\n@triton.jit\ndef kernel(\n    x,\n):\n    pass\n\n\nclass ModelNew:\n    a = 1\n    b = slip\n"
)
ANSWER = f"A plan.\n\n```python\n{SOURCE}```"


def blamed(*lines: int | None, correct: bool = False) -> Verdict:
    findings = [Finding(rule="exception", message="NameError", line=line) for line in lines]
    return Verdict(task="t", device="cpu", target="sm_90", policy="strict", correct=correct, findings=findings)


def test_all_before_the_blamed_line_stays() -> None:
    assert begun(ASK, ANSWER, blamed(None, 13)) == [
        *ASK,
        {"role": "assistant", "content": ANSWER[: ANSWER.index("    b = slip")]},
    ]


def test_the_line_of_the_answer_is_blamed_and_not_of_the_draft() -> None:
    draft = f"<think>\n```python\n{SOURCE}```\n</think>\n"
    assert begun(ASK, draft + ANSWER, blamed(13))[-1]["content"] == draft + ANSWER[: ANSWER.index("    b = slip")]


def test_lines_may_end_as_they_like_and_imports_come_from_another_block() -> None:
    windows = ANSWER.replace("\n", "\r\n")
    assert begun(ASK, windows, blamed(13))[-1]["content"] == windows[: windows.index("    b = slip")]
    parted = f"```python\nimport torch\n```\n\n```python\n{SOURCE.replace('slip', 'torch.slip')}```"
    source = extract(parted).source or ""
    line = 1 + source.splitlines().index("    b = torch.slip")
    assert line > 13
    assert begun(ASK, parted, blamed(line))[-1]["content"] == parted[: parted.index("    b = torch.slip")]


def test_an_answer_without_a_blamed_line_is_drawn_whole() -> None:
    assert begun(ASK, ANSWER, blamed(None)) == begun(ASK, ANSWER, blamed()) == ASK
    assert begun(ASK, "no code", blamed(3)) == ASK


def test_a_right_answer_has_no_line_to_blame() -> None:
    assert begun(ASK, ANSWER, blamed(13, correct=True)) == ASK


def test_what_fails_there_again_goes_back_to_the_definition_and_then_to_the_one_before() -> None:
    first = begun(ASK, ANSWER, blamed(13))
    second = begun(first, ANSWER, blamed(13))
    assert second[-1]["content"] == ANSWER[: ANSWER.index("class ModelNew")]
    third = begun(second, ANSWER, blamed(11))
    assert third[-1]["content"] == ANSWER[: ANSWER.index("def kernel")]
    assert begun(third, ANSWER, blamed(2))[-1]["content"] == ANSWER[: ANSWER.index("@triton")]
    assert begun([*ASK, {"role": "assistant", "content": "A plan.\n\n```python\n"}], ANSWER, blamed(1)) == ASK


def test_what_fails_later_than_before_keeps_what_was_gained() -> None:
    before = [*ASK, {"role": "assistant", "content": ANSWER[: ANSWER.index("class ModelNew")]}]
    assert begun(before, ANSWER, blamed(13))[-1]["content"].endswith("a = 1\n")
