"""Gathering, joining and splitting."""

from tritonsmith.data.lower.forward import Emitter

EMITTERS: dict[str, Emitter] = {}
