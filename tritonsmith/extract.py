"""From what a model wrote to its plan and the candidate's source, with character spans.

Survives fences of every kind, chat-template leftovers, `<think>` drafts, several blocks, and none.
Judges nothing: a text without `ModelNew` is still handed on, and the verifier says what is wrong with it.
"""

import ast
import builtins
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from tritonsmith.source import lines as source_lines
from tritonsmith.source import parse, written_lines

Span = tuple[int, int]

_ROLE = r"(?P<{0}>system|user|tool|assistant|model)"
_HEADER = re.compile(
    "|".join(
        (
            rf"<\|im_start\|>{_ROLE.format('chatml')}\s*",
            rf"<\|start_header_id\|>{_ROLE.format('llama')}<\|end_header_id\|>\s*",
            rf"<\|{_ROLE.format('phi')}\|>\s*",
            rf"<start_of_turn>{_ROLE.format('gemma')}\s*",
            rf"<\uff5c{_ROLE.format('deepseek')}\uff5c>\s*",
            r"<\|start\|>assistant",
            r"\[/INST\]\s*",
        )
    ),
    re.IGNORECASE,
)
"""Who speaks next, as ChatML, Llama 3, Phi, Gemma, DeepSeek, Harmony and Mistral write it."""

_END = re.compile(
    r"<\|(?:im_end|end|endoftext|eot_id|eom_id|end_of_text|return)\|>|</s>|<eos>|<end_of_turn>"
    r"|<\uff5cend\u2581of\u2581sentence\uff5c>"
)
_BEGIN = re.compile(rf"(?:\s|<s>|<bos>|<\|begin_of_text\|>|<\uff5cbegin\u2581of\u2581sentence\uff5c>|{_END.pattern})+")

_DRAFT_OPEN = r"<(?:think|thinking|thought|reasoning)>|\[THINK\]|<\|channel\|>analysis<\|message\|>"
_DRAFT_CLOSE = r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|<\|end\|>"
_DRAFT = re.compile(rf"(?:{_DRAFT_OPEN}).*?(?:{_DRAFT_CLOSE}|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rf"(?P<open>{_DRAFT_OPEN})|</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)

_PYTHON = r"(?:python3?|py3?|triton|python-triton|torch|pytorch)"
_PLAIN = re.compile(rf"(?:{_PYTHON}|plaintext|text|txt|code|)", re.IGNORECASE)
"""Languages of a fence that may hold a candidate; in any other, only a `ModelNew` counts."""

_OPENING = re.compile(
    r"^(?P<lead>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)$"
    rf"|(?P<inner>`{{3,}})(?P<language>[ \t]*{_PYTHON}[ \t]*\r?)$"
    rf"|(?P<draft>{_DRAFT_OPEN})",
    re.MULTILINE | re.IGNORECASE,
)
_CODE_IN_INFO = re.compile(rf"[ \t]*{_PYTHON}[ \t]+(?=import\s|from\s|@\w|class\s|def\s)", re.IGNORECASE)

_MODEL_NEW = re.compile(r"^[ \t>]*class[ \t]+ModelNew\b", re.MULTILINE)
_FIRST_CODE = re.compile(
    r"^[ \t]*(?:import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*|from [\w.]+ import\b.*|@triton\.\w+.*|class ModelNew\b.*)\r?$",
    re.MULTILINE,
)
_MOST_CLOSERS = 8
"""How many closing fences are tried for a block whose docstring holds fences of its own."""
_LATEST = 2048
"""Completions that are not taken apart again: a batch's are asked for twice or three times, and many are the same."""


@dataclass(frozen=True)
class Extraction:
    """What a completion holds; the spans are character offsets into it."""

    source: str | None
    """Python source, ending in one newline; None where there is no code outside the drafts."""
    plan: str
    """The text before the code, drafts included; exactly `completion[slice(*plan_span)]`, or empty."""
    code_span: Span | None
    """The block that defines the candidate, without its fences."""
    plan_span: Span | None
    helper_spans: tuple[Span, ...] = ()
    """Other blocks of which imports or kernels were taken into `source`."""


@dataclass(frozen=True)
class _Block:
    span: Span
    outer: int
    """Where the opening fence's line starts, or the code where there is no fence."""
    source: str
    language: str
    loose: bool = False

    @cached_property
    def tree(self) -> ast.Module | None:
        return _parse(self.source)

    @property
    def plain(self) -> bool:
        return _PLAIN.fullmatch(self.language) is not None

    @property
    def defines(self) -> bool:
        return _MODEL_NEW.search(self.source) is not None


@lru_cache(maxsize=_LATEST)
def extract(completion: str) -> Extraction:
    """Find plan and source in a completion. Never raises.

    Of several blocks the last one that parses and defines `ModelNew` wins; imports and kernels that it lacks are
    taken from the other blocks. Code inside a draft (`<think>`, closed or not) never wins.
    """
    start, answer, end = _turn(completion)
    blocks = list(_blocks(completion, answer, end))
    best = _choose(blocks)
    if best is None:
        span = _trim(completion, start, end)
        return Extraction(None, _cut(completion, span), None, span)
    source, helpers = _complete(best, [block for block in blocks if block is not best])
    plan_end = min([best.outer, *(block.outer for block in helpers)])
    plan_span = _trim(completion, start, plan_end)
    return Extraction(source, _cut(completion, plan_span), best.span, plan_span, tuple(block.span for block in helpers))


def _cut(text: str, span: Span | None) -> str:
    return "" if span is None else text[span[0] : span[1]]


def _trim(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends; None if nothing is left."""
    part = text[start:end]
    body = part.strip()
    if not body:
        return None
    start += len(part) - len(part.lstrip())
    return start, start + len(body)


def _turn(text: str) -> tuple[int, int, int]:
    """Where the assistant's turn starts, where its answer starts (after an orphan `</think>`), where it ends."""
    start = 0
    if begin := _BEGIN.match(text):
        start = begin.end()
    header = _HEADER.match(text, start)
    while header is not None and (header.lastgroup and header[header.lastgroup].lower() not in ("assistant", "model")):
        header = _HEADER.search(text, header.end())
    if header is not None:
        start = header.end()
    end = len(text)
    for mark in _END.finditer(text, start):
        said = _HEADER.sub("", _END.sub("", _DRAFT.sub("", text[start : mark.start()])))
        if said.strip():
            end = mark.start()
            break
    answer = start
    tag = _TAG.search(text, start, end)
    if tag is not None and tag["open"] is None:
        answer = tag.end()
    return start, answer, end


def _blocks(text: str, start: int, end: int) -> Iterator[_Block]:
    """Every fenced block of text[start:end] outside drafts, and every loose stretch that holds code."""
    position = start
    while position < end:
        opening = _OPENING.search(text, position, end)
        yield from _loose(text, position, opening.start() if opening else end)
        if opening is None:
            return
        if opening["draft"]:
            draft = _DRAFT.match(text, opening.start("draft"), end)
            position = draft.end() if draft else end
            continue
        found, position = _fenced(text, opening, end)
        wraps = found.source.lstrip().startswith(("```", "~~~")) or found.language.lower() in ("markdown", "md")
        inner = list(_blocks(text, *found.span)) if wraps else []
        yield from [block for block in inner if not block.loose] or [found]


def _fenced(text: str, opening: re.Match[str], end: int) -> tuple[_Block, int]:
    """The block that `opening` begins, and where to read on."""
    mark = opening["mark"] or opening["inner"]
    info = opening["info"] if opening["mark"] else opening["language"]
    quoted = ">" in (opening["lead"] or "")
    info_start = opening.start("info") if opening["mark"] else opening.start("language")
    early = _CODE_IN_INFO.match(info)
    body = info_start + early.end() if early else min(opening.end() + 1, end)
    words = info.strip().strip("{}.").split()
    language = words[0].strip("{}.").split(":")[0] if words else ""

    def block(stop: int) -> _Block:
        return _Block((body, stop), opening.start(), _clean(text[body:stop], quoted), language)

    closers = list(islice(_closers(text, body, end, mark), _MOST_CLOSERS))
    if not closers:
        return block(end), end
    first = block(closers[0][0])
    # Parsing is most of what a completion costs here: not where nothing depends on it.
    if len(closers) > 1 and first.plain and first.tree is None:
        for stop, resume in closers[1:]:
            longer = block(stop)
            if longer.tree is not None:
                return longer, resume
    return first, closers[0][1]


def _closers(text: str, body: int, end: int, mark: str) -> Iterator[Span]:
    """Where a fence may close: (end of the body, where to read on). A new opening closes the old block too."""
    char, least = re.escape(mark[0]), len(mark)
    closer = re.compile(
        rf"^(?P<lead>[ \t>]*){char}{{{least},}}(?P<info>[^\n]*)$"
        rf"|(?<=[^\s{char}]){char}{{{least},}}[ \t]*\r?$",
        re.MULTILINE,
    )
    for match in closer.finditer(text, body, end):
        info = (match["info"] or "").strip()
        reopens = re.fullmatch(r"[\w+#.-]+", info) is not None
        yield match.start(), match.start() if reopens else match.start() + len(match[0]) - len(match["info"] or "")


def _loose(text: str, start: int, end: int) -> Iterator[_Block]:
    """Code without a fence: from the first line that can only be Python to the last that still parses."""
    first = _FIRST_CODE.search(text, start, end)
    if first is None:
        return
    source = _clean(text[first.start() : end], quoted=False)
    lines = source_lines(source)
    for _ in range(20):
        failure = _failure(source)
        if failure is None or failure < 2:
            break
        shorter = "".join(lines[: failure - 1]).rstrip() + "\n"
        if _MODEL_NEW.search(source) and not _MODEL_NEW.search(shorter):
            break
        source, lines = shorter, lines[: failure - 1]
    kept = written_lines(text[first.start() : end])[: len(lines)]
    stop = first.start() + len("".join(kept).rstrip())
    yield _Block((first.start(), stop), first.start(), source, "", loose=True)


def _clean(body: str, quoted: bool) -> str:
    """The body as a file of its own: Unix line ends, no quote marks, no common indentation, one final newline."""
    source = body.replace("\r\n", "\n").replace("\r", "\n")
    if quoted:
        source = re.sub(r"^[ \t]*>[ \t]?", "", source, flags=re.MULTILINE)
    source = source.strip("\n")
    if source[:1] in (" ", "\t"):
        source = textwrap.dedent(source)
    return source.rstrip() + "\n" if source.strip() else ""


def _choose(blocks: list[_Block]) -> _Block | None:
    """The last block that defines `ModelNew`, one that parses before one that does not; else the last Python."""
    defining = [block for block in blocks if block.defines]
    if len(defining) == 1:
        return defining[0]  # whether it parses or not
    for pool in (
        [block for block in defining if block.tree is not None],
        [block for block in defining if not block.loose],
        defining,
        [block for block in blocks if block.source and not block.loose and block.plain and block.tree is not None],
        [block for block in blocks if block.source and (block.loose or block.plain)],
    ):
        if pool:
            return pool[-1]
    return None


def _complete(best: _Block, others: list[_Block]) -> tuple[str, list[_Block]]:
    """The best block's source with the imports, kernels and constants it uses but another block defines."""
    tree = best.tree if others else None
    if tree is None or not best.defines:
        return best.source, []
    before = [block for block in others if block.outer < best.outer]
    after = [block for block in others if block.outer > best.outer]
    supply = [(block, body) for block in [*reversed(before), *after] if (body := block.tree) is not None]
    taken: dict[tuple[int, int], tuple[_Block, str]] = {}
    missing = sorted(_used(tree) - _bound(tree))
    seen = set(missing)
    while missing:
        name = missing.pop()
        for block, body in supply:
            statement = next((node for node in reversed(body.body) if name in _binds(node)), None)
            if statement is None:
                continue
            key = (block.outer, _first_line(statement))
            taken[key] = (block, _text(block.source, statement))
            fresh = _used(statement) - _bound(tree) - seen
            seen |= fresh
            missing.extend(sorted(fresh))
            break
    if not taken:
        return best.source, []
    imports = [text for _, (_, text) in sorted(taken.items()) if text.startswith(("import ", "from "))]
    rest = [text for _, (_, text) in sorted(taken.items()) if not text.startswith(("import ", "from "))]
    merged = "\n\n\n".join(filter(None, ["\n".join(imports), *rest, best.source]))
    if _parse(merged) is None:
        return best.source, []
    used = {block.outer: block for block, _ in taken.values()}
    return merged, [used[outer] for outer in sorted(used)]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _text(source: str, node: ast.stmt) -> str:
    return "".join(source_lines(source)[_first_line(node) - 1 : node.end_lineno]).rstrip("\n")


def _binds(node: ast.stmt) -> set[str]:
    """Names that a top-level statement binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def _bound(tree: ast.AST) -> set[str]:
    """Every name that the tree binds anywhere; scopes are not told apart, so nothing is taken that is not needed."""
    names: set[str] = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            names |= _binds(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def _used(tree: ast.AST) -> set[str]:
    loads = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return loads - _bound(tree)


def _parse(source: str) -> ast.Module | None:
    """The syntax tree, or None for text that is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _failure(source: str) -> int | None:
    """The line of the first syntax error, 0 where unknown, None where the source parses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse(source)
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):
        return 0
    return None
