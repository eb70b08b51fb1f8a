"""A data set's card says what its pairs went through, and nothing that they did not."""

from tritonsmith.data import card
from tritonsmith.data.census import Census
from tritonsmith.data.store import Settings


def _card(assembled: bool) -> str:
    settings = Settings(tasks="graphs", seed=0, styles=1, sources=["templates"], contrastive=False, assembled=assembled)
    census = Census(rows={"train": 3}, leaks=dict.fromkeys(("graphs", "kernels", "modules", "suite"), 0))
    return card.render(census, settings)


def test_kernels_that_were_assembled_were_compiled() -> None:
    assert "Every kernel\nwas compiled for sm_90 and its values compared" in _card(assembled=True)


def test_kernels_that_were_not_assembled_are_not_said_to_be_compiled() -> None:
    text = _card(assembled=False)
    assert "was compiled for" not in text and "front end" in text
    assert "`registers` and `spills` are 0), and its values compared" in text
