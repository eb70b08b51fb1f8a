"""What pretraining promises: documents kept apart, the right tokens learnt, the same course after a kill."""

import json
import math
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import spread
import torch
from conftest import tiny_model, tiny_tokenizer
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from tritonsmith.config import ModelConfig
from tritonsmith.errors import UserError
from tritonsmith.train import models
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain import __main__ as command
from tritonsmith.train.pretrain import loop, packing, prepare, rows
from tritonsmith.train.pretrain.model import block_mask, dense_mask, losses_of, weights
from tritonsmith.train.pretrain.optimizer import Optimizers, scale

TEXTS = [("x" * (3 * i % 17 + 1), "y" * (5 * i % 23 + 2)) for i in range(12)]


def document(prompt: str, completion: str, level: int = 1, graph: str = "") -> rows.Document:
    return rows.Document(rows.chat([{"role": "user", "content": prompt}]), completion, level, graph)


DOCUMENTS = [document(*text, graph=str(i)) for i, text in enumerate(TEXTS)]


def row(prompt: str, completion: str, **columns: object) -> dict[str, object]:
    said = {"role": "user", "content": prompt}
    return {"prompt": [said], "completion": [{"role": "assistant", "content": completion}], **columns}


def write(path: Path, lines: Sequence[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerFast:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def packed(words: PreTrainedTokenizerFast) -> packing.Packed:
    return packing.pack(words, DOCUMENTS, 64)


def token_losses(packed: packing.Packed) -> Tensor:
    model = tiny_model().eval()
    positions = packed.positions.long()
    with torch.no_grad():
        return losses_of(model, "cpu")(packed.ids.long(), positions, dense_mask(positions))


# -- packing


def test_packing_keeps_every_token_of_every_document(words: PreTrainedTokenizerFast, packed: packing.Packed) -> None:
    assert len(packed) < len(DOCUMENTS)
    pieces = [piece for line in packed.ids for piece in words.decode(line).replace(bpe.PAD, "").split(bpe.END) if piece]
    assert sorted(pieces) == sorted(one.prompt + one.completion for one in DOCUMENTS)


def test_tokens_are_those_of_the_chat_template(words: PreTrainedTokenizerFast) -> None:
    [(ids, kinds)] = packing.encode(words, DOCUMENTS[3:4])
    prompt, completion = TEXTS[3]
    said = [{"role": "user", "content": prompt}, {"role": "assistant", "content": completion}]
    assert ids.tolist() == words.apply_chat_template(said, return_dict=False)
    assert words.decode(ids[kinds == packing.ANSWER]) == completion + bpe.END


def test_a_conversation_of_several_turns_is_written_as_the_template_does(words: PreTrainedTokenizerFast) -> None:
    said = [{"role": r, "content": c} for r, c in (("user", "a"), ("assistant", "b"), ("user", "c"))]
    assert rows.chat(said) == words.apply_chat_template(said, tokenize=False, add_generation_prompt=True)


def test_packed_losses_are_those_of_the_documents_alone(words: PreTrainedTokenizerFast, packed: packing.Packed) -> None:
    together = token_losses(packed)
    alone: dict[tuple[int, ...], Tensor] = {}
    for one in DOCUMENTS:
        ids, _ = next(iter(packing.encode(words, [one])))
        padded = torch.nn.functional.pad(torch.tensor(ids)[None], (0, 64 - len(ids)))
        logits = tiny_model().eval()(input_ids=padded.long()).logits[0, : len(ids) - 1]
        targets = torch.tensor(ids[1:]).long()
        alone[tuple(ids)] = torch.nn.functional.cross_entropy(logits.detach(), targets, reduction="none")
    for line, losses, positions, kinds in zip(packed.ids, together, packed.positions, packed.kinds, strict=True):
        starts = [i for i in range(64) if positions[i] == 0 and (i + 1 < 64 and positions[i + 1] == 1)]
        for start in starts:
            size = 1 + int((kinds[start + 1 :] > 0).long().cumprod(0).sum())
            mine = losses[start : start + size - 1]
            assert torch.allclose(mine, alone[tuple(line[start : start + size].tolist())], atol=1e-5)


def test_no_document_sees_another(packed: packing.Packed) -> None:
    before = token_losses(packed)
    second = int((packed.positions[0] == 0).nonzero()[1])
    changed = packed.ids.clone()
    changed[0, :second] = 7
    after = token_losses(packing.Packed(changed, packed.positions, packed.kinds))
    assert torch.equal(before[0, second:], after[0, second:])
    assert not torch.equal(before[0, : second - 1], after[0, : second - 1])


def test_flex_attention_has_the_same_mask_and_values(packed: packing.Packed) -> None:
    positions = packed.positions.long()
    model = tiny_model().eval()
    expected = token_losses(packed)
    model.set_attn_implementation("flex_attention")
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        mask = block_mask(positions)
        logits = model(input_ids=packed.ids.long(), position_ids=positions, attention_mask=mask).logits[:, :-1]
    targets = packed.ids[:, 1:].long()
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    assert torch.allclose(losses.view_as(expected), expected, atol=1e-4)


def test_only_completions_count_unless_prompts_are_asked_for(packed: packing.Packed) -> None:
    counts = weights(packed.kinds, 0.0)
    assert counts.sum() == sum(len(completion) + 1 for _, completion in TEXTS)
    more = weights(packed.kinds, 0.25)
    assert more.sum() == counts.sum() + 0.25 * sum(len(prompt) + 1 for prompt, _ in TEXTS)
    assert (more[packed.positions[:, 1:] == 0] == 0).all()


def test_longer_documents_are_left_out(words: PreTrainedTokenizerFast) -> None:
    few = packing.pack(words, [*DOCUMENTS, document("z" * 99, "w")], 64)
    assert words.encode("z")[0] not in few.ids
    assert packing.pack(words, DOCUMENTS, 2).ids.shape == (0, 2)
    with pytest.raises(UserError, match="no document is as short"):
        prepare.prepare(words, DOCUMENTS, 2, 0, 0, 1)


def test_a_part_of_long_documents_alone_ends_nothing(
    words: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "PART", 1)
    long = document("z" * 99, "w")
    packed = prepare.prepare(words, [DOCUMENTS[0], long, DOCUMENTS[1]], 64, 0, 0, 1)
    assert packed.documents == 2


# -- tokens


@pytest.fixture(scope="module")
def learnt() -> PreTrainedTokenizerFast:
    lines = [f"    v{i % 5} = tl.exp(v{i % 3}) * 1024\n    y = v{i % 5} + 0.5" for i in range(200)]
    return bpe.train(["\nimport triton.language as tl\n\n\n@triton.jit", *lines] * 20, 600)


def pieces(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    return [tokenizer.decode([one]) for one in tokenizer(text).input_ids]


def test_a_numbered_name_is_a_piece_of_its_own(learnt: PreTrainedTokenizerFast) -> None:
    assert pieces(learnt, "\n    v1 = tl.exp(v2) * 1024") == ["\n    ", "v1", " = tl.exp(", "v2", ") * 1024"]
    assert pieces(learnt, "\n    v9 = tl.exp(v8) * 1024") == ["\n    ", "v", "9", " = tl.exp(", "v", "8", ") * 1024"]


def test_numbers_of_the_language_are_one_piece_and_others_digits(learnt: PreTrainedTokenizerFast) -> None:
    assert pieces(learnt, " + 0.5")[-1].endswith("0.5")
    assert pieces(learnt, "0.35") == ["0", ".", "3", "5"]
    assert pieces(learnt, "1025") == ["1", "0", "2", "5"]


def test_nano_is_at_most_12_mib() -> None:
    with torch.device("meta"):
        config = models.from_nothing(models.SIZES["nano"], tiny_tokenizer())
        config.vocab_size = 4096
        assert 2 * Qwen3ForCausalLM(config).num_parameters() + 10_000 <= 12 * 2**20


def test_base_has_25_to_130_million_parameters() -> None:
    for name in ("base", "base-60m", "base-130m"):
        with torch.device("meta"):
            config = models.from_nothing(models.SIZES[name], tiny_tokenizer())
            config.vocab_size = 4096
            assert 25e6 <= Qwen3ForCausalLM(config).num_parameters() <= 130e6


# -- reading


def test_reads_parquet_and_jsonl_by_split_and_never_what_is_held_out(tmp_path: Path) -> None:
    lines = [row("a", "1", split="train", level=2, graph="g"), row("b", "2", split="heldout", level=1, graph="h")]
    parquet.write_table(pa.Table.from_pylist(lines), tmp_path / "train-00000.parquet")
    write(tmp_path / "validation" / "part.jsonl", [row("c", "3", level=1, graph="i")])
    write(tmp_path / "heldout.jsonl", [row("d", "4")])
    write(tmp_path / "contrastive.jsonl", [row("e", "5")])
    found = rows.read([tmp_path])
    assert [(one.completion, one.level, one.graph) for one in found["train"]] == [("1", 2, "g")]
    assert [one.completion for one in found["validation"]] == ["3"]


def test_rows_without_splits_are_divided_by_graph(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.jsonl", [row(f"{i}", "x", graph=f"{i // 2}") for i in range(400)])
    found = rows.read([file])
    sides = {split: {one.graph for one in some} for split, some in found.items()}
    assert 0 < len(sides["validation"]) < 20
    assert not sides["train"] & sides["validation"]


def test_held_out_tasks_come_once_a_graph(tmp_path: Path) -> None:
    lines = [row("a", "1", split="heldout", graph=f"g{i // 2}", task=f"t{i}", module="m", family="f") for i in range(6)]
    parquet.write_table(pa.Table.from_pylist(lines), tmp_path / "heldout-00000.parquet")
    write(tmp_path / "train.jsonl", [row("b", "2", split="train", graph="h", task="t9", module="m")])
    found = rows.heldout([tmp_path], 5)
    assert sorted((task.id, task.graph, family) for task, family in found) == [
        ("t0", "g0", "f"), ("t2", "g1", "f"), ("t4", "g2", "f"),
    ]  # fmt: skip
    assert rows.heldout([tmp_path], 2) == found[:2]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no training rows"),
        ([{"prompt": "text", "completion": []}], "row 0: prompt and completion are lists"),
        ([row("a", "1", split="test")], "a split is one of"),
        ([row("a", "1", split="train", graph="g"), row("b", "2", split="validation", graph="g")], "both in train"),
    ],
)
def test_rows_that_are_wrong_are_one_line(tmp_path: Path, lines: list[dict[str, object]], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        rows.read([write(tmp_path / "train.jsonl", lines)])
    assert "\n" not in str(caught.value)


# -- training


def test_muon_takes_the_matrices_and_adamw_the_rest() -> None:
    model = tiny_model()
    parts = Optimizers(model, "muon", 1e-3, half=False).parts
    held = [{id(p) for group in part.param_groups for p in group["params"]} for part in parts]
    assert held[0] == {id(p) for layer in model.model.layers for p in layer.parameters() if p.dim() == 2}
    assert held[0] | held[1] == {id(p) for p in model.parameters()} and not held[0] & held[1]


def test_a_model_in_halves_is_stepped_in_float32() -> None:
    """Steps too small for bfloat16 add up, and a weight without a gradient stays as it is."""
    model = tiny_model()
    optimizers = Optimizers(model, "adamw", 1e-5, half=True)
    before = [master.detach().clone() for master in optimizers.masters]
    for _ in range(3):
        for weight in optimizers.weights[1:]:
            weight.grad = torch.ones_like(weight)
        optimizers.step(1.0)
    moved = [(old - new).abs().max().item() for old, new in zip(before, optimizers.masters, strict=True)]
    assert moved[0] == 0 and all(1e-5 < one < 1e-4 for one in moved[1:])
    assert all(weight.dtype == torch.bfloat16 and weight.grad is None for weight in optimizers.weights)
    pairs = zip(optimizers.weights, optimizers.masters, strict=True)
    assert all(torch.equal(weight, master.to(torch.bfloat16)) for weight, master in pairs)


def test_learning_rate_warms_up_and_comes_down() -> None:
    assert scale("wsd", 10, 0.0) == pytest.approx(0.1)
    assert scale("wsd", 1000, 0.5) == scale("cosine", 1000, 0.0) == 1.0
    assert scale("wsd", 1000, 1.0) == scale("cosine", 1000, 1.0) == pytest.approx(0.02)


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    """They share each step's rows, and the mean is over the tokens of both."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", here / "spread.py"]
    subprocess.run([*command, tmp_path / "two.pt"], check=True, timeout=300)
    spread.train(tmp_path / "one.pt")
    found = [torch.load(tmp_path / name) for name in ("one.pt", "two.pt")]
    # Of another number of rows the compiled step is another one: 40 s of a GPU.
    assert [each["widths"] for each in found] == [[4], [2]]
    assert found[0]["loss"] == pytest.approx(found[1]["loss"], abs=1e-4)
    one, two = (each["weights"] for each in found)
    fresh = tiny_model().state_dict()
    assert any((one[name] - fresh[name]).abs().max() > 1e-3 for name in one)
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=0, atol=1e-4)  # sums in another order, then Muon


def course(packed: packing.Packed, recipe: loop.Recipe, half: bool, steps: int) -> list[float]:
    """Losses of the same completions before, half way and after."""
    run = loop._Run(tiny_model(), packed, recipe, "cpu", half)
    losses = [run.validate({1: packed})[1].token]
    for step, _ in enumerate(run.steps(), start=1):
        if step in (steps // 2, steps):
            losses.append(run.validate({1: packed})[1].token)
        if step == steps:
            return losses
    return losses


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_training_lowers_the_loss(packed: packing.Packed, kind: loop.Kind) -> None:
    before, halfway, after = course(packed, loop.Recipe(batch=4, lr=1e-2, optimizer=kind), False, 60)
    assert after < halfway < before - 0.3


def test_training_in_bfloat16_keeps_float32_weights_and_goes_the_same_way(packed: packing.Packed) -> None:
    recipe = loop.Recipe(batch=4, lr=1e-3)
    half, whole = course(packed, recipe, True, 60), course(packed, recipe, False, 60)
    assert half == pytest.approx(whole, rel=0.02)
    model = tiny_model()
    outcome = loop.fit(model, packed, {1: packed}, loop.Recipe(minutes=0.002, batch=4), "cpu", half=True)
    assert outcome.steps > 0 and {weight.dtype for weight in model.parameters()} == {torch.float32}
    weight = model.lm_head.weight.detach()
    assert not torch.equal(weight, weight.bfloat16().float())


def test_resuming_goes_on_with_the_same_steps(packed: packing.Packed, tmp_path: Path) -> None:
    recipe = loop.Recipe(minutes=60, batch=2)

    def run(steps: int, path: Path | None = None) -> loop._Run:
        one = loop._Run(tiny_model(), packed, recipe, "cpu", False)
        if path is not None:
            one.restore(path)
        for _, _ in zip(range(steps), one.steps(), strict=False):
            pass
        return one

    whole = run(9)
    run(5).save(tmp_path / "checkpoint.pt")
    rest = run(4, tmp_path / "checkpoint.pt")
    assert rest.progress.step == 9
    for a, b in zip(whole.model.parameters(), rest.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_checkpoint_of_other_data_is_refused(
    words: PreTrainedTokenizerFast, packed: packing.Packed, tmp_path: Path
) -> None:
    loop._Run(tiny_model(), packed, loop.Recipe(batch=2), "cpu", False).save(tmp_path / "checkpoint.pt")
    other = packing.pack(words, DOCUMENTS[:5], 64)
    with pytest.raises(UserError, match=r"another training \(rows\)"):
        loop._Run(tiny_model(), other, loop.Recipe(batch=2), "cpu", False).restore(tmp_path / "checkpoint.pt")


def test_a_loss_that_is_no_number_is_one_line_and_never_saved(packed: packing.Packed, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    model = tiny_model()
    with torch.no_grad():
        next(iter(model.parameters())).fill_(math.nan)  # whatever led there: one step is enough to see it
    with pytest.raises(UserError, match=r"the loss is nan"):
        loop.fit(model, packed, {}, loop.Recipe(minutes=0.01, batch=4), "cpu", path)
    assert not path.exists()


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow beyond some kilobytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_line_and_the_last_checkpoint_stays(packed: packing.Packed, tmp_path: Path) -> None:
    run = loop._Run(tiny_model(), packed, loop.Recipe(batch=2), "cpu", False)
    path = tmp_path / "checkpoint.pt"
    run.save(path)
    before = path.read_bytes()
    with full_disk(), pytest.raises(UserError, match="no room for a checkpoint"):
        run.save(path)
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == before


def test_the_command_leaves_a_model_and_no_checkpoint(tmp_path: Path) -> None:
    data = write(tmp_path / "train.jsonl", [row(f"{i}", "x" * (i % 5 + 1), graph=f"{i}") for i in range(200)])
    size = models.Size(hidden=32, intermediate=64, layers=1, heads=2, positions=256)
    recipe = loop.Recipe(minutes=0.01, batch=2)
    partial = tmp_path / "out" / "checkpoint.pt.partial"
    partial.parent.mkdir()
    partial.write_bytes(b"torn")
    folder = command.train([data], tmp_path / "out", size, recipe, length=128, vocabulary=300)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "outcome.json", "tokenizer"]
    model, tokenizer = models.load(ModelConfig(id=str(folder)))
    assert tokenizer.chat_template == bpe.CHAT_TEMPLATE
    assert models.prompt_style(ModelConfig(id=str(folder))) == "plain"
    assert model.config.vocab_size >= len(tokenizer)
    assert json.loads((tmp_path / "out" / "outcome.json").read_text())["steps"] > 0
    assert command.train([data], tmp_path / "out", size, recipe) == folder
