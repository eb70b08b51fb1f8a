"""Of what each value of a kernel's Triton IR was made, from its text. Pure.

Names are told apart by the region they stand in: MLIR counts anew in each (LangRef, "Value Scoping"), so that the same
`%10` is one value in a loop and another behind it. Values that loops carry and branches yield are followed one by one.
What comes by `cf.br` is not followed, and is known to be `UNKNOWN`. Of what operations mean it knows which operands a
pointer that they give can be made of, and nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_FUNCTION = re.compile(r"^\s*tt\.func public @\S+\((.*)$")
_ARGUMENT = re.compile(r"(%[\w.$-]+): ((?:!?[\w.]+)(?:<[^{}()]*?>)?)(?= \{| loc|,|\)|$)")
_OPERATION = re.compile(r"^\s*(?:(%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+(?::\d+)?)*) = )?\"?([a-z_]\w*(?:\.\w+)+)\"?(.*)$")
_NAME = re.compile(r"(%[\w.$-]+)(?:#(\d+))?")
_CARRIED = re.compile(r"(%[\w.$-]+) = (%[\w.$-]+(?:#\d+)?)")
_FIRST_ONLY = {"tt.addptr", "tt.advance", "tt.make_tensor_ptr", "tt.make_tensor_descriptor"}
"""Operations whose other operands are offsets and sizes."""
_NEW = {"tt.load", "tt.get_program_id", "arith.constant", "tt.reduce", "tt.scan"}
"""Operations of whose results nothing is a pointer that went in."""
_OF_REGIONS = {"scf.for", "scf.while", "scf.if"}
"""Those whose results are what their regions yield."""

UNKNOWN = "?"
"""Among the origins of a value: not all of them are known."""


@dataclass
class _Owner:
    """The operation that a region is of."""

    kind: str
    results: list[str]
    carried: list[str] = field(default_factory=list)
    """What a loop hands from one turn to the next."""
    passed: list[str] = field(default_factory=list)
    """What a `while` hands from its condition to its body."""


@dataclass
class Flow:
    """A kernel's operations, and of what each value was made."""

    arguments: list[tuple[str, str]] = field(default_factory=list)
    """Names and types."""
    operations: list[tuple[str, list[str], str]] = field(default_factory=list)
    """Name, operands, and the text behind the name."""
    _made: dict[str, list[str]] = field(default_factory=dict)
    _scopes: list[dict[str, list[str]]] = field(default_factory=lambda: [{}])
    _owners: list[_Owner] = field(default_factory=list)

    @classmethod
    def of(cls, ttir: str) -> "Flow":
        """Read a text; what is no IR has no operations."""
        flow = cls()
        for line in ttir.splitlines():
            flow._read(line.strip())
        return flow

    def origins(self, value: str) -> set[str]:
        """All values that one was made of, itself among them; arguments go by their names."""
        waiting, seen = [value], set[str]()
        while waiting:
            if (current := waiting.pop()) not in seen:
                seen.add(current)
                waiting.extend(self._made.get(current, ()))
        return seen

    def _read(self, line: str) -> None:
        if line.startswith("}"):
            owner = self._close()
            if line.endswith("{"):  # the next region of the same operation
                self._open(owner)
        elif line.startswith("^"):
            self._block(line)
        elif (function := _FUNCTION.match(line)) and not self.arguments:
            self.arguments = _ARGUMENT.findall(function[1])
            self._open(_Owner("tt.func", []))
            self._scopes[-1].update((name, [name]) for name, _ in self.arguments)
        elif operation := _OPERATION.match(line):
            self._operation(operation[1] or "", operation[2], operation[3])
        elif line.endswith("{"):
            self._open(_Owner("module", []))

    def _operation(self, names: str, kind: str, rest: str) -> None:
        operands = list(self._named(rest))
        self.operations.append((kind, operands, rest))
        if kind == "scf.yield":
            self._yield(operands)
        elif kind == "scf.condition" and self._owners:
            self._owners[-1].passed = operands[1:]
            self._link(self._owners[-1].results, operands[1:])
        results = self._define(names)
        if kind not in _NEW | _OF_REGIONS:
            parts = operands[:1] if kind in _FIRST_ONLY else operands[1:] if kind == "arith.select" else operands
            for one in results:
                self._made[one] = [*parts]
        if rest.endswith("{"):
            self._open(owner := _Owner(kind, results))
            if kind in ("scf.for", "scf.while"):
                self._carry(owner, rest)

    def _carry(self, owner: _Owner, rest: str) -> None:
        """Give a loop's region what it begins with."""
        pairs = _CARRIED.findall(rest)
        initial = [next(self._named(value), value) for _, value in pairs]
        inner = [self._define(name)[0] for name, _ in pairs]
        self._link(inner, initial)
        first = 1 if owner.kind == "scf.for" else 0  # the number of the turn
        owner.carried = inner[first:]
        if owner.kind == "scf.for":
            self._link(owner.results, initial[first:])  # there may be no turn

    def _yield(self, operands: Sequence[str]) -> None:
        if not self._owners:
            return
        owner = self._owners[-1]
        self._link(owner.carried, operands)
        if owner.kind != "scf.while":  # whose results come of its condition
            self._link(owner.results, operands)

    def _block(self, line: str) -> None:
        inner = [self._define(name)[0] for name, _ in _ARGUMENT.findall(line)]
        known = self._owners[-1].passed if self._owners and self._owners[-1].kind == "scf.while" else []
        self._link(inner, known or [UNKNOWN] * len(inner))

    def _define(self, names: str) -> list[str]:
        """New values under names as they stand before a `=`: `%a`, `%b:2`."""
        found: list[str] = []
        for name, _, count in (one.partition(":") for one in names.split(", ") if one):
            new = [f"{name}#{part} of {len(self._made) + part}" for part in range(int(count or 1))]
            self._made.update((one, []) for one in new)
            self._scopes[-1][name] = new
            found += new
        return found

    def _named(self, text: str) -> Iterator[str]:
        """The values that a text names, as far as they are known where it stands."""
        for name, part in _NAME.findall(text):
            known = next((scope[name] for scope in reversed(self._scopes) if name in scope), [])
            if int(part or 0) < len(known):
                yield known[int(part or 0)]

    def _link(self, made: Sequence[str], parts: Sequence[str]) -> None:
        for one, part in zip(made, parts, strict=False):
            self._made[one].append(part)

    def _open(self, owner: _Owner) -> None:
        self._owners.append(owner)
        self._scopes.append({})

    def _close(self) -> _Owner:
        if len(self._scopes) > 1:
            self._scopes.pop()
        return self._owners.pop() if self._owners else _Owner("module", [])
