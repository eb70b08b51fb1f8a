"""Writes a graph down as a task in KernelBench's format, in one person's style.

Everything the graph leaves open is drawn: sizes, names, spellings, members or functionals, lines, docstrings. What is
computed does not depend on it.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tritonsmith.tasks.graphs import styles
from tritonsmith.tasks.graphs.dims import Symbol, symbols
from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.graph import PARAMETER, Leaf, Node
from tritonsmith.tasks.graphs.inputs import input_functions
from tritonsmith.tasks.graphs.operator import OPERANDS
from tritonsmith.tasks.graphs.prose import class_docstring, describe, long_docstring, word
from tritonsmith.tasks.graphs.styles import Style
from tritonsmith.tasks.graphs.table import TABLE
from tritonsmith.tasks.graphs.writer import Writer

WRAPPED = 4
"""Least operators of what may be a class of its own."""
LETTERS = {2: ("M", "K", "N"), 3: ("batch_size", "M", "K", "N"), 4: ("b", "i", "j", "l", "k")}
"""What people call the sizes of a product that stands alone, by the rank of the larger operand."""
MAX_LINE = 80
"""Characters of an expression that is still written inside another one, or in one line."""


def render(
    draft: Draft, sizes: Mapping[Symbol, int], rng: random.Random, uniform: bool = False, style: Style | None = None
) -> str:
    """The source of a task; the draft's last value is its output."""
    writer = Writer(draft, sizes, style or styles.draw_style(rng), rng, uniform)
    _name_inputs(writer)
    _Body(writer).write()
    return _compose(writer)


def _name_inputs(writer: Writer) -> None:
    """Names of the inputs, the largest first; their sizes are named in that order too."""
    draft, rng = writer.draft, writer.rng
    places = [p for p, item in enumerate(draft.items) if isinstance(item, Leaf) and item.kind != PARAMETER]
    places.sort(key=lambda place: -len([dim for dim in draft.shape(place) if dim != 1]))
    further = iter("BCD" if rng.random() < 0.08 else rng.choice(styles.FURTHER_NAMES))
    for place in places:
        item = draft.items[place]
        assert isinstance(item, Leaf)
        if item.kind in styles.KIND_NAMES:
            wanted = rng.choice(styles.KIND_NAMES[item.kind])
        else:
            wanted = rng.choice(styles.FIRST_NAMES) if not writer.inputs else next(further, "extra")
        writer.inputs[place] = writer.fresh(wanted, dict.fromkeys(writer.inputs.values()))
    found = [symbol for place in places for dim in draft.shape(place) for symbol in symbols(dim)]
    nodes = [item for item in draft.items if isinstance(item, Node)]
    if len(nodes) == 1 and TABLE[nodes[0].name].family == "matmul" and rng.random() < 0.6:
        letters = LETTERS.get(len(draft.shape(places[0])), ())
        for symbol, letter in zip(dict.fromkeys(found), letters, strict=False):
            writer.name(symbol, letter)
    for symbol in found:
        writer.symbol(symbol)


class _Body:
    """The statements of `forward` while they are written."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.items = writer.draft.items
        self.last = len(self.items) - 1
        nodes = [(place, item) for place, item in enumerate(self.items) if isinstance(item, Node)]
        self.uses = Counter(one for _, node in nodes for one in node.operands)
        self.consumer = {one: place for place, node in nodes for one in node.operands}
        self.texts: dict[int, str] = dict(writer.inputs)
        """For each value the expression that stands for it: a variable's name, or all of what it is."""
        self.variables: dict[int, str] = dict(writer.inputs)
        self.behind: dict[int, list[int]] = {place: [place] for place in writer.inputs}
        """The values in variables that an expression reads, once for each time."""
        rng = writer.rng
        self.words = iter(rng.sample(styles.VALUE_WORDS, len(styles.VALUE_WORDS)))

    def write(self) -> None:
        """Fill `writer.lines`, `return` included."""
        self._choose()
        skipped = _sequences(self.writer, self.uses) if self.writer.style.sequential else set()
        together = self._parts()
        for place, item in enumerate(self.items):
            if not isinstance(item, Node) or place in self.texts:
                continue
            if place in skipped:
                one = item.operands[0]
                self.texts[place], self.behind[place] = self.texts[one], self.behind[one]
            elif place in together:
                self._unpack(together[place])
            elif self._statement(place, item):
                return
        self.writer.lines.append(f"return {self.texts[self.last]}")

    def _choose(self) -> None:
        """Spellings and members of all nodes, in order, so that members stand in the order of their use."""
        writer = self.writer
        for place, item in enumerate(self.items):
            if isinstance(item, Leaf):
                if item.kind == PARAMETER:
                    self.behind[place] = []
                continue
            writer.choose(place)
            for name, one in zip(OPERANDS, item.operands, strict=False):
                leaf = self.items[one]
                needed = f"{{{name}}}" in writer.chosen[place] or TABLE[item.name].commutative
                if isinstance(leaf, Leaf) and leaf.kind == PARAMETER and one not in self.texts and needed:
                    self.texts[one] = writer.parameter(one)

    def _statement(self, place: int, node: Node) -> bool:
        """One node: a statement, or an expression for later; True where it was the return."""
        writer, style, rng = self.writer, self.writer.style, self.writer.rng
        operands = {name: self.texts.get(one, "") for name, one in _order(writer, node).items()}
        text = writer.fill(place, writer.chosen[place], operands)
        used = [source for one in node.operands for source in self.behind[one]]
        if place == self.last and rng.random() < style.inline:
            writer.lines.append(f"return {text}")
            return True
        if place != self.last and self.uses[place] == 1 and rng.random() < style.inline and len(text) < MAX_LINE - 20:
            name = _operand_name(writer.draft, self.consumer[place], place)
            if writer.chosen[self.consumer[place]].count(f"{{{name}}}") == 1:
                self.texts[place], self.behind[place] = text, used
                return False
        self.uses.subtract(used)
        self._assign([place], text, used)
        if style.comments and rng.random() < 0.7:
            writer.lines[-1] += f"  # {word(node.name)}"
        return False

    def _assign(self, places: Sequence[int], text: str, used: Sequence[int]) -> None:
        """A statement that puts one value or several into variables."""
        style = self.writer.style
        free = [self.variables[one] for one in used if self.uses[one] == 0 and one in self.variables]
        names: list[str] = []
        for place in places:
            if free and style.variables == "reuse" and len(places) == 1:
                variable = free[0]
            else:
                words = style.variables != "fresh"
                wanted = next(self.words, "value") if words else f"v{len(self.writer.lines) + 1}"
                variable = self.writer.fresh(wanted, dict.fromkeys(self.variables.values()))
            names.append(variable)
            self.texts[place] = self.variables[place] = variable
            self.behind[place] = [place]
        self.writer.lines.append(f"{', '.join(names)} = {text}")

    def _parts(self) -> dict[int, list[int]]:
        """Chunks of one value that are all used: they are taken apart in one statement, at the first of them."""
        found: dict[tuple[object, ...], dict[int, int]] = {}
        for place, item in enumerate(self.items):
            if isinstance(item, Node) and item.name == "chunk":
                known = dict(item.attributes)
                index = known.pop("index")
                assert isinstance(index, int)
                found.setdefault((item.operands, *known.items()), {})[index] = place
        whole = [
            [parts[index] for index in sorted(parts)]
            for key, parts in found.items()
            if len(parts) == dict(key[1:])["chunks"] and self.writer.rng.random() < 0.8  # type: ignore[arg-type]
        ]
        return {min(places): places for places in whole}

    def _unpack(self, places: Sequence[int]) -> None:
        first = self.items[places[0]]
        assert isinstance(first, Node)
        one = first.operands[0]
        text = self.writer.fill(places[0], self.writer.chosen[places[0]], {"x": self.texts[one]})
        for _ in places:
            self.uses.subtract(self.behind[one])
        self._assign(places, text[: text.rindex("[")], self.behind[one])


def _sequences(writer: Writer, uses: Mapping[int, int]) -> set[int]:
    """Make one `nn.Sequential` of modules that follow each other; the nodes that need no statement any more."""
    skipped: set[int] = set()
    run: list[int] = []
    items = writer.draft.items
    for place, item in enumerate([*items, None]):
        member = writer.modules.get(place)
        follows = isinstance(item, Node) and bool(run) and item.operands == (run[-1],) and uses[run[-1]] == 1
        if member is not None and (follows or not run):
            run.append(place)
            continue
        if len(run) > 1:
            skipped |= _join(writer, run)
        run = [place] if member is not None else []
    return skipped


def _join(writer: Writer, run: Sequence[int]) -> set[int]:
    members = [writer.modules[place] for place in run]
    if any(f"self.{member}." in statement for member in members for statement in writer.after):
        return set()
    name = writer.fresh(writer.rng.choice(("net", "layers", "block", "seq", "model")), writer.members)
    parts = [writer.members[member] for member in members]
    made = f"nn.Sequential({', '.join(parts)})"
    if len(made) > MAX_LINE or writer.rng.random() < 0.5:
        made = "\n".join(["nn.Sequential(", *(f"            {part}," for part in parts), "        )"])
    first = list(writer.members).index(members[0])
    kept = [(member, text) for member, text in writer.members.items() if member not in members]
    writer.members = dict([*kept[:first], (name, made), *kept[first:]])
    writer.chosen[run[-1]] = f"self.{name}({{x}})"
    return set(run[:-1])


def _operand_name(draft: Draft, consumer: int, place: int) -> str:
    """What a value is called in the templates of what takes it."""
    node = draft.items[consumer]
    assert isinstance(node, Node)
    return OPERANDS[node.operands.index(place)]


def _order(writer: Writer, node: Node) -> dict[str, int]:
    """Operands by their names in templates; those of commutative operators mostly with the main value first."""
    operands = list(node.operands)
    if TABLE[node.name].commutative:
        leaf = [isinstance(writer.draft.items[one], Leaf) for one in operands]
        main_second = leaf[0] and not leaf[1]
        if main_second != (writer.rng.random() < 0.1):
            operands[:2] = operands[1::-1]
    return dict(zip(OPERANDS, operands, strict=False))


# -- the file ----------------------------------------------------------------------------------------------


def _compose(writer: Writer) -> str:
    style = writer.style
    bottom = style.layout != "top"
    functions = input_functions(writer)
    constants = [f"{name} = {text}" for name, text in writer.constants.items() if _is_mentioned(name, functions)]
    for name, text in writer.constants.items():  # what other constants are made of
        line = f"{name} = {text}"
        if line not in constants and _is_mentioned(name, constants):
            constants.insert(0, line)
    model = _model(writer)
    parts = [*(["\n".join(constants)] if constants and not bottom else []), "\n".join(model)]
    if bottom and constants:
        parts.append("\n".join(constants))
    gap = "\n\n" if style.layout == "kernelbench" else "\n\n\n"
    body = gap.join([*parts, *("\n".join(function) for function in functions)])
    needs_f = "F." in body
    imports = [*style.imports, *(["import torch.nn.functional as F"] if needs_f or writer.rng.random() < 0.15 else [])]
    return "\n".join(imports) + gap + body + "\n"


def _is_mentioned(name: str, parts: Sequence[object]) -> bool:
    return any(re.search(rf"\b{name}\b", str(part)) for part in parts)


def _model(writer: Writer) -> list[str]:
    """The lines of `Model`; a deep one is seldom a class of its own that `Model` holds."""
    style, rng = writer.style, writer.rng
    wraps = writer.members and sum(isinstance(item, Node) for item in writer.draft.items) >= WRAPPED
    if not wraps or rng.random() >= style.wrapped:
        return _class(writer, "Model")
    name = rng.choice(("Block", "Net", "Layer", "FusedBlock", "MyModule"))
    given = ", ".join(writer.inputs.values())
    outer = replace(
        writer,
        style=replace(style, docstring="none"),
        members={"block": f"{name}({', '.join(writer.arguments)})"},
        after=[],
        lines=[f"return self.block({given})"],
    )
    return [*_class(writer, name), "", "", *_class(outer, "Model")]


def _class(writer: Writer, name: str) -> list[str]:
    """The lines of a module: docstring, constructor, `forward`."""
    style, rng = writer.style, writer.rng
    what = describe(writer.draft)
    lines = [f"class {name}(nn.Module):"]
    if style.docstring != "none":
        opening = rng.choice(styles.OPENINGS).format(what=what, What=what[0].upper() + what[1:])
        if style.docstring == "long" and writer.arguments and rng.random() < 0.6:
            lines += class_docstring(opening, writer.arguments)
        elif style.docstring == "long" or style.layout == "kernelbench":
            lines += ['    """', f"    {opening}", '    """']
        else:
            lines += [f'    """{opening}"""', ""]
    if writer.members or style.layout == "kernelbench" or rng.random() < 0.5:
        lines += [*_constructor(writer, name), ""]
    given = [f"{one}: torch.Tensor" if style.typed else one for one in writer.inputs.values()]
    lines += [f"    def forward({', '.join(['self', *given])}){' -> torch.Tensor' if style.typed else ''}:"]
    if style.docstring == "long":
        lines += long_docstring(what, list(writer.inputs.values()), rng)
    return lines + [f"        {line}" for line in writer.lines]


def _constructor(writer: Writer, name: str) -> list[str]:
    style = writer.style
    arguments = [f"{one}: {kind}" if style.typed else one for one, kind in writer.arguments.items()]
    arrow = " -> None" if style.typed and style.layout != "kernelbench" else ""
    return [
        f"    def __init__({', '.join(['self', *arguments])}){arrow}:",
        f"        {style.init.replace('Model', name)}",
        *(f"        self.{member} = {made}" for member, made in writer.members.items()),
        *(f"        {statement}" for statement in writer.after),
    ]
