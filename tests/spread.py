"""Some steps of pretraining by as many processes as a launcher started; leaves the weights and loss of the first."""

import sys
from pathlib import Path

import torch
from conftest import tiny_model

from tritonsmith.train import ranks
from tritonsmith.train.pretrain import loop, packing

STEPS = 4


def rows() -> packing.Packed:
    """Eight rows, of which each has another share of answers: a mean of the processes' means would be another mean."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 60, (8, 32), generator=generator, dtype=torch.int32)
    positions = torch.arange(32, dtype=torch.int16).repeat(8, 1)
    kinds = (torch.arange(32)[None] > 3 * torch.arange(8)[:, None]).to(torch.uint8) * packing.ANSWER
    return packing.Packed(ids, positions, kinds, documents=8, text=100)


def train(path: Path) -> None:
    """Train, validate and save, with how many rows a process had at a time."""
    recipe = loop.Recipe(minutes=60, batch=4, lr=1e-2, optimizer="muon")
    run = loop._Run(tiny_model(), rows(), recipe, "cpu", False)
    for step, _ in enumerate(run.steps(), start=1):
        if step == STEPS:
            break
    widths, losses = set[int](), run.step.token_losses

    def watched(packed: packing.Packed, indices: torch.Tensor) -> torch.Tensor:
        widths.add(len(indices))
        return losses(packed, indices)

    run.step.token_losses = watched
    loss = run.validate({1: rows()})[1].token
    if ranks.is_first():
        torch.save({"weights": run.model.state_dict(), "loss": loss, "widths": list(widths)}, path)
    ranks.meet()


if __name__ == "__main__":
    ranks.join()
    train(Path(sys.argv[1]))
    ranks.part()
