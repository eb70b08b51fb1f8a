"""Doctor finds out by trying."""

import pytest

from tritonsmith import doctor
from tritonsmith.verify import sandbox


@pytest.fixture(scope="module")
def rows() -> dict[str, doctor.Row]:
    return {row.name: row for row in doctor.examine()}


def test_what_the_tests_run_on_is_there(rows: dict[str, doctor.Row]) -> None:
    for name in ("python", "torch", "triton", "ptxas", "compile sm_90"):
        assert rows[name].ok, rows[name].detail


def test_each_sandbox_layer_has_a_row_that_tells_the_truth(rows: dict[str, doctor.Row]) -> None:
    for name, given in sandbox.layers().items():
        assert rows[f"sandbox {name}"].ok == given


def test_what_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row = doctor._extra("no-such-distribution", "gpu")
    assert not row.ok and row.optional and "pip install" in row.detail
    assert not doctor._library("no-such-distribution").ok


def test_a_failing_check_is_a_row_and_no_crash() -> None:
    def broken() -> str:
        raise RuntimeError("why")

    row = doctor._try("thing", broken)
    assert not row.ok and "why" in row.detail
