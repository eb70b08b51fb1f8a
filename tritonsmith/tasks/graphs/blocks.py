"""Blocks of networks as people build them, each a recipe of operators that begins at a value of some rank.

A recipe leaves open what people choose: activations, norms, kernel sizes, whether there is a residual. Sizes are solved
as for every other graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tritonsmith.tasks.graphs.draw import Sketch

Recipe = Callable[["Sketch", int], int]
_ACTIVATIONS = (
    "relu",
    "relu",
    "relu",
    "gelu",
    "gelu",
    "silu",
    "tanh",
    "leaky_relu",
    "mish",
    "elu",
    "hardswish",
    "relu6",
)


def _act(s: Sketch, x: int) -> int:
    return s.step(s.rng.choice(_ACTIVATIONS), x)


def _norm(s: Sketch, x: int) -> int:
    return s.step(s.rng.choice(("layer_norm", "layer_norm", "rms_norm_weight", "layer_norm_plain")), x)


def _image_norm(s: Sketch, x: int) -> int:
    return s.step(s.rng.choice(("batch_norm2d",) * 4 + ("batch_norm2d_eval", "group_norm", "instance_norm2d")), x)


def _conv(s: Sketch, x: int, kernel: int, stride: int = 1, name: str = "conv2d", **attributes: int) -> int:
    """A convolution that keeps the size, but for its stride."""
    rest = {} if name.startswith("depthwise") else {"groups": 1}
    return s.step(name, x, kernel_size=kernel, stride=stride, padding=kernel // 2, dilation=1, **rest, **attributes)


def _maybe(s: Sketch, chance: float) -> bool:
    return s.rng.random() < chance


# -- on (batch, features) or (batch, length, features) -----------------------------------------------------


def mlp(s: Sketch, x: int) -> int:
    """Linear layers with activations between them."""
    for _ in range(s.rng.choice((1, 1, 2, 2, 3))):
        x = _act(s, s.step("linear", x))
    return s.step("linear", x)


def feed_forward(s: Sketch, x: int) -> int:
    """The second half of a transformer's layer: norm, two linear layers, residual."""
    h = _norm(s, x) if _maybe(s, 0.7) else x
    h = s.step("linear", _act(s, s.step("linear", h)))
    h = s.step("add", h, x)
    return _norm(s, h) if _maybe(s, 0.3) else h


def swiglu(s: Sketch, x: int) -> int:
    """One linear layer gates another; a third brings the width back."""
    gate = s.step(s.rng.choice(("silu", "silu", "gelu", "sigmoid", "relu")), s.step("linear", x))
    h = s.step("mul", gate, s.step("linear", x))
    if _maybe(s, 0.8):
        h = s.step("linear", h)
    return s.step("add", h, x) if _maybe(s, 0.3) else h


def chunked_gate(s: Sketch, x: int) -> int:
    """A wide linear layer whose one half gates the other."""
    h = s.step("linear", x)
    last = len(s.draft.shape(h)) - 1
    value = s.step("chunk", h, chunks=2, index=0, dim=last)
    gate = s.step("chunk", h, chunks=2, index=1, dim=last)
    h = s.step("mul", value, s.step(s.rng.choice(("sigmoid", "silu", "gelu", "tanh")), gate))
    return s.step("linear", h) if _maybe(s, 0.5) else h


def highway(s: Sketch, x: int) -> int:
    """A gate between what a layer gives and what it was given."""
    gate = s.step("sigmoid", s.step("linear", x))
    h = _act(s, s.step("linear", x))
    kept = s.step("mul", s.step("rsub_scalar", gate, c=1.0), x)
    return s.step("add", s.step("mul", gate, h), kept)


def low_rank(s: Sketch, x: int) -> int:
    """A linear layer and a narrow pair beside it, as LoRA has them."""
    side = s.step("linear", s.step("linear", x, bias=False), bias=False)
    side = s.step("mul_scalar", side) if _maybe(s, 0.7) else side
    return s.step("add", s.step("linear", x), side)


def recurrent(s: Sketch, x: int) -> int:
    """One step of a gated recurrent cell on an input and a state."""
    state = s.leaf("normal", "n" * len(s.draft.shape(x)))
    h = s.step("add", s.step("linear", x), s.step("linear", state))
    if _maybe(s, 0.4):
        return s.step("tanh", h)
    gate = s.step("sigmoid", h)
    new = s.step("tanh", s.step("add", s.step("linear", x), s.step("mul", gate, state)))
    return new


def two_towers(s: Sketch, x: int) -> int:
    """Similarities of two batches of vectors."""
    other = s.leaf("normal", "nn")
    left, right = (s.step("linear", one) if _maybe(s, 0.7) else one for one in (x, other))
    if _maybe(s, 0.7):
        left, right = (s.step("l2_normalize", one, dim=1) for one in (left, right))
    h = s.step("matmul_tb", left, right)
    if _maybe(s, 0.6):
        h = s.step(s.rng.choice(("mul_scalar", "div_scalar")), h)
    end = s.rng.choice(("softmax", "logsumexp", "log_softmax", ""))
    return s.step(end, h, dim=1) if end else h


# -- on (batch, length, features) --------------------------------------------------------------------------


def attention(s: Sketch, x: int) -> int:
    """Self-attention of one head."""
    start = x
    x = _norm(s, x) if _maybe(s, 0.3) else x
    query, key, value = (s.step("linear", x) for _ in range(3))
    if _maybe(s, 0.3):
        h = s.step("scaled_dot_product_attention", query, key, value)
    else:
        scores = s.step("bmm_tb", query, key)
        scores = s.step(
            s.rng.choice(("mul_scalar", "div_scalar")), scores, c=s.rng.choice((0.05, 0.1, 0.125, 2.0, 4.0, 8.0))
        )
        weights = s.step("causal_softmax", scores) if _maybe(s, 0.3) else s.step("softmax", scores, dim=2)
        h = s.step("bmm", weights, value)
    if _maybe(s, 0.5):
        h = s.step("linear", h)
    return s.step("add", h, start) if _maybe(s, 0.3) else h


def heads(s: Sketch, x: int) -> int:
    """Self-attention of several heads."""
    count = s.rng.choice((2, 4, 4, 8))
    parts = [s.step("split_heads", s.step("linear", x), heads=count) for _ in range(3)]
    h = s.step("merge_heads", s.step("scaled_dot_product_attention", *parts))
    return s.step("linear", h) if _maybe(s, 0.6) else h


def mixer(s: Sketch, x: int) -> int:
    """A layer along the positions, as MLP-Mixer has it."""
    h = s.step("transpose", _norm(s, x) if _maybe(s, 0.6) else x, dim0=1, dim1=2)
    h = s.step("linear", _act(s, s.step("linear", h)))
    h = s.step("transpose", h, dim0=1, dim1=2)
    return s.step("add", h, x)


def pooled_sequence(s: Sketch, x: int) -> int:
    """A sequence into one vector and through a head."""
    h = _act(s, s.step("linear", x)) if _maybe(s, 0.6) else x
    h = s.step(s.rng.choice(("mean", "amax", "sum")), h, dim=1, keepdim=False)
    return s.step("linear", h)


# -- on heads (batch, heads, length, features) -------------------------------------------------------------


def scores(s: Sketch, x: int) -> int:
    """Attention on given queries, keys and values."""
    key, value = s.leaf("normal", "nnnn"), s.leaf("normal", "nnnn")
    if _maybe(s, 0.3):
        return s.step("scaled_dot_product_attention", x, key, value)
    h = s.step("matmul_4d_tb", x, key)
    h = s.step(s.rng.choice(("mul_scalar", "div_scalar")), h, c=s.rng.choice((0.1, 0.125, 0.25, 4.0, 8.0)))
    h = s.step("causal_softmax", h) if _maybe(s, 0.4) else s.step("softmax", h, dim=3)
    return s.step("matmul_4d", h, value)


# -- on images (batch, channels, height, width) ------------------------------------------------------------


def conv_norm_act(s: Sketch, x: int) -> int:
    """Convolution, norm, activation, once or several times."""
    for _ in range(s.rng.choice((1, 2, 2, 3))):
        x = _conv(s, x, s.rng.choice((1, 3, 3, 3, 5)), s.rng.choice((1, 1, 1, 2)))
        x = _image_norm(s, x) if _maybe(s, 0.8) else x
        x = _act(s, x)
        x = s.step("max_pool2d_whole", x, kernel_size=2) if _maybe(s, 0.2) else x
    return x


def residual(s: Sketch, x: int) -> int:
    """Two convolutions and a way around them, as ResNet has it."""
    h = _conv(s, x, 3)
    h = _image_norm(s, h) if _maybe(s, 0.8) else h
    h = _conv(s, _act(s, h), 3)
    h = _image_norm(s, h) if _maybe(s, 0.8) else h
    h = s.step("add", h, x)
    return _act(s, h) if _maybe(s, 0.8) else h


def separable(s: Sketch, x: int) -> int:
    """A convolution of each channel, then one across channels."""
    h = _conv(s, x, s.rng.choice((3, 3, 5, 7)), s.rng.choice((1, 1, 2)), name="depthwise_conv2d")
    h = _act(s, _image_norm(s, h)) if _maybe(s, 0.6) else h
    h = _conv(s, h, 1)
    return _act(s, _image_norm(s, h)) if _maybe(s, 0.6) else h


def inverted(s: Sketch, x: int) -> int:
    """The inverted bottleneck of MobileNetV2."""
    h = s.step("relu6", _image_norm(s, _conv(s, x, 1)))
    h = s.step("relu6", _image_norm(s, _conv(s, h, 3, name="depthwise_conv2d")))
    h = _image_norm(s, _conv(s, h, 1))
    return s.step("add", h, x) if _maybe(s, 0.7) else h


def squeeze_excite(s: Sketch, x: int) -> int:
    """Each channel times a gate made of the means of all."""
    if _maybe(s, 0.4):
        h = s.step("adaptive_avg_pool2d", x, output_size=1)
        h = s.step("sigmoid", _conv(s, _act(s, _conv(s, h, 1)), 1))
        return s.step("mul", h, x)
    h = s.step("mean_axes", x, dims=(2, 3), keepdim=False)
    h = s.step("sigmoid", s.step("linear", _act(s, s.step("linear", h))))
    return s.step("mul", s.step("expand_spatial", h), x)


def branches(s: Sketch, x: int) -> int:
    """Several convolutions side by side, joined, as Inception has it."""
    parts = []
    for kernel in s.rng.sample((1, 3, 5), s.rng.choice((2, 2, 3))):
        part = _conv(s, x, kernel)
        parts.append(_act(s, part) if _maybe(s, 0.5) else part)
    h = s.step("cat", parts[0], parts[1], dim=1)
    return s.step("cat", h, parts[2], dim=1) if len(parts) > 2 else h


def dense(s: Sketch, x: int) -> int:
    """What a convolution gives is put beside what it was given."""
    for _ in range(s.rng.choice((1, 2))):
        x = s.step("cat", x, _act(s, _conv(s, x, 3)), dim=1)
    return x


def classifier(s: Sketch, x: int) -> int:
    """Convolution, pooling, and a linear layer over what is left."""
    h = _act(s, _conv(s, x, 3, s.rng.choice((1, 2))))
    h = s.step("flatten", s.step("adaptive_avg_pool2d", h, output_size=s.rng.choice((1, 1, 2))))
    h = s.step("linear", h)
    return s.step(s.rng.choice(("softmax", "log_softmax")), h, dim=1) if _maybe(s, 0.3) else h


def up_down(s: Sketch, x: int) -> int:
    """Down and up again, with what was there before beside it, as U-Net has it."""
    before = _act(s, _conv(s, x, 3))
    h = s.step("max_pool2d", before, kernel_size=2, stride=2, padding=0, dilation=1)
    h = _act(s, _conv(s, h, 3))
    h = s.step("conv_transpose2d", h, kernel_size=2, stride=2, padding=0, output_padding=0, dilation=1, groups=1)
    return h


def gated_conv(s: Sketch, x: int) -> int:
    """One convolution gates another."""
    gate = s.step("sigmoid", _conv(s, x, 3))
    return s.step("mul", _act(s, _conv(s, x, 3)), gate)


def patches(s: Sketch, x: int) -> int:
    """An image cut into patches that become a sequence, as ViT has it."""
    size = s.rng.choice((2, 4, 8))
    h = s.step("conv2d", x, kernel_size=size, stride=size, padding=0, dilation=1, groups=1)
    h = s.step("transpose", s.step("flatten_spatial", h), dim0=1, dim1=2)
    return _norm(s, h) if _maybe(s, 0.5) else h


VECTORS: tuple[Recipe, ...] = (mlp, mlp, feed_forward, swiglu, chunked_gate, highway, low_rank, recurrent)
RECIPES: dict[int, tuple[Recipe, ...]] = {
    2: (*VECTORS, two_towers),
    3: (mlp, feed_forward, swiglu, chunked_gate, highway, attention, attention, heads, heads, mixer, pooled_sequence),
    4: (
        conv_norm_act,
        conv_norm_act,
        residual,
        residual,
        separable,
        inverted,
        squeeze_excite,
        squeeze_excite,
        branches,
        dense,
        classifier,
        up_down,
        gated_conv,
        patches,
        scores,
    ),
}
"""Recipes by the rank of the value at which they begin."""
