"""The card of a data set: a README with the YAML header that `datasets` and the hub read. Text only."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from tritonsmith import __version__
from tritonsmith.data.census import Census
from tritonsmith.data.rows import SPLITS
from tritonsmith.data.store import Settings


def render(census: Census, settings: Settings) -> str:
    """The card of a build."""
    environment = Environment(
        loader=PackageLoader("tritonsmith"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=False, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("card.md.j2").render(
        census=census,
        settings=settings,
        splits=[split for split in SPLITS if census.rows.get(split)],
        total=sum(census.rows.values()),
        size=_size(sum(census.rows.values())),
        version=__version__,
    )


def _size(rows: int) -> str:
    """The hub's word for a number of rows."""
    limits = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
    return next((word for limit, word in limits.items() if rows < limit), "1M<n<10M")
