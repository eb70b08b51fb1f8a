"""What trainers share: a step whose gradient is broken is left out."""

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from tritonsmith.train.trainer import MOST_BROKEN, FiniteSteps, run_trainer


class Line(nn.Module):
    """A model whose gradient is NaN at some calls of `forward`."""

    def __init__(self, broken: set[int]) -> None:
        super().__init__()
        self.weight, self.calls, self.broken = nn.Parameter(torch.ones(3)), 0, broken

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        self.calls += 1
        scale = float("nan") if self.calls in self.broken else 1.0
        return {"loss": (scale * self.weight * x).sum()}


def trained(out: Path, broken: set[int], steps: int) -> Line:
    model = Line(broken)
    options = {"max_steps": steps, "per_device_train_batch_size": 1, "learning_rate": 0.1, "optim": "sgd"}
    arguments = TrainingArguments(
        output_dir=str(out), use_cpu=True, report_to=[], save_strategy="no", lr_scheduler_type="constant", **options
    )
    rows = [{"x": torch.ones(3)} for _ in range(steps)]
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[FiniteSteps()])  # type: ignore[arg-type]
    trainer.train()
    return model


def test_a_broken_step_changes_nothing_and_the_others_count(tmp_path: Path) -> None:
    weight = trained(tmp_path, {2}, 4).weight
    clipped = 3**-0.5  # an element of a gradient of three equal ones that is clipped to norm 1
    assert torch.allclose(weight, torch.full((3,), 1 - 3 * 0.1 * clipped))


def test_a_training_that_is_broken_for_good_ends(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not finite"):
        trained(tmp_path, set(range(1, 100)), MOST_BROKEN + 5)


def test_nothing_is_trained_with_an_attention_whose_gradient_may_be_nan(tmp_path: Path) -> None:
    torch.backends.cuda.enable_cudnn_sdp(True)
    used: list[bool] = []

    class Seen(Line):
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            used.append(torch.backends.cuda.cudnn_sdp_enabled())
            return super().forward(x)

    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to=[], max_steps=2)
    rows = [{"x": torch.ones(3)} for _ in range(2)]
    run_trainer(Trainer(model=Seen(set()), args=arguments, train_dataset=rows), resume=False)  # type: ignore[arg-type]
    assert used == [False, False]
