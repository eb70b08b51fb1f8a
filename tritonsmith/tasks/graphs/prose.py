"""A graph in words, for docstrings in the manner of KernelBench."""

import random
from collections.abc import Mapping, Sequence

from tritonsmith.tasks.graphs.draft import Draft
from tritonsmith.tasks.graphs.graph import Node
from tritonsmith.tasks.graphs.table import TABLE

_WORDS = {
    "linear": "a matrix multiplication",
    "relu": "a ReLU activation",
    "gelu": "GELU",
    "mul_scalar": "scaling",
    "add_scalar": "an addition",
    "sub_scalar": "a subtraction",
    "div_scalar": "a division",
    "add": "an addition",
    "mul": "a multiplication",
    "amax": "a max reduction",
    "amin": "a min reduction",
    "l2_reduce": "an L2 norm",
    "l1_reduce": "an L1 norm",
    "mean_square": "a mean of squares",
    "logsumexp": "a LogSumExp",
    "clamp_min": "a clamp from below",
    "clamp_max": "a clamp from above",
    "sub": "a subtraction",
    "div": "a division",
    "silu": "Swish",
    "leaky_relu": "a LeakyReLU activation",
    "sigmoid": "a sigmoid",
    "split_heads": "a split into heads",
    "merge_heads": "heads put together",
    "glu_channels": "GLU",
    "square": "squaring",
    "center": "a subtraction of the mean",
}
_FAMILIES = {
    "batch_norm": "batch normalization",
    "layer_norm": "layer normalization",
    "group_norm": "group normalization",
    "instance_norm": "instance normalization",
    "rms_norm": "RMS normalization",
    "adaptive_avg_pool": "global average pooling",
    "adaptive_max_pool": "adaptive max pooling",
    "max_pool": "max pooling",
    "avg_pool": "average pooling",
    "upsample": "upsampling",
}
"""Words for all operators whose names begin so."""
MAX_WORDS = 6
"""Operators that a docstring names one by one."""


def describe(draft: Draft) -> str:
    """What the operators do, one after the other: `a convolution, ReLU and scaling`."""
    names = [word(item.name) for item in draft.items if isinstance(item, Node)]
    if len(names) > MAX_WORDS:
        return f"{', '.join(names[:3])} and further operations"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def word(name: str) -> str:
    """An operator in words."""
    if name in _WORDS:
        return _WORDS[name]
    for key, words in _FAMILIES.items():
        if name.startswith(key):
            return words
    plain = name.replace("_axes", "").replace("_all", "").replace("_float", "").replace("_scalar", "").replace("_", " ")
    if TABLE[name].family == "conv":
        dimensions = plain[-2].upper() + "D"
        kind = "transposed convolution" if "transpose" in plain else "convolution"
        return f"a {'depthwise ' if 'depthwise' in plain else ''}{dimensions} {kind}"
    if TABLE[name].family == "matmul":
        return "a matrix multiplication"
    if TABLE[name].family == "reduction":
        return f"a {plain} reduction"
    return plain


def long_docstring(what: str, inputs: Sequence[str], rng: random.Random) -> list[str]:
    """The lines of a docstring with arguments and what is returned."""
    opening = rng.choice((f"Applies {what} to the input.", f"Performs {what}.", "Forward pass of the model."))
    arguments = [
        f"            {name} (torch.Tensor): {rng.choice(('Input tensor.', 'Input tensor'))}" for name in inputs
    ]
    return [
        '        """',
        f"        {opening}",
        "",
        "        Args:",
        *arguments,
        "",
        "        Returns:",
        f"            torch.Tensor: {rng.choice(('Output tensor.', 'The result.', 'Output tensor'))}",
        '        """',
    ]


def class_docstring(opening: str, arguments: Mapping[str, str]) -> list[str]:
    """The lines of a class's docstring with the constructor's arguments, given with their types."""
    lines = [f"        {name} ({kind}): {_meaning(name)}." for name, kind in arguments.items()]
    return ['    """', f"    {opening}", "", "    Args:", *lines, '    """']


_MEANINGS = {
    "in_channels": "Number of input channels",
    "out_channels": "Number of output channels",
    "kernel_size": "Size of the kernel",
    "stride": "Stride of the window",
    "padding": "Padding applied to the input",
    "dilation": "Spacing between kernel elements",
    "groups": "Number of groups",
    "num_groups": "Number of groups",
    "in_features": "Number of input features",
    "out_features": "Number of output features",
}


def _meaning(name: str) -> str:
    plain = name.rstrip("0123456789")
    return _MEANINGS.get(plain, plain.replace("_", " ").capitalize())
