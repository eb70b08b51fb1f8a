"""A compiler of our own, from a PyTorch task to idiomatic Triton: plain kernels as a person writes them first.

`trace` reads the task as operators, `simplify` has fewer of them, `schedule` decides what shares a kernel, and
emitters (`rows`, ...) write each kernel around an anchor. Its answers are what models learn from; nothing here is
believed before the verifier has called it correct. It does not search for speed.
"""

from tritonsmith.data.lower.convert import convert, pieces, templates

__all__ = ["convert", "pieces", "templates"]
