"""Cumulative operators."""

from tritonsmith.data.lower.forward import Emitter

EMITTERS: dict[str, Emitter] = {}
