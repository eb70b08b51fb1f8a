import random
import time

import pytest

from tritonsmith.extract import Extraction, extract
from tritonsmith.prompts import render_completion

IMPORTS = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr):\n    pid = tl.program_id(0)\n"
FORWARD = "    def forward(self, x):\n        kernel[(1,)](x, x.numel(), BLOCK=64)\n        return x\n"
MODEL = f"class ModelNew(nn.Module):\n{FORWARD}"
CODE = f"{IMPORTS}\n\n{KERNEL}\n\n{MODEL}"
DRAFT = CODE.replace("BLOCK=64", "BLOCK=1")


def check_spans(completion: str, found: Extraction) -> None:
    if found.plan_span is not None:
        assert found.plan == completion[slice(*found.plan_span)]
    else:
        assert found.plan == ""
    if found.code_span is not None:
        assert 0 <= found.code_span[0] <= found.code_span[1] <= len(completion)
        assert found.plan_span is None or found.plan_span[1] <= found.code_span[0]


FENCES = {
    "python": f"Plan.\n\n```python\n{CODE}```",
    "py": f"Plan.\n```py\n{CODE}```\n",
    "python3": f"Plan.\n```python3\n{CODE}```\n",
    "triton": f"Plan.\n```triton\n{CODE}```\n",
    "capitals": f"Plan.\n``` Python \n{CODE}```\n",
    "attributes": f'Plan.\n```python title="kernel.py"\n{CODE}```\n',
    "pandoc attributes": f"Plan.\n```{{.python}}\n{CODE}```\n",
    "no language": f"Plan.\n```\n{CODE}```\nDone.",
    "tildes": f"Plan.\n~~~python\n{CODE}~~~\n",
    "four backticks": f"Plan.\n````python\n{CODE}````\n",
    "unclosed": f"Plan.\n```python\n{CODE}",
    "unclosed with end token": f"Plan.\n```python\n{CODE}<|im_end|>",
    "closed at a line's end": f"Plan.\n```python\n{CODE.rstrip()}```",
    "opened at a line's end": f"Plan. ```python\n{CODE}```",
    "code on the fence line": f"Plan.\n```python {CODE}```",
    "words after the closing fence": f"Plan.\n```python\n{CODE}``` That is all.\nAnd more.",
    "list item": "Plan.\n\n1. ```python\n" + "".join(f"   {line}\n" for line in CODE.splitlines()) + "   ```\n",
    "indented": "Plan.\n\n    ```python\n" + "".join(f"    {line}\n" for line in CODE.splitlines()) + "    ```\n",
    "block quote": "Plan.\n\n> ```python\n" + "".join(f"> {line}\n" for line in CODE.splitlines()) + "> ```\n",
    "carriage returns": f"Plan.\n\n```python\n{CODE}```\n".replace("\n", "\r\n"),
    "fence in a markdown fence": f"Plan.\n````markdown\n```python\n{CODE}```\n````\n",
    "chat template": f"<|im_start|>assistant\nPlan.\n```python\n{CODE}```<|im_end|>\n",
    "llama template": f"<|start_header_id|>assistant<|end_header_id|>\n\nPlan.\n```python\n{CODE}```<|eot_id|>",
    "phi template": f"<|assistant|>\nPlan.\n```python\n{CODE}```<|end|>",
    "end of sequence": f"Plan.\n```python\n{CODE}```</s>",
    "begin and end of sequence": f"<s> Plan.\n```python\n{CODE}```</s></s>",
    "no fence": f"Plan.\n\n{CODE}",
    "no fence, words behind": f"Plan.\n\n{CODE}\nThis kernel is fast: it loads once.\n",
    "no fence, end token": f"Plan.\n\n{CODE}<|endoftext|>",
    "no fence, tags": f"Plan.\n<answer>\n{CODE}</answer>\n",
}


@pytest.mark.parametrize("name", FENCES)
def test_finds_the_source(name: str) -> None:
    found = extract(FENCES[name])
    assert found.source is not None
    assert found.source.replace("\n\n\n", "\n") == CODE.replace("\n\n\n", "\n")
    check_spans(FENCES[name], found)


@pytest.mark.parametrize("name", FENCES)
def test_finds_the_plan(name: str) -> None:
    assert extract(FENCES[name]).plan.startswith("Plan.")


def test_code_span_is_the_block_without_its_fence() -> None:
    completion = f"Plan.\n```python\n{CODE}```\n"
    found = extract(completion)
    assert found.code_span is not None
    assert completion[slice(*found.code_span)] == CODE


def test_prefilled_fence_is_closed_only() -> None:
    found = extract(f"{CODE}```\nThis works because of the mask.\n```python\nModelNew()(x)\n```")
    assert found.source == CODE
    assert found.plan == ""


DRAFTS = {
    "closed": f"<think>\nMaybe:\n```python\n{DRAFT}```\nNo.\n</think>\n```python\n{CODE}```",
    "draft after a tag of another name": f"<thinking>```python\n{DRAFT}```</thinking>\n```python\n{CODE}```",
    "opened by the template": f"Maybe:\n```python\n{DRAFT}```\n</think>\n\n```python\n{CODE}```",
    "open fence inside": f"<think>\n```python\n{DRAFT}\n</think>\n```python\n{CODE}```",
    "second draft at the end": f"```python\n{CODE}```\n<think>\n```python\n{DRAFT}```",
    "no fence after it": f"<think>\n{DRAFT}\n</think>\n{CODE}",
    "harmony": (
        f"<|channel|>analysis<|message|>```python\n{DRAFT}```<|end|><|start|>assistant<|channel|>final<|message|>"
        f"\n```python\n{CODE}```<|return|>"
    ),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_draft_never_wins(name: str) -> None:
    found = extract(DRAFTS[name])
    assert found.source == CODE
    check_spans(DRAFTS[name], found)


def test_unclosed_draft_holds_no_answer() -> None:
    completion = f"<think>\nLet me try.\n```python\n{DRAFT}```\nHm"
    found = extract(completion)
    assert found.source is None
    assert found.plan == completion


def test_draft_counts_as_plan() -> None:
    assert "Load once." in extract(f"<think>Load once.</think>\n```python\n{CODE}```").plan


def test_think_tag_in_code_is_code() -> None:
    code = CODE.replace("    pid", "    # <think> about masks\n    pid")
    assert extract(f"```python\n{code}```").source == code


def test_last_of_several_candidates_wins() -> None:
    assert extract(f"First try:\n```python\n{DRAFT}```\nBetter:\n```python\n{CODE}```").source == CODE


def test_block_that_defines_the_model_beats_a_later_one() -> None:
    assert extract(f"```python\n{CODE}```\nUse it:\n```python\nmodel = ModelNew()\n```\n").source == CODE


def test_whole_block_beats_a_cut_off_one() -> None:
    cut = "import torch\n\nclass ModelNew(nn.Module):\n    def forward(self, x"
    assert extract(f"```python\n{CODE}```\nOr rather\n```python\n{cut}").source == CODE


def test_only_a_cut_off_block_is_handed_on() -> None:
    cut = "import torch\n\nclass ModelNew(nn.Module):\n    def forward(self, x"
    assert extract(f"```python\n{cut}").source == f"{cut}\n"


def test_shell_block_is_not_a_candidate() -> None:
    assert extract("Install it:\n```bash\npip install triton\n```\n").source is None


def test_second_turn_is_not_read() -> None:
    turn = f"```python\n{CODE}```<|im_end|>\n"
    more = f"<|im_start|>user\nthanks<|im_end|>\n<|im_start|>assistant\n```python\n{DRAFT}```"
    assert extract(turn + more).source == CODE


def test_prompt_in_front_is_not_read() -> None:
    prompt = f"<|im_start|>user\n```python\n{DRAFT}```<|im_end|>\n<|im_start|>assistant\n"
    found = extract(f"{prompt}Plan.\n```python\n{CODE}```<|im_end|>")
    assert found.source == CODE
    assert found.plan == "Plan."


def test_takes_missing_imports_and_kernels_from_other_blocks() -> None:
    found = extract(
        f"Imports:\n```python\n{IMPORTS}```\nKernel:\n```python\n{KERNEL}```\nModule:\n```python\n{MODEL}```"
    )
    assert found.source is not None
    needed = IMPORTS.removeprefix("import torch\n").strip()
    assert all(part in found.source for part in (needed, KERNEL.strip(), MODEL.strip()))
    assert found.plan == "Imports:"
    assert len(found.helper_spans) == 2


def test_takes_a_kernel_given_after_the_module() -> None:
    found = extract(f"```python\n{IMPORTS}\n{MODEL}```\nwith\n```python\n{KERNEL}```")
    assert found.source is not None
    assert found.source.index("def kernel") < found.source.index("class ModelNew")


def test_takes_the_latest_version_of_a_kernel() -> None:
    old = KERNEL.replace("program_id(0)", "program_id(1)")
    found = extract(f"```python\n{IMPORTS}{old}```\nBetter\n```python\n{KERNEL}```\n```python\n{MODEL}```")
    assert found.source is not None
    assert "program_id(0)" in found.source and "program_id(1)" not in found.source


def test_takes_nothing_that_is_not_needed() -> None:
    reference = f"{IMPORTS}\nclass Model(nn.Module):\n    pass\n"
    found = extract(f"```python\n{reference}```\nbecomes\n```python\n{KERNEL}\n{MODEL}```")
    assert found.source is not None
    assert "class Model(" not in found.source
    assert "import triton.language as tl" in found.source


def test_whole_block_takes_nothing() -> None:
    assert extract(f"```python\n{KERNEL}```\n```python\n{CODE}```").helper_spans == ()


def test_fence_in_a_docstring_does_not_end_the_block() -> None:
    code = CODE.replace("    def forward", '    """As in\n\n    ```\n    x + 1\n    ```\n    """\n\n    def forward')
    assert extract(f"Plan.\n```python\n{code}```\nDone.").source == code


def test_inline_code_is_no_fence() -> None:
    assert extract(f"Use ```tl.load``` here.\n```python\n{CODE}```").source == CODE


@pytest.mark.parametrize(
    "text", ["", "   \n", "I cannot do that.", "``` ", "<think>", "</think>", "import from abroad"]
)
def test_nothing_to_find(text: str) -> None:
    assert extract(text).source is None


@pytest.mark.parametrize("plan", ["", "Two lines\nof plan.", "A `tick` here."])
@pytest.mark.parametrize("source", [CODE, "x = '```'\n", "class ModelNew: pass\n"])
def test_inverts_the_canonical_completion(plan: str, source: str) -> None:
    found = extract(render_completion(plan, source))
    assert (found.plan, found.source) == (plan, source)


def test_never_raises_and_never_dawdles() -> None:
    pieces = ["```", "```python\n", "~~~", "\n", "<think>", "</think>", "<|im_end|>", "<|im_start|>assistant\n", CODE]
    pieces += [
        "> ",
        "1. ",
        "class ModelNew:\n",
        "import torch\n",
        "\x00",
        "\ud800",
        "(" * 300,
        "é",
        "`",
        "</s>",
        "    ",
    ]
    rng = random.Random(0)
    start = time.perf_counter()
    for _ in range(500):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 30)))
        check_spans(text, extract(text))
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    "unit", ["`", "```\n", "<think>", "<|im_end|>", " ", "> ", "import torch\n", "```python\n", "</s>"]
)
def test_long_repetition_is_read_in_seconds(unit: str) -> None:
    start = time.perf_counter()
    extract(unit * (20_000 // len(unit)))
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "bomb", ["-" * 100_000 + "1", "(" * 100_000, "1+" * 100_000 + "1", "a" + ".a" * 100_000, "\x00"]
)
def test_source_that_breaks_the_parser_is_handed_on(bomb: str) -> None:
    found = extract(f"```python\nclass ModelNew:\n    x = {bomb}\n```")
    assert found.source is not None and bomb in found.source
