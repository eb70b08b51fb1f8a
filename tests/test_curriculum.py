import json
import random

import pytest

from tritonsmith.config import CurriculumConfig
from tritonsmith.curriculum import Curriculum


def test_starts_at_p_min() -> None:
    assert Curriculum().weights() == {1: 0.9, 2: 0.1}


@pytest.mark.parametrize(("accuracy", "p"), [(0.0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.4, 0.5), (1.0, 0.5)])
def test_p_follows_the_formula(accuracy: float, p: float) -> None:
    curriculum = Curriculum()
    curriculum.observe(1, accuracy)
    assert curriculum.p_level2 == pytest.approx(p)


def test_goes_down_again() -> None:
    curriculum = Curriculum()
    curriculum.observe(1, 0.8)
    for _ in range(30):
        curriculum.observe(1, 0.0)
    assert curriculum.p_level2 < 0.15


def test_average_moves_by_the_decay() -> None:
    curriculum = Curriculum(decay=0.5)
    curriculum.observe(1, 1.0)
    curriculum.observe(1, False)
    assert curriculum.accuracy[1] == 0.5


def test_level_2_does_not_move_p() -> None:
    curriculum = Curriculum()
    curriculum.observe(2, 1.0)
    assert curriculum.p_level2 == 0.1


def test_small_batches_hold_level_2_as_often_as_p_says() -> None:
    rng = random.Random(0)
    curriculum = Curriculum()
    drawn = [curriculum.sample_levels(8, rng).count(2) for _ in range(2000)]
    assert set(drawn) == {0, 1}
    assert sum(drawn) / len(drawn) == pytest.approx(0.8, abs=0.03)


def test_level_without_tasks_is_never_drawn() -> None:
    assert set(Curriculum().sample_levels(8, random.Random(0), available={2})) == {2}
    assert set(Curriculum().sample_levels(8, random.Random(0), available={1, 3})) == {1}


def test_state_survives_json() -> None:
    first, second = Curriculum(), Curriculum()
    first.observe(1, 0.3)
    first.observe(2, 0.1)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.weights() == first.weights()
    assert second.metrics() == first.metrics()


def test_is_built_from_the_configuration() -> None:
    assert Curriculum.from_config(CurriculumConfig(p_min=0.3)).p_level2 == 0.3


@pytest.mark.parametrize("bad", [{"p_min": 0.9}, {"threshold": 0.0}, {"decay": 1.0}])
def test_refuses_settings_without_meaning(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="curriculum needs"):
        Curriculum(**bad)


def test_refuses_a_rate_beyond_one() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Curriculum().observe(1, 10)
