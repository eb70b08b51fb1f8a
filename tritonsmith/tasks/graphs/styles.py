"""One person's habits of writing PyTorch, drawn at random: layout, names, types, docstrings, where constants live.

Decides nothing about what is computed: see `writing`.
"""

import random
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Style:
    """What one writer does."""

    layout: Literal["kernelbench", "top", "bottom"]
    """Where the sizes stand: as KernelBench has it, above the class, or below it."""
    modules: float
    """How often an operator without parameters is made a module in `__init__`."""
    functional: float
    """How often one with parameters is called as a function on parameters."""
    sequential: bool
    inline: float
    """How often a value that is used once is written where it is used."""
    variables: Literal["reuse", "fresh", "words"]
    attribute_arguments: float
    """How often an attribute is an argument of the constructor."""
    literal_inputs: bool
    """Whether sizes stand as numbers in `get_inputs` and `get_init_inputs`."""
    typed: bool
    docstring: Literal["none", "line", "long"]
    init: str
    imports: tuple[str, ...]
    negative_axes: bool
    explicit: float
    """How often an option is written though it has its default."""
    namespace: Literal["torch", "functional", "method", "any"]
    named_inputs: bool
    """Whether `get_inputs` gives its tensors names first."""
    parameter_init: str
    short_names: bool
    wrapped: float
    """How often the operators are a class of their own that `Model` holds."""
    comments: bool
    """Whether statements of `forward` have comments."""
    affine: bool
    """Whether norms are given other weights than ones and zeros."""


_IMPORTS = (
    ("import torch", "import torch.nn as nn"),
    ("import torch", "import torch.nn as nn"),
    ("import torch", "from torch import nn"),
)


def draw_style(rng: random.Random) -> Style:
    """Somebody's habits."""
    kernelbench = rng.random() < 0.35
    typed = rng.random() < (0.7 if kernelbench else 0.25)
    docstring = rng.choices(("none", "line", "long"), (1, 2, 6) if kernelbench else (5, 3, 1))[0]
    return Style(
        layout="kernelbench" if kernelbench else rng.choice(("top", "bottom", "bottom")),
        modules=rng.choice((0.0, 0.1, 0.5, 0.9)),
        functional=rng.choice((0.0, 0.0, 0.0, 0.15)),
        sequential=rng.random() < 0.12,
        inline=rng.choice((0.0, 0.0, 0.3, 0.6, 1.0)),
        variables=rng.choices(("reuse", "fresh", "words"), (5, 1, 2))[0],
        attribute_arguments=rng.choice((0.0, 0.3, 0.8)) if not kernelbench else rng.choice((0.3, 0.8, 1.0)),
        literal_inputs=not kernelbench and rng.random() < 0.25,
        typed=typed,
        docstring=docstring,
        init="super(Model, self).__init__()" if kernelbench or rng.random() < 0.15 else "super().__init__()",
        imports=_IMPORTS[0] if kernelbench else rng.choice(_IMPORTS),
        negative_axes=rng.random() < 0.5,
        explicit=rng.choice((0.0, 0.0, 0.05, 0.5)),
        namespace=rng.choice(("torch", "functional", "method", "any", "any")),
        named_inputs=kernelbench or rng.random() < 0.4,
        parameter_init=rng.choice(("torch.randn({shape})",) * 6 + ("torch.randn({shape}) * 0.5",)),
        short_names=rng.random() < 0.25,
        wrapped=rng.choice((0.0,) * 12 + (0.7,)),
        comments=rng.random() < 0.08,
        affine=rng.random() < 0.2,
    )


SIZE_NAMES: dict[str, tuple[str, ...]] = {
    "batch": ("batch_size", "batch_size", "batch_size", "batch", "bs"),
    "channels": ("in_channels", "channels", "num_channels", "in_channels"),
    "out_channels": ("out_channels", "out_channels", "hidden_channels", "num_filters"),
    "features": ("dim", "features", "num_features", "hidden_size", "input_size", "in_features"),
    "in_features": ("in_features", "in_features", "input_size", "input_dim", "dim"),
    "out_features": ("out_features", "out_features", "hidden_size", "output_dim", "hidden_dim"),
    "length": ("length", "seq_len", "sequence_length", "seq_length"),
    "height": ("height",),
    "width": ("width",),
    "depth": ("depth",),
    "rows": ("M",),
    "inner": ("K",),
    "columns": ("N",),
    "heads": ("num_heads", "n_heads", "heads"),
    "head_features": ("head_dim", "d_head"),
    "vocabulary": ("vocab_size", "num_embeddings"),
    "classes": ("num_classes",),
    "picked": ("k", "num_picked", "n_indices"),
}
SHORT_NAMES = {
    "batch": "B",
    "channels": "C",
    "out_channels": "C_out",
    "features": "D",
    "in_features": "D",
    "out_features": "D_out",
    "length": "L",
    "height": "H",
    "width": "W",
    "depth": "T",
    "heads": "H",
    "head_features": "E",
}

ATTRIBUTE_NAMES: dict[tuple[str, str], tuple[str, ...]] = {
    ("mul_scalar", "c"): ("scaling_factor", "scale", "scale_factor", "multiplier", "alpha"),
    ("div_scalar", "c"): ("divisor", "divide_by", "temperature", "scale"),
    ("add_scalar", "c"): ("add_value", "constant", "offset", "shift"),
    ("sub_scalar", "c"): ("subtract_value", "sub_value", "offset"),
    ("rsub_scalar", "c"): ("constant", "start"),
    ("clamp_min", "c"): ("min_value", "clamp_min"),
    ("clamp_max", "c"): ("max_value", "clamp_max"),
    ("leaky_relu", "c"): ("negative_slope", "negative_slope", "slope"),
    ("pow_scalar", "c"): ("exponent", "power"),
    ("softshrink", "c"): ("lambd",),
    ("softplus_beta", "c"): ("beta",),
    ("where_scalar", "c"): ("factor",),
    ("masked_fill", "c"): ("fill_value",),
    ("lerp", "c"): ("weight_value", "mix"),
    ("clamp", "low"): ("min_val", "min_value", "clamp_min"),
    ("clamp", "high"): ("max_val", "max_value", "clamp_max"),
}

MEMBER_NAMES: dict[str, tuple[str, ...]] = {
    "linear": ("linear", "linear", "fc", "gemm", "proj", "matmul"),
    "conv_transpose": ("conv_transpose", "conv_transpose", "deconv", "up"),
    "conv": ("conv", "conv", "conv", "convolution"),
    "depthwise": ("depthwise", "dwconv", "conv"),
    "pointwise": ("act", "activation"),
    "norm": ("norm",),
    "batch_norm": ("bn", "bn", "batch_norm", "norm"),
    "layer_norm": ("ln", "norm", "layer_norm"),
    "group_norm": ("gn", "group_norm", "norm"),
    "instance_norm": ("instance_norm", "norm"),
    "rms_norm": ("norm", "rms_norm"),
    "embedding": ("embedding", "embed", "emb"),
    "max_pool": ("pool", "max_pool", "maxpool"),
    "avg_pool": ("pool", "avg_pool", "avgpool"),
    "adaptive": ("pool", "global_pool", "adaptive_pool"),
    "upsample": ("upsample", "up"),
    "parameter": ("bias", "bias", "scale", "weight", "gamma"),
    "matrix": ("weight", "weight", "W"),
}

FURTHER_NAMES = (("y", "z", "w"), ("y", "z", "w"), ("other", "third", "fourth"), ("b", "c", "d"), ("x2", "x3", "x4"))
FIRST_NAMES = ("x",) * 8 + ("input", "inputs", "a", "A")
KIND_NAMES: dict[str, tuple[str, ...]] = {
    "labels": ("targets", "target", "labels"),
    "indices": ("indices", "index", "ids"),
    "mask": ("mask",),
    "rare": ("mask", "x"),
    "binary": ("targets", "target", "labels"),
    "signs": ("targets", "target", "sign"),
    "probabilities": ("targets", "target", "probs"),
    "log_probabilities": ("log_probs", "predictions", "x"),
}
VALUE_WORDS = ("out", "h", "y1", "z1", "res", "tmp", "t", "u", "hidden", "feat", "value", "s")
OPENINGS = (
    "Model that performs {what}.",
    "Simple model that performs {what}.",
    "A model that computes {what}.",
    "A module that applies {what}.",
    "Performs {what}.",
    "Applies {what}.",
    "{What}.",
)
