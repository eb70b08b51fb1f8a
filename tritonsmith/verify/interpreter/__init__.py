"""Triton's interpreter as candidates meet it: every access checked, values as a GPU has them, at a bearable speed."""
