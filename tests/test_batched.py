"""All programs of a launch at once: what is left, and what is known of it, is what one after the other leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def launches() -> dict[str, Any]:
    """What `at_once` prints."""
    told = subprocess.run(
        [sys.executable, Path(__file__).with_name("at_once.py")],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(told.stdout)


APART = ("double", "softmax", "looped", "places", "product", "running", "constants", "columns", "in place", "fresh")
MEETING = ("neighbour", "same place", "same value", "outside", "bare", "crossing", "added", "misaligned")


@pytest.mark.parametrize("name", APART + MEETING)
@pytest.mark.parametrize("how", ["together", "some at a time"])
@pytest.mark.parametrize("what", ["values", "findings", "traffic", "marks"])
def test_at_once_leaves_what_one_after_the_other_leaves(
    launches: dict[str, Any], name: str, how: str, what: str
) -> None:
    found, after = launches[name][how][what], launches[name]["after"][what]
    assert found == (pytest.approx(after, rel=1e-6, abs=1e-6) if what == "values" else after)


@pytest.mark.parametrize("name", APART)
def test_programs_that_keep_apart_are_done_at_once(launches: dict[str, Any], name: str) -> None:
    assert launches[name]["together"]["alone"] == 0 and launches[name]["after"]["alone"] > 2


@pytest.mark.parametrize("name", MEETING)
def test_programs_that_meet_are_done_one_by_one(launches: dict[str, Any], name: str) -> None:
    assert launches[name]["together"]["alone"] == launches[name]["after"]["alone"]
    assert bool(launches[name]["together"]["findings"]) == (name not in ("added", "same value"))
