import pytest
import torch

from tritonsmith.credit import TURN_DISCOUNT, credit, first_turn, keepable, normalise, select_best
from tritonsmith.types import Interval, Verdict

REWARDS = torch.tensor([0.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.3, 0.3])


def verdict(correct: bool, speedup: float | None = None) -> Verdict:
    interval = None if speedup is None else Interval(median=speedup, low=speedup, high=speedup)
    return Verdict(
        task="t",
        device="cpu",
        target="sm_90",
        policy="strict",
        stage="full" if correct else "compile",
        valid=True,
        correct=correct,
        speedup=interval,
    )


def test_grpo_standardises_within_the_group() -> None:
    group = REWARDS[:4]
    expected = (group - group.mean()) / (group.std() + 1e-4)
    assert torch.allclose(credit(REWARDS, 4, "grpo")[:4], expected)


def test_dr_grpo_only_centres() -> None:
    assert torch.allclose(credit(REWARDS, 4, "dr_grpo")[:4], torch.tensor([-0.5, 0.5, 0.0, 0.0]))


@pytest.mark.parametrize("method", ["grpo", "dr_grpo"])
def test_equal_rewards_give_no_credit(method: str) -> None:
    assert credit(REWARDS, 4, method)[4:].abs().max() < 1e-5  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["grpo", "dr_grpo"])
@pytest.mark.parametrize("score", [0.7, 0.3, 1.1])
def test_equal_rewards_of_a_large_group_give_none_at_all(method: str, score: float) -> None:
    """The mean of eight times 0.7 is not 0.7 in float32, and the difference was divided by as small a deviation."""
    assert not credit(torch.full((24,), score), 8, method).any()  # type: ignore[arg-type]
    with_a_gap = torch.tensor([torch.nan, *[score] * 7])
    assert not credit(with_a_gap, 8, method).any()  # type: ignore[arg-type]


def test_best_of_n_keeps_the_highest() -> None:
    rewards = torch.tensor([0.7, 0.9, 0.3, 0.8, 0.7, 0.7, 0.7, 0.7])
    kept = credit(rewards, 4, "best_of_n", keep=2, eligible=rewards >= 0.7)
    assert kept.tolist() == [0, 1, 0, 1, 1, 1, 0, 0]


def test_best_of_n_keeps_only_what_is_eligible() -> None:
    kept = credit(torch.tensor([0.5, 0.3, 0.9, 0.0]), 4, "best_of_n", eligible=torch.tensor([0, 0, 1, 0]).bool())
    assert kept.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("method", ["grpo", "dr_grpo", "best_of_n"])
def test_missing_reward_leaves_the_row_out(method: str) -> None:
    rewards = torch.tensor([1.0, torch.nan, 0.0, 0.5])
    with_gap = credit(rewards, 4, method, keep=1)  # type: ignore[arg-type]
    without = credit(rewards[[0, 2, 3]], 3, method, keep=1)  # type: ignore[arg-type]
    assert with_gap[1] == 0
    assert torch.allclose(with_gap[[0, 2, 3]], without)


def test_segments_weigh_the_plan_by_alpha() -> None:
    rewards = {"plan": torch.tensor([2.0, 0.0]), "code": torch.tensor([1.0, 0.0])}
    masks = {"plan": torch.tensor([[1, 1, 0, 0]] * 2), "code": torch.tensor([[0, 0, 1, 0]] * 2)}
    got = credit(rewards, 2, "dr_grpo", masks=masks, alpha=0.1)
    assert torch.allclose(got, torch.tensor([[0.1, 0.1, 0.5, 0.0], [-0.1, -0.1, -0.5, 0.0]]))


def test_one_segment_over_all_tokens_is_the_plain_credit() -> None:
    got = credit(REWARDS, 4, "grpo", masks={"code": torch.ones(8, 3)})
    assert torch.equal(got, credit(REWARDS, 4, "grpo")[:, None].expand(8, 3))


def test_blame_is_where_a_negative_advantage_goes() -> None:
    blame = torch.tensor([[0, 0, 1], [0, 1, 0]])
    got = credit(torch.tensor([1.0, 0.0]), 2, "dr_grpo", masks={"code": torch.ones(2, 3)}, blame=blame)
    assert got.tolist() == [[0.5, 0.5, 0.5], [0.0, -0.5, 0.0]]


def test_blame_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="give masks"):
        credit(REWARDS, 4, "grpo", blame=torch.ones(8, 3))


def test_best_of_n_keeps_plan_and_code_together() -> None:
    rewards = {"plan": torch.tensor([2.0, 1.0]), "code": torch.tensor([0.5, 1.0])}
    masks = {"plan": torch.tensor([[1, 0]] * 2), "code": torch.tensor([[0, 1]] * 2)}
    assert credit(rewards, 2, "best_of_n", masks=masks, alpha=1.0, keep=1)[1].sum() == 0


def test_ragged_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="groups of 3"):
        credit(REWARDS, 3, "grpo")


def test_select_best_takes_distinct_correct_fastest_first() -> None:
    verdicts = [verdict(True, 1.2), verdict(False), verdict(True, 1.9), verdict(True, 1.9), verdict(True)]
    sources = ["a = 1", "b = 1", "c = 1", "c  =  1  # the same", "d = 1"]
    assert select_best(verdicts, sources, 3) == [2, 0, 4]
    assert select_best(verdicts, sources, 1) == [2]


def test_select_best_of_nothing_correct_is_empty() -> None:
    assert select_best([verdict(False)], ["a = 1"], 3) == []


def test_keepable_marks_each_group_on_its_own() -> None:
    verdicts = [verdict(True), verdict(True), verdict(True), verdict(False)]
    assert keepable(verdicts, ["a = 1", "a = 1", "a = 1", "b = 1"], 2).tolist() == [True, False, True, False]


def test_normalise_forgets_comments_docstrings_and_layout() -> None:
    assert normalise('"""Doc."""\nx = (1)  # one\n') == normalise("x=1")


def test_normalise_keeps_what_does_not_parse() -> None:
    assert normalise(" def f(: ") == "def f(:"


def test_a_right_answer_counts_less_by_each_turn() -> None:
    assert [first_turn(1.0, turn) for turn in (1, 2, 3)] == pytest.approx([1.0, TURN_DISCOUNT, TURN_DISCOUNT**2])
    assert first_turn(-10.0, 3) == -10.0


def test_select_best_goes_by_the_rewards_that_are_given() -> None:
    verdicts = [verdict(True, 1.9), verdict(True), verdict(False)]
    assert select_best(verdicts, ["a = 1", "b = 1", "c = 1"], 2, rewards=[0.1, 0.2, 9.0]) == [1, 0]
