"""What the values of a tensor promise: bounds, signs, probabilities, symmetry. A task may rely on it, and its variants
keep it."""

import torch

from tritonsmith.tasks.trees import FLOAT8, wide


def promises_little(tensor: torch.Tensor) -> bool:
    """Whether it holds numbers that `as_rand_draws` knows, and no labels or probabilities."""
    tensor = wide(tensor)
    if not tensor.is_floating_point() or tensor.numel() < 2 or bool((tensor == tensor.round()).all()):
        return False
    least, most = (float(bound) for bound in tensor.aminmax())
    return not distribution(tensor) and as_rand_draws(tensor, least, most)


def truths(tensor: torch.Tensor) -> bool:
    """Whether it holds zeros and ones, both of them, and nothing else."""
    tensor = wide(tensor)
    return bool(((tensor == 0) | (tensor == 1)).all()) and tensor.numel() > 0 and bool(tensor.min() < tensor.max())


def rms(tensor: torch.Tensor) -> torch.Tensor:
    """The root mean square of its values."""
    return torch.linalg.vector_norm(tensor) / tensor.numel() ** 0.5


def unbounded(tensor: torch.Tensor) -> bool:
    """Whether it holds numbers of which a task promises no bounds: of either sign, or as `torch.rand` draws them, of
    more than 8 bits."""
    if not tensor.is_floating_point() or tensor.dtype in FLOAT8 or tensor.numel() < 2:
        return False
    if bool((tensor == tensor.round()).all()):
        return False
    least, most = (float(bound) for bound in tensor.aminmax())
    return not distribution(tensor) and (least < 0 < most or as_rand_draws(tensor, least, most))


def as_rand_draws(tensor: torch.Tensor, least: float, most: float) -> bool:
    """Whether values are as `torch.rand` draws them, or a multiple of that, which promises little.

    Of n uniform values, if they are many, none comes so near to an end as is asked here e^-16 of the time; five
    deviations of their mean and of their mean square, 1 / sqrt(12 n) and sqrt(4 / (45 n)), tell them from others that
    begin at zero. Of few one that is a tenth of the largest is asked: `rand + 0.1` is a weight, and positive.
    """
    if not 0 <= least < most or tensor.numel() <= 16:
        return False
    near = min(0.1, 16 / tensor.numel())
    if least >= near * most:
        return False
    if 1 - near < most <= 1:
        return True
    return evenly_spread(tensor)


def evenly_spread(tensor: torch.Tensor) -> bool:
    """Whether mean and mean square are those of even values from zero on, for as many; see `as_rand_draws`."""
    even, many, near = tensor.double() / tensor.max(), 5 / tensor.numel() ** 0.5, min(0.1, 16 / tensor.numel())
    mean, square = float(even.mean()), float(even.square().mean())
    return abs(mean - 1 / 2) < many * (1 / 12) ** 0.5 + near and abs(square - 1 / 3) < many * (4 / 45) ** 0.5 + near


def of_one_scale(tensor: torch.Tensor) -> torch.Tensor:
    """Positive values, each slice of the first dimension multiplied by the power of two that makes it one at most: what
    `values` made of small slices that `torch.rand` drew is as it was."""
    most = tensor.flatten(1).amax(dim=1) if tensor.dim() > 1 else tensor
    return tensor * most.log2().ceil().neg().exp2().reshape(-1, *[1] * (tensor.dim() - 1))


def rises(tensor: torch.Tensor) -> bool:
    """Whether each of its rows goes from smaller to larger values, as boundaries do and drawn numbers do not."""
    return tensor.dim() > 0 and tensor.shape[-1] > 2 and bool((tensor.diff(dim=-1) >= 0).all())


def symmetric(tensor: torch.Tensor) -> bool:
    """Whether a matrix equals its transpose, which a task may promise; slices of several matrices keep it anyway."""
    square = tensor.dim() == 2 and tensor.shape[0] == tensor.shape[1]
    return square and torch.equal(tensor, tensor.T)


def distribution(tensor: torch.Tensor) -> bool:
    """Whether the last or the second dimension holds probabilities, or logarithms of them."""
    bounds = tensor.aminmax()
    logarithms, probabilities = bool(bounds.max <= 0), bool(bounds.min >= 0)
    if not logarithms and not probabilities:
        return False
    shares = tensor.exp() if logarithms else tensor
    totals = [shares.sum(dim=dim) for dim in {-1, min(1, tensor.dim() - 1)}]
    return any(bool(torch.allclose(total, torch.ones_like(total), atol=1e-3)) for total in totals)
