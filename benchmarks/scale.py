"""A model of Qwen2.5-Coder-7B's shape in training on one GPU and on several: memory, tokens a second, FLOP/s.

    python benchmarks/scale.py --gpus 1 --gpus 4 [--out runs/scale] [--kind fsdp2 --kind ddp] [--disk] [--size tiny]

Each line of the table is a run of its own of the project's SFT (LoRA, r 16, on a bfloat16 base, and on an 8-bit one
where bitsandbytes is installed) or GRPO, started as a user would. The weights are random and, if not `--disk`, made on
each GPU; with `--disk` they are written once and read as any model's are. Nothing is fetched: the tokenizer is nano's,
and the model's vocabulary larger. GRPO's completions end where they may be no longer, and all have the reward 0: what
is computed is the same. Judging costs nothing here: `benchmarks/rl.py` has it. Work grows with the number of GPUs, so
perfect scaling would give the same seconds a step. Peaks of memory are those of training, loading left out.

What is counted, for a token: 2 N of a forward, N being the weights of all linear layers and the output layer, without
the embedding; as much again for the gradients of activations. Gradients of frozen weights are not computed and not
counted, those of the adapters (2 N_lora, and 4 N_lora for their forward and their activations) are: 4 N + 6 N_lora,
not 6 N. Attention: 2 L s d for the two products of L layers over s tokens, half of it masked, d = heads x size; twice
as much for their gradients. Activations that are computed a second time to save memory are work of the machine, not of
the model, and not counted. GRPO: a forward of each task's prompt and of each token drawn, one of all for the reference,
and the update as above. The share is of 790 TFLOP/s a GPU: measured, dense bfloat16, one H200.

Writes `scale.json` and `scale.md` to the folder; a line that is in `scale.json` is not run again.
"""

import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import torch
import transformers
import typer
from transformers import (
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen2Config,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from tritonsmith import config as configuration
from tritonsmith import jsonl
from tritonsmith.config import Config, ModelConfig
from tritonsmith.data.rows import Row
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import grpo, models, ranks, sft, trainer
from tritonsmith.types import Candidate, Task, Verdict

ROOT = Path(__file__).resolve().parents[1]
PEAK = 790e12
"""FLOP/s that a large bfloat16 product reaches on one H200: measured."""
WARM = 2
"""Steps before the measured ones."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

SIZES: dict[str, dict[str, int]] = {
    "7b": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
    },
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 4096,
    },
}
"""`7b`: config.json of Qwen/Qwen2.5-Coder-7B-Instruct; `tiny`: for a try on the CPU."""

LENGTHS = {"7b": (1024, 4, 768, 256, 16), "tiny": (128, 2, 512, 8, 16)}
"""Tokens of an SFT row, rows a step and GPU; tokens of a prompt at most, of a completion, completions a step and GPU
(a multiple of 16)."""


def shape(size: str) -> Qwen2Config:
    """The model's configuration."""
    return Qwen2Config(
        **SIZES[size],
        max_position_embeddings=32768,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
        use_sliding_window=False,
    )


def made(config: ModelConfig, spread: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """In place of `models.load`: the model with random weights, made where it is needed, and nano's tokenizer."""
    _, tokenizer = models_load(ModelConfig(id="nano"))
    own = shape(config.id)
    own.eos_token_id, own.pad_token_id, own.bos_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id, None
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(own, dtype=getattr(torch, config.dtype))
    return model, tokenizer


models_load = models.load


# -- what is counted


def linear_weights(config: Qwen2Config) -> int:
    """N: weights of the linear layers and of the output layer."""
    d, size = config.hidden_size, config.hidden_size // config.num_attention_heads
    attention = 2 * d * d + 2 * d * config.num_key_value_heads * size
    layers = config.num_hidden_layers * (attention + 3 * d * config.intermediate_size)
    return layers + d * config.vocab_size


def adapter_weights(config: Qwen2Config, r: int) -> int:
    """N_lora: weights of adapters on every linear layer but the output's."""
    d, size = config.hidden_size, config.hidden_size // config.num_attention_heads
    kv, wide = config.num_key_value_heads * size, config.intermediate_size
    return config.num_hidden_layers * r * (2 * (d + d) + 2 * (d + kv) + 3 * (d + wide))


def forward_flops(config: Qwen2Config, r: int, length: int) -> float:
    """FLOP a token of a sequence of that length, on average, adapters included."""
    attention = 2 * config.num_hidden_layers * length * config.hidden_size
    return 2.0 * (linear_weights(config) + adapter_weights(config, r)) + attention


def training_flops(config: Qwen2Config, r: int, length: int) -> float:
    """FLOP a token of forward and backward with a frozen base."""
    attention = 2 * config.num_hidden_layers * length * config.hidden_size
    return 4.0 * linear_weights(config) + 6.0 * adapter_weights(config, r) + 3 * attention


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
    trainer.quiet()
    config = settings(what, model, size, gpus, steps + WARM, folder)
    length, rows, _, completion, completions = LENGTHS[size]
    if not Path(model).is_dir():
        models.load = made
    watch, own = Steps(), shape(size)
    before = trainer.prepare

    def prepare(learner: transformers.Trainer, *rest: object) -> None:
        before(learner, *rest)
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
    gpus: Annotated[list[int] | None, typer.Option(help="numbers of GPUs to run on; 1 where not given")] = None,
    out: Annotated[Path, typer.Option(help="folder for scale.json, scale.md and the runs' own files")] = Path(
        "runs/scale"
    ),
    kind: Annotated[list[str] | None, typer.Option(help="fsdp2, ddp: where there are several GPUs")] = None,
    what: Annotated[list[str] | None, typer.Option(help="sft, sft-8bit, grpo")] = None,
    size: Annotated[Literal["7b", "tiny"], typer.Option(help="tiny: a try on the CPU")] = "7b",
    steps: Annotated[int, typer.Option(help="measured steps a run")] = 4,
    disk: Annotated[bool, typer.Option(help="write the weights once, and read them as any model's")] = False,
) -> None:
    """Run everything, line by line, and print the table."""
    if context.invoked_subcommand is not None:
        return
    out.mkdir(parents=True, exist_ok=True)
    path = out / "scale.json"
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    wanted = what or ["sft", "sft-8bit", "grpo"]
    if "sft-8bit" in wanted and (importlib.util.find_spec("bitsandbytes") is None or not torch.cuda.is_available()):
        typer.echo("sft-8bit: left out, bitsandbytes is not installed or there is no GPU")
        wanted.remove("sft-8bit")
    stored = out / f"model-{size}"
    if (disk or "sft-8bit" in wanted) and not (stored / "config.json").exists():
        error = launch("one", 1, ["save", size, str(stored)])
        if error:
            raise SystemExit(error)
    for number in gpus or [1]:
        for how in ["one"] if number == 1 else kind or ["fsdp2", "ddp"]:
            for task in wanted:
                if task == "sft-8bit" and how == "fsdp2":
                    continue  # FSDP does not divide 8-bit weights
                name = f"{task} {size}, {number} x {how}" + (", from disk" if disk else "")
                if name in found:
                    continue
                folder = out / name.replace(", ", "-").replace(" ", "-")
                model = str(stored) if disk or task == "sft-8bit" else size
                typer.echo(f"{name} ...")
                error = launch(how, number, ["work", task, model, size, str(number), str(steps), str(folder)])
                if error:
                    typer.echo(f"{name} failed:\n{error[-3000:]}")
                    continue
                found[name] = json.loads((folder / "figures.json").read_text())
                path.write_text(json.dumps(found, indent=1))
                (out / "scale.md").write_text(table(found))
    typer.echo(table(found))


if __name__ == "__main__":
    app()
