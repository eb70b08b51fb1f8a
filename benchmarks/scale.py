"""A model of Qwen2.5-Coder-7B's shape in training on one GPU and on several: memory, tokens a second, FLOP/s.

    python benchmarks/scale.py --gpus 1 --gpus 4 [--out runs/scale] [--kind fsdp2 --kind ddp] [--disk] [--size tiny]

Each line of the table is a run of its own of the project's SFT (LoRA, r 16, on a bfloat16 base, and on an 8-bit one
where bitsandbytes is installed) or GRPO, started as a user would. The weights are random and, if not `--disk`, made on
each GPU; with `--disk` they are written once and read as any model's are. Nothing is fetched: the tokenizer is nano's,
and the model's vocabulary larger. GRPO's completions end where they may be no longer, and all have the reward 0: what
is computed is the same. Judging costs nothing here: `benchmarks/rl.py` has it. Work grows with the number of GPUs, so
perfect scaling would give the same seconds a step. Peaks of memory are those of training, loading left out.

What is counted as work is in `scale_counts`. Writes `scale.json` and `scale.md` to the folder; a line that is in
`scale.json` is not run again.
"""

import importlib.util
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import torch
import transformers
import typer
from commands import start
from scale_counts import LENGTHS, PEAK, forward_flops, shape, training_flops
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from tritonsmith import config as configuration
from tritonsmith import jsonl
from tritonsmith.config import Config, ModelConfig
from tritonsmith.data.rows import Row
from tritonsmith.errors import UserError
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import grpo, models, ranks, sft, trainer
from tritonsmith.types import Candidate, Task, Verdict

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[1]
WARM = 2
"""Steps before the measured ones."""


class Kind(StrEnum):
    """How weights lie on several GPUs."""

    fsdp2 = "fsdp2"
    ddp = "ddp"


class What(StrEnum):
    """What is trained."""

    sft = "sft"
    sft_8bit = "sft-8bit"
    grpo = "grpo"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


def made(config: ModelConfig, spread: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """In place of `models.load`: the model with random weights, made where it is needed, and nano's tokenizer."""
    _, tokenizer = models_load(ModelConfig(id="nano"))
    own = shape(config.id)
    own.update({"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None})
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(own, dtype=getattr(torch, config.dtype))
    return model, tokenizer


models_load = models.load


# -- one run, in each of its processes


class Steps(TrainerCallback):
    """Seconds of each step; the peak of memory counts from the first."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began = 0.0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """What loading took is past."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Start the watch."""
        self._began = _now()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Stop it."""
        self.seconds.append(_now() - self._began)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic()


class Nothing:
    """A judge that rejects everything at once."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """The verdicts."""
        verdicts = []
        for index, (task, candidate) in enumerate(jobs):
            verdicts.append(
                Verdict(task=task.id, sample=candidate.sample, device="cpu", target="", policy="strict", correct=False)
            )
            if on_verdict is not None:
                on_verdict(index, verdicts[-1])
        return verdicts


def settings(what: str, model: str, size: str, gpus: int, steps: int, folder: Path) -> Config:
    """A run's configuration."""
    length, rows, prompt, completion, completions = LENGTHS[size]
    given = [
        f"run.dir={folder}",
        f"model.id={model}",
        "model.dtype=bfloat16",
        "model.prompt_style=bare",
        f"model.load_in_8bit={str(what == 'sft-8bit').lower()}",
        f"sft.batch={rows * gpus}",
        f"sft.max_length={length}",
        "sft.save_steps=1000",
        f"grpo.steps={steps}",
        f"grpo.batch={completions * gpus // 4}",
        "grpo.accumulation=4",
        "grpo.num_generations=4",
        f"grpo.max_prompt={prompt}",
        f"grpo.max_completion={completion}",
        "grpo.save_steps=1000",
        "extensions.curriculum=false",
        'run.steps=["sft"]',
    ]
    return configuration.load(None, given)


def text_rows(tokenizer: PreTrainedTokenizerBase, length: int, count: int) -> list[Row]:
    """Rows of nearly `length` tokens."""
    prompt, line = [{"role": "user", "content": "Write it."}], "x = tl.load(p)\n"

    def row(lines: int) -> Row:
        return Row(prompt=prompt, completion=[{"role": "assistant", "content": line * lines}], task="", graph="")

    def fits(one: Row) -> bool:
        chat = [*one.prompt, *one.completion]
        return len(tokenizer.apply_chat_template(chat, tokenize=True, return_dict=False)) <= length

    lines = next(number for number in range(length, 0, -1) if fits(row(number)))
    return [row(lines)] * count


@app.command(hidden=True)
def work(what: str, model: str, size: str, gpus: int, steps: int, folder: Path) -> None:
    """Do one run, in one of its processes, and leave its figures in FOLDER/figures.json."""
    ranks.join()
    config = settings(what, model, size, gpus, steps + WARM, folder)
    length, rows, _, completion, completions = LENGTHS[size]
    if not Path(model).is_dir():
        models.load = made
    watch, own = Steps(), shape(size)
    before = trainer.prepare

    def prepare(learner: transformers.Trainer, given: Config, name: str) -> None:
        before(learner, given, name)
        learner.add_callback(watch)

    trainer.prepare = prepare
    if not ranks.is_first():
        ranks.follow()
    else:
        with ranks.leading():
            if what.startswith("sft"):
                stored = model if Path(model).is_dir() else models.NANO
                tokenizer = transformers.AutoTokenizer.from_pretrained(stored, local_files_only=True)
                data = text_rows(tokenizer, length, rows * gpus * (steps + WARM))
                sft.fit_from(config, config.sft, data, None, folder / "sft", "sft")
            else:
                tasks = load_spec(f"graphs:{max(8, completions * gpus // 4)}:seed=0:depth=1-2:families=pointwise")
                grpo.train(config, tasks, Nothing(), None)
    gib = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    peaks = ranks.gathered((gib, host))
    if not ranks.is_first():
        return
    seconds = sum(watch.seconds[WARM:]) / steps
    r = config.lora.r
    figures: dict[str, float] = {"step seconds": seconds}
    if what.startswith("sft"):
        tokens = rows * gpus * length
        flops = tokens * training_flops(own, r, length)
    else:
        parts = list(jsonl.read(folder / "grpo" / "steps.jsonl"))[WARM:]
        figures |= {
            f"{name} seconds": sum(float(str(row[name])) for row in parts) / steps for name in ("sample", "train")
        }
        tokens, asked = completions * gpus * completion, _prompt_tokens(config, folder)
        whole = asked + completion
        flops = tokens / 4 / completion * asked * forward_flops(own, r, asked)  # a prompt is read for four
        flops += tokens * forward_flops(own, r, whole + asked)  # tokens drawn see half of `completion` and all before
        flops += tokens / completion * whole * (forward_flops(own, 0, whole) + training_flops(own, r, whole))
    figures |= {
        "tokens/s": tokens / seconds,
        "TFLOP/s a GPU": flops / seconds / gpus / 1e12,
        "share of 790": flops / seconds / gpus / PEAK,
        "peak GiB a GPU": max(peak for peak, _ in peaks),
        "peak GiB of a host process": max(peak for _, peak in peaks),
    }
    (folder / "figures.json").write_text(json.dumps(figures, indent=1))


def _prompt_tokens(config: Config, folder: Path) -> int:
    """Tokens of a prompt on average, of those that were drawn for."""
    _, tokenizer = models_load(ModelConfig(id="nano"))
    drawn = {str(row["task"]) for row in jsonl.read(folder / "grpo" / "records.jsonl")}
    tasks = [task for task in load_spec("graphs:64:seed=0:depth=1-2:families=pointwise") if task.id in drawn]
    lengths = [len(tokenizer(task.source)["input_ids"]) for task in tasks]
    return sum(lengths) // max(len(lengths), 1)


@app.command(hidden=True)
def save(size: str, folder: Path) -> None:
    """Write the model to a folder."""
    model, tokenizer = made(ModelConfig(id=size, dtype="bfloat16"))
    models.save(model, tokenizer, folder)


# -- all runs


def launch(kind: str, gpus: int, arguments: list[str]) -> str | None:
    """Start one run and wait for it; what it said last if it failed."""
    own = [str(Path(__file__).resolve()), *arguments]
    command = [sys.executable, *own]
    if kind != "one":
        yaml = ROOT / "configs" / "accelerate" / f"{kind}.yaml"
        command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(yaml)]
        command += ["--num_processes", str(gpus), *own]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "4"}
    if kind == "one":
        environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = done.stderr.splitlines()
    return None if done.returncode == 0 else "\n".join([line for line in said if line.startswith("[rank0]")] or said)


COLUMNS = ("step seconds", "sample seconds", "train seconds", "tokens/s", "TFLOP/s a GPU", "share of 790")
COLUMNS += ("peak GiB a GPU", "peak GiB of a host process")


def table(found: dict[str, dict[str, float]]) -> str:
    """The lines as Markdown."""
    lines = ["| run | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, figures in found.items():
        cells = [f"{figures[column]:.3g}" if column in figures else "-" for column in COLUMNS]
        if "tokens/s" in figures:
            cells[COLUMNS.index("tokens/s")] = f"{figures['tokens/s']:.0f}"
            cells[COLUMNS.index("share of 790")] = f"{100 * figures['share of 790']:.1f} %"
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    gpus: Annotated[list[int] | None, typer.Option(min=1, help="numbers of GPUs to run on; 1 where not given")] = None,
    out: Annotated[Path, typer.Option(help="folder for scale.json, scale.md and the runs' own files")] = Path(
        "runs/scale"
    ),
    kind: Annotated[list[Kind] | None, typer.Option(help="where there are several GPUs; both where not given")] = None,
    what: Annotated[list[What] | None, typer.Option(help="all where not given")] = None,
    size: Annotated[Literal["7b", "tiny"], typer.Option(help="tiny: a try on the CPU")] = "7b",
    steps: Annotated[int, typer.Option(min=1, help="measured steps a run")] = 4,
    disk: Annotated[bool, typer.Option(help="write the weights once, and read them as any model's")] = False,
) -> None:
    """Run everything, line by line, and print the table."""
    if context.invoked_subcommand is not None:
        return
    check(gpus or [1], size)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "scale.json"
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    wanted, failed = list(what or What), 0
    if "sft-8bit" in wanted and (importlib.util.find_spec("bitsandbytes") is None or not torch.cuda.is_available()):
        log.info("sft-8bit: left out, bitsandbytes is not installed or there is no GPU")
        wanted.remove(What("sft-8bit"))
    stored = out / f"model-{size}"
    if (disk or "sft-8bit" in wanted) and not (stored / "config.json").exists():
        error = launch("one", 1, ["save", size, str(stored)])
        if error:
            raise UserError(f"the weights cannot be written to {stored}: {error.splitlines()[-1]}")
    for number in gpus or [1]:
        for how in ["one"] if number == 1 else kind or Kind:
            for task in wanted:
                if task == "sft-8bit" and how == "fsdp2":
                    continue  # FSDP does not divide 8-bit weights
                name = f"{task} {size}, {number} x {how}" + (", from disk" if disk else "")
                if name in found:
                    continue
                folder = out / name.replace(", ", "-").replace(" ", "-")
                model = str(stored) if disk or task == "sft-8bit" else size
                log.info("%s ...", name)
                shutil.rmtree(folder, ignore_errors=True)  # what was stopped left steps that would count
                error = launch(how, number, ["work", task, model, size, str(number), str(steps), str(folder)])
                if error:
                    log.error("%s failed:\n%s", name, error[-3000:])
                    failed += 1
                    continue
                found[name] = json.loads((folder / "figures.json").read_text())
                jsonl.write(path, json.dumps(found, indent=1))
                jsonl.write(out / "scale.md", table(found))
    typer.echo(table(found))
    if failed:
        raise typer.Exit(1)


def check(gpus: list[int], size: str) -> None:
    """Raise UserError for what this machine cannot run."""
    there = torch.cuda.device_count()
    if not there and size != "tiny":
        raise UserError("there is no GPU: --size tiny is a try on the CPU")
    if there and max(gpus) > there:
        raise UserError(f"--gpus {max(gpus)}, but torch sees {there}")


if __name__ == "__main__":
    start(app, training=True)
