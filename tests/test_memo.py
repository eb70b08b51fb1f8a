"""What the interpreter's memory gives is what Triton makes anew."""

import numpy as np
import pytest
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from tritonsmith.verify.interpreter import memo

_PATCHED = (
    (interpreter.TensorHandle, "__init__"),
    (interpreter, "_get_np_dtype"),
    (interpreter, "_patch_attr"),
    (tl.block_type, "__init__"),
    (tl.tensor, "__init__"),
    (TritonSemantic, "broadcast_impl_value"),
)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for one test; afterwards everything is as before."""
    for owner, name in _PATCHED:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    memo.install()


def _handle(shape: tuple[int, ...], dtype: tl.dtype = tl.float32) -> interpreter.TensorHandle:
    return interpreter.TensorHandle(np.zeros(shape, interpreter._get_np_dtype(dtype)), dtype)


def _block(shape: list[int], dtype: tl.dtype = tl.float32) -> tl.tensor:
    return tl.tensor(_handle(tuple(shape), dtype), tl.block_type(dtype, shape))


def test_blocks_of_other_shapes_and_elements_are_told_apart() -> None:
    kinds = [tl.block_type(dtype, [*shape]) for dtype in (tl.float32, tl.int32) for shape in ((4, 8), (8, 4), (32,))]
    for _ in range(2):
        assert [kind.numel for kind in kinds] == [32] * 6
        assert len({kind.name for kind in kinds}) == 6
        kinds = [tl.block_type(kind.element_ty, list(kind.shape)) for kind in kinds]


def test_what_was_made_before_is_used_again() -> None:
    assert tl.block_type(tl.float32, [4, 8]).shape is tl.block_type(tl.float32, [4, 8]).shape
    assert _block([4, 8]).shape is _block([4, 8]).shape


def test_a_block_type_of_an_element_type_that_is_gone_is_not_another_ones() -> None:
    """Element types are told apart by where they lie, so one that is remembered must not be let go."""
    names = set()
    for width in (8, 16, 32, 64):
        names.add(tl.block_type(tl.pointer_type(getattr(tl, f"int{width}")), [16]).name)
    assert len(names) == 4


def test_a_shape_that_cannot_be_is_still_refused() -> None:
    with pytest.raises(ValueError, match="power of 2"):
        tl.block_type(tl.float32, [3])
    with pytest.raises(TypeError):
        tl.block_type(tl.float32, [])


def test_tensors_have_their_shape_each_time() -> None:
    for shape in ([4, 8], [16], [4, 8]):
        tensor = _block(shape)
        assert [int(size) for size in tensor.shape] == shape
        assert int(tensor.numel) == np.prod(shape)
    scalar = tl.tensor(_handle((1,)), tl.float32)
    assert len(scalar.shape) == 0
    assert scalar.dtype == tl.float32


def test_data_wider_than_its_type_is_still_refused() -> None:
    with pytest.raises(ValueError, match="exceeds"):
        interpreter.TensorHandle(np.zeros(4, np.int64), tl.float32)


def test_blocks_of_one_shape_stay_as_they_are_and_others_are_spread() -> None:
    semantic = interpreter.interpreter_semantic
    one, other = _block([4, 8]), _block([4, 8])
    assert semantic.broadcast_impl_value(one, other) == (one, other)
    row, _ = semantic.broadcast_impl_value(_block([1, 8]), one)
    assert row.handle.data.shape == (4, 8)
    with pytest.raises(ValueError, match="incompatible"):
        semantic.broadcast_impl_value(one, _block([4, 4]))


@pytest.mark.parametrize("name", ["int1", "int64", "uint8", "float16", "bfloat16", "float32", "float8e5"])
def test_numpy_types_are_the_interpreters(name: str) -> None:
    expected = {"int1": bool, "bfloat16": np.uint16, "float8e5": np.uint8}
    kind = getattr(tl, name)
    for asked in (kind, tl.block_type(kind, [8])):
        assert interpreter._get_np_dtype(asked) == np.dtype(expected.get(name, name))
    assert interpreter._get_np_dtype(tl.pointer_type(kind)) == np.uint64
