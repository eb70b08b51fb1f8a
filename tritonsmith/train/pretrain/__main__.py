"""Train a model from nothing on what `tritonsmith data build` wrote, and check it.

    python -m tritonsmith.train.pretrain --size base --data runs/data --out runs/base --minutes 7

leaves `OUT/model` (bfloat16 safetensors and tokenizer) and `OUT/outcome.json`; `--pairs 20000` makes the data first.
The same command goes on where it was stopped or killed. `--minutes` counts training alone: reading, compiling and
judging come on top. `--device cpu --size nano --minutes 0.1 --batch 2 --length 1024` is a dry run. On several GPUs of a
host: `torchrun --nproc-per-node 2 -m tritonsmith.train.pretrain ...`, which share each step's rows. What needs cores
and no GPU is done by `--packed FILE --pack-only`; with that FILE, and `--tokenizer`, no `--data` is needed elsewhere.
"""

import logging
import random
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import torch
import typer
from transformers import AutoTokenizer, PreTrainedTokenizerFast, Qwen3ForCausalLM

from tritonsmith.cores import cores
from tritonsmith.data import survey
from tritonsmith.data.build import build
from tritonsmith.errors import UserError
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import models, ranks, trainer
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain import loop, packing, prepare, rows, stored
from tritonsmith.train.pretrain.check import check
from tritonsmith.train.pretrain.optimizer import Kind, Schedule
from tritonsmith.types import Task

log = logging.getLogger(__name__)

Prompt = Literal["canonical", "plain", "bare", "traced"]

SAMPLE = 50_000
"""Documents that the tokenizer learns from."""
VALIDATED = 2_000
"""Documents of each level whose loss is measured."""


def train(
    data: Sequence[Path],
    out: Path,
    size: models.Size,
    recipe: loop.Recipe,
    length: int = 2048,
    vocabulary: int = 4096,
    tokenizer: Path | None = None,
    device: str = "cpu",
    copies: int = 0,
    prompt: Prompt = "plain",
    packed: Sequence[Path] = (),
    pack_only: bool = False,
) -> Path:
    """The folder of the model that was trained on the rows in `data`; if it is there, nothing is done.

    `tokenizer` is a folder to take it from; without one it is learnt from the rows. `copies` of each row are added
    under other names (`prepare`); `prompt` is how tasks are shown (`prompts.messages`), of which `canonical` needs rows
    that were built so. Packed rows are kept in the file `packed`, or read from it, or from several such files, with
    tasks shown as they were packed; with `pack_only` that is all.
    """
    done = out / "model"
    if ranks.first(done.exists):
        log.info("%s is there already", done)
        return done
    missing = ranks.first(lambda: [path for path in packed if not path.exists()])
    if missing and len(packed) > 1:
        raise UserError(f"{missing[0]} is not there: rows are packed into one file, and read from any number of them")
    if packed and not missing:
        words = ranks.first(lambda: _tokenizer(out / "tokenizer", tokenizer, (), vocabulary, recipe.seed))
        kept = stored.together([stored.read(path, words) for path in packed])  # of another tokenizer it raises
        ranks.first(lambda: _keep(words, out / "tokenizer"))
        learnt, validation, shown = kept.train, kept.validation, kept.prompt or prompt
    else:
        _check_length(length, size)
        words, learnt, validation = _packed(data, out, recipe.seed, length, vocabulary, tokenizer, copies, prompt)
        shown = prompt
        if packed and ranks.is_first():
            stored.write(packed[0], words, stored.Kept(learnt, validation, prompt))
    models.tell_style(words, shown)
    if pack_only:
        log.info("%d rows are packed in %s", len(learnt), ", ".join(map(str, packed)))
        return out
    _check_length(learnt.ids.shape[1], size)
    torch.manual_seed(recipe.seed)
    model = Qwen3ForCausalLM(models.from_nothing(size, words))
    log.info(
        "%.1f M parameters, vocabulary %d; %d documents in %d rows of %d, %.0f %% filled",
        *(model.num_parameters() / 1e6, len(words), learnt.documents, *learnt.ids.shape, 100 * learnt.filled),
    )
    outcome = loop.fit(model, learnt, validation, recipe, device, out / "checkpoint.pt")
    torch.nn.Module.to(model, "cpu", torch.bfloat16)
    if ranks.is_first():
        _whole(done, lambda folder: models.save(model, words, folder))
        loop.write_outcome(outcome, out / "outcome.json")
        (out / "checkpoint.pt").unlink(missing_ok=True)
    return done


def _check_length(length: int, size: models.Size) -> None:
    if length > size.positions:
        raise UserError(f"rows of {length} tokens are longer than the model's {size.positions} positions")


def _packed(
    data: Sequence[Path],
    out: Path,
    seed: int,
    length: int,
    vocabulary: int,
    tokenizer: Path | None,
    copies: int,
    prompt: Prompt,
) -> tuple[PreTrainedTokenizerFast, packing.Packed, dict[int, packing.Packed]]:
    """The tokenizer, and the rows of training and of validation."""
    if not data:
        raise UserError("there is nothing to learn from: give --data, or --pairs to make some")
    documents: Mapping[str, Sequence[rows.Document]] = rows.read(data, "traced" if prompt == "traced" else "prompt")
    width = max(1, cores() // ranks.count())
    if prompt == "canonical":
        prepare.check_canonical(documents["train"])
    elif prompt == "plain":
        documents = {split: prepare.plainly(some, width) for split, some in documents.items()}
    words = ranks.first(lambda: _tokenizer(out / "tokenizer", tokenizer, documents["train"], vocabulary, seed))
    ranks.first(lambda: _keep(words, out / "tokenizer"))
    packed = prepare.prepare(words, documents["train"], length, copies, seed, width, prompt == "canonical")
    levels: defaultdict[int, list[rows.Document]] = defaultdict(list)
    for one in documents["validation"]:
        levels[one.level].append(one)
    validation = {level: packing.pack(words, some[:VALIDATED], length) for level, some in levels.items()}
    return words, packed, {level: some for level, some in validation.items() if len(some)}


def _tokenizer(
    path: Path, given: Path | None, documents: Sequence[rows.Document], vocabulary: int, seed: int
) -> PreTrainedTokenizerFast:
    """The tokenizer of an earlier start, which is in `path`, the given one, or a new one."""
    if path.exists():
        return AutoTokenizer.from_pretrained(path, local_files_only=True)
    if given is not None:
        return AutoTokenizer.from_pretrained(given, local_files_only=True)
    if not documents:
        raise UserError("rows that are packed already need the tokenizer that they were packed with: give --tokenizer")
    sample = random.Random(seed).sample(list(documents), min(len(documents), SAMPLE))
    return bpe.train([text for one in sample for text in (one.prompt, one.completion)], vocabulary)


def _keep(words: PreTrainedTokenizerFast, path: Path) -> None:
    """Save a tokenizer where none is."""
    if not path.exists():
        _whole(path, words.save_pretrained)


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let a folder appear with all its files or not at all."""
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    write(partial)
    partial.rename(path)


def main(
    out: Annotated[Path, typer.Option(help="Folder for the model, its checkpoint and figures.")],
    data: Annotated[
        list[Path] | None, typer.Option(help="Folder or file that `data build` wrote; may be given again.")
    ] = None,
    pairs: Annotated[int, typer.Option(help="Verified pairs to make first, in OUT/data, as `data build` does.")] = 0,
    source: Annotated[str, typer.Option(help="SPEC of the tasks that those are made of.")] = "graphs",
    size: Annotated[str, typer.Option(help=", ".join(models.SIZES))] = "base",
    minutes: Annotated[float, typer.Option(help="Time for training, compiling not counted.")] = 7.0,
    length: Annotated[int, typer.Option(help="Tokens a row; longer documents are left out.")] = 2048,
    batch: Annotated[int, typer.Option(help="Rows a step.")] = 64,
    lr: float = 2e-3,
    optimizer: Kind = "adamw",
    schedule: Schedule = "wsd",
    prompt_weight: Annotated[float, typer.Option(help="What a prompt's token counts; a completion's counts 1.")] = 0.0,
    vocabulary: Annotated[int, typer.Option(help="Size of a new tokenizer at most.")] = 4096,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of a tokenizer to take instead.")] = None,
    copies: Annotated[int, typer.Option(help="Copies of each row under other names, to learn from too.")] = 8,
    prompt: Annotated[
        Prompt,
        typer.Option(help="How tasks are shown; `canonical` needs --canonical data, `traced` what `data draft` keeps."),
    ] = "plain",
    packed: Annotated[
        list[Path] | None, typer.Option(help="File to keep packed rows in, or to take them from; several to take from.")
    ] = None,
    pack_only: Annotated[bool, typer.Option("--pack-only", help="Pack the rows and train nothing.")] = False,
    save_minutes: Annotated[float, typer.Option(help="Minutes between two checkpoints.")] = 2.0,
    tasks: Annotated[
        str, typer.Option("--check", help="What to judge afterwards: so many held-out tasks of the data, or a SPEC.")
    ] = "",
    samples: Annotated[int, typer.Option(help="Completions of each, at temperature 0.8; 1: greedy.")] = 1,
    seed: int = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
) -> None:
    """Train a model from nothing and leave it in OUT/model."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    trainer.quiet()
    ranks.join()
    if not ranks.is_first():
        for name in ("tritonsmith", __name__):
            logging.getLogger(name).setLevel(logging.WARNING)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    if size not in models.SIZES:
        raise UserError(f"--size is one of {', '.join(models.SIZES)}, not {size}")
    recipe = loop.Recipe(
        minutes=minutes,
        batch=batch,
        lr=lr,
        optimizer=optimizer,
        schedule=schedule,
        prompt_weight=prompt_weight,
        seed=seed,
        save_minutes=save_minutes,
    )
    folders = list(data or [])
    if pairs:
        ranks.first(lambda: build(out / "data", pairs, tasks=source, seed=seed) and None)
        folders.append(out / "data")
    if tasks and packed and not folders:
        raise UserError("--check leaves out what was learnt, which packed rows do not tell: give --data, too")
    if pack_only and not packed:
        raise UserError("--pack-only needs a file to pack into: give --packed")
    model = train(
        folders,
        out,
        models.SIZES[size],
        recipe,
        length,
        vocabulary,
        tokenizer,
        device,
        copies,
        prompt,
        packed or (),
        pack_only,
    )
    ranks.part()
    if pack_only or not ranks.is_first():
        return
    if tasks.isdigit():
        families = {task.id: (task, family) for task, family in rows.heldout(folders, int(tasks))}
        left = unseen([task for task, _ in families.values()], rows.forms(folders))
        check(model, left, samples, out, {task.id: families[task.id][1] for task in left})
    elif tasks:
        check(model, unseen(load_spec(tasks), rows.forms(folders)), samples, out)


def unseen(tasks: Sequence[Task], learnt: Container[str]) -> list[Task]:
    """The tasks that compute what no training row does, whatever graph it was drawn as."""
    left = [task for task, form in zip(tasks, survey.forms(tasks), strict=True) if form not in learnt]
    if len(left) < len(tasks):
        log.info("%d of %d tasks compute what was learnt and are left out", len(tasks) - len(left), len(tasks))
    return left


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        sys.exit(f"error: {error}")
