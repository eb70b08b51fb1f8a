"""Which operators go into one kernel.

An anchor (a product, a reduction, a convolution, ...) makes a kernel; operators on elements join the anchor before
them (as its epilogue), a reduction after them (as its prologue), or each other. What several kernels need is kept in
memory. Fusing two anchors is left to whoever optimises: the answers are plain on purpose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tritonsmith.data.lower.trace import Op, Program, Value

Kind = Literal["pointwise", "view", "anchor"]


@dataclass(eq=False)
class Group:
    """Operators on elements that are computed together, without touching memory in between."""

    root: Value
    """What comes out."""
    ops: list[Op] = field(default_factory=list)

    @property
    def externals(self) -> list[Value]:
        """Tensors it takes from elsewhere, each once."""
        own = {op.result for op in self.ops}
        found = [v for op in self.ops for v in op.operands if v not in own]
        return list(dict.fromkeys(found))


@dataclass(eq=False)
class Unit:
    """What is emitted at one place of `forward`: a kernel, or a view."""

    kind: Kind
    op: Op | None = None
    """The anchor or the view."""
    group: Group | None = None
    """The pointwise kernel's group, or an anchor's epilogue."""
    prologues: dict[str, Group] = field(default_factory=dict)
    """By the anchor's argument they make."""

    @property
    def longest(self) -> int:
        """Operators of its largest group."""
        groups = [*self.prologues.values(), *([self.group] if self.group is not None else [])]
        return max((len(group.ops) for group in groups), default=0)

    @property
    def result(self) -> Value:
        """The tensor that is in memory afterwards (the first of several)."""
        if self.group is not None:
            return self.group.root
        assert self.op is not None
        return self.op.result


def schedule(
    program: Program,
    kind: Callable[[Op], Kind],
    prologues: Mapping[str, str],
    alone: frozenset[str],
    most: int | None = None,
) -> list[Unit]:
    """The units in the order in which they are emitted.

    `prologues` names, for the anchors that can compute an argument while loading it, that argument; `alone` are
    the anchors that take no epilogue; `most` bounds the operators of a group.
    """
    return _Scheduler(program, kind, prologues, alone, most).run()


class _Scheduler:
    def __init__(
        self,
        program: Program,
        kind: Callable[[Op], Kind],
        prologues: Mapping[str, str],
        alone: frozenset[str],
        most: int | None,
    ) -> None:
        self.program, self.prologues, self.alone, self.most = program, prologues, alone, most
        self.kinds = {op: kind(op) for op in program.ops}
        self.producer = {result: op for op in program.ops for result in op.results}
        self.consumers: dict[Value, list[Op]] = {}
        for op in program.ops:
            for operand in op.operands:
                self.consumers.setdefault(operand, []).append(op)
        self.outputs = {value for value in program.outputs}
        self.group_of: dict[Op, Group] = {}
        """The group of each operator on elements."""
        self.anchored: dict[Group, Op] = {}
        """The anchor whose epilogue a group is."""
        self.feeds: dict[Group, tuple[Op, str]] = {}
        """The anchor and argument that a group is the prologue of."""

    def run(self) -> list[Unit]:
        for op in reversed(self.program.ops):
            if self.kinds[op] == "pointwise":
                group = self._home(op)
                group.ops.insert(0, op)
                self.group_of[op] = group
        groups = list(dict.fromkeys(self.group_of.values()))
        for group in groups:
            if group not in self.feeds and (anchor := self._anchor(group)):
                self.anchored[group] = anchor
        return self._units()

    def _home(self, op: Op) -> Group:
        """The group an operator belongs to: that of its readers, or a new one."""
        value = op.result
        readers = self.consumers.get(value, [])
        if value in self.outputs:
            return Group(value)
        if any(self.kinds[reader] != "pointwise" for reader in readers):
            group = Group(value)
            name = self.prologues.get(readers[0].name)
            if name and len(readers) == 1 and readers[0].args.get(name) is value:
                self.feeds[group] = (readers[0], name)
            return group
        groups = {self.group_of[reader] for reader in readers}
        if len(groups) != 1:
            return Group(value)
        (group,) = groups
        if self.most is not None and len(group.ops) >= self.most:
            return Group(value)
        if value.shape != group.root.shape and any(self._is_anchors(operand, value) for operand in op.operands):
            return Group(value)  # it can be an epilogue of its own
        return group

    def _is_anchors(self, operand: Value, value: Value) -> bool:
        producer = self.producer.get(operand)
        if producer is None or operand.shape != value.shape:
            return False
        kind = self.kinds[producer]
        return kind == "anchor" or (
            kind == "pointwise" and any(self._is_anchors(one, operand) for one in producer.operands)
        )

    def _anchor(self, group: Group) -> Op | None:
        """The last anchor that only this group reads, with its shape."""
        found = None
        members = {op for op in group.ops}
        for op in self.program.ops:
            if self.kinds[op] != "anchor" or op.name in self.alone:
                continue
            if len(op.results) != 1 or op.result.shape != group.root.shape:
                continue
            readers = self.consumers.get(op.result, [])
            if readers and all(reader in members for reader in readers) and op.result not in self.outputs:
                found = op
        return found

    def _units(self) -> list[Unit]:
        last = {group.ops[-1]: group for group in self.group_of.values()}
        taken = {anchor for anchor in self.anchored.values()}
        units = []
        for op in self.program.ops:
            kind = self.kinds[op]
            if kind == "view":
                units.append(Unit("view", op))
            elif kind == "anchor" and op not in taken:
                units.append(Unit("anchor", op, prologues=self._prologues(op)))
            elif op in last and last[op] not in self.feeds:
                group = last[op]
                anchor = self.anchored.get(group)
                kind = "anchor" if anchor else "pointwise"
                units.append(Unit(kind, anchor, group, self._prologues(anchor) if anchor else {}))
        return units

    def _prologues(self, anchor: Op) -> dict[str, Group]:
        return {name: group for group, (op, name) in self.feeds.items() if op is anchor}
