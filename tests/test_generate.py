"""What the sampler promises: order, ends, positions, seeds, and that shrinking batches change nothing."""

import pytest
import torch
from conftest import tiny_model, tiny_tokenizer
from peft import LoraConfig, get_peft_model

from tritonsmith.config import Config, ModelConfig
from tritonsmith.train.generate import Sampler
from tritonsmith.train.policy import Drawer
from tritonsmith.train.slots import STRETCH, Draw, Row, Slots, fits


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def sampler(positions: int = 1024) -> Sampler:
    return Sampler(tiny_model(positions), tiny_tokenizer(), "bare")


def lively(positions: int = 1024) -> Sampler:
    """Large weights: greedily it writes many tokens and ends at many lengths, where the tiny model repeats one."""
    s = sampler(positions)
    with torch.no_grad():
        for name, weight in s.model.named_parameters():
            if weight.dim() == 2 and "embed" not in name:
                weight.mul_(40)
    s.eos = list(range(1, 40))
    return s


def test_gives_n_completions_of_each_prompt_in_order() -> None:
    seen: list[tuple[int, int]] = []
    texts = sampler().sample(
        [chat("a"), chat("bcd" * 20), chat("ef")],
        n=3,
        max_new_tokens=5,
        batch=2,
        on_batch=lambda draws: seen.extend(draw[:2] for draw in draws),
    )
    assert [len(row) for row in texts] == [3, 3, 3]
    assert sorted(seen) == [(p, s) for p in range(3) for s in range(3)]


def test_greedy_equals_plain_generate_whatever_the_batch() -> None:
    s = lively()
    prompts = ["x" * k for k in (1, 7, 30, 31)]
    alone = []
    for prompt in prompts:
        ids = torch.tensor([s.tokenizer.apply_chat_template(chat(prompt), add_generation_prompt=True)["input_ids"]])
        out = s.model.generate(input_ids=ids, do_sample=False, max_new_tokens=80, eos_token_id=s.eos, pad_token_id=0)
        alone.append(s._text(out[0, ids.shape[1] :].tolist()))
    together = s.sample([chat(p) for p in prompts], n=2, temperature=0.0, max_new_tokens=80, batch=5)
    assert together == [[text, text] for text in alone]


def test_slots_give_what_shrinking_batches_give(monkeypatch: pytest.MonkeyPatch) -> None:
    s = lively()
    prompts = [chat("x" * k) for k in (1, 7, 30, 300, 8, 31, 2)]
    shrinking = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=3)
    assert len({len(row[0]) for row in shrinking}) > 4  # they end at different times, and others take their slots
    monkeypatch.setattr(s, "_has_slots", lambda: True)
    assert s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=3) == shrinking
    assert s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=32) == shrinking


def test_slots_respect_positions_and_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    s = lively(positions=64)
    prompts = [chat("a" * 100), chat("b"), chat("c" * 55)]
    one_by_one = s.sample(prompts, n=1, temperature=0.0, max_new_tokens=45, batch=1)
    monkeypatch.setattr(s, "_has_slots", lambda: True)
    assert s.sample(prompts, n=1, temperature=0.0, max_new_tokens=45) == one_by_one


@pytest.mark.parametrize("in_slots", [False, True])
def test_an_answer_that_was_begun_is_gone_on_with_and_given_whole(
    monkeypatch: pytest.MonkeyPatch, in_slots: bool
) -> None:
    s = Drawer(Config(model=ModelConfig(id="nano"))).own(None)
    monkeypatch.setattr(s, "_has_slots", lambda: in_slots)
    chats = [chat(f"import torch\n\n\ndef forward(x):\n    return torch.{name}(x)") for name in ("relu", "exp")]
    whole = s.sample(chats, n=1, temperature=0.0, max_new_tokens=70)
    assert all(text.count("\n") > 3 for (text,) in whole)
    begun = [
        [*one, {"role": "assistant", "content": text[: text.index("\n", cut) + 1]}]
        for one, (text,), cut in zip(chats, whole, (0, 60), strict=True)
    ]
    assert s.sample(begun, n=1, temperature=0.0, max_new_tokens=70) == whole
    assert s.sample(begun, n=1, temperature=0.0, max_new_tokens=4)[1] == [begun[1][1]["content"].rstrip("\n")]


def test_slots_decode_with_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    model = get_peft_model(
        tiny_model(), LoraConfig(r=8, lora_alpha=512, target_modules=["o_proj"], init_lora_weights=False)
    )
    s = Sampler(model, tiny_tokenizer(), "bare")
    prompts = s._encode([chat("abc")])

    def drawn(which: Sampler) -> list[list[int]]:
        return which.complete(prompts, temperature=0.0, max_new_tokens=40)

    plain, batches = drawn(sampler()), drawn(s)
    monkeypatch.setattr(s, "_has_slots", lambda: True)
    assert drawn(s) == batches != plain
    held = s._slots
    assert held is not None and fits(s.model) and held.serves(64, held.length)
    with model.disable_adapter():
        assert not held.serves(64, held.length)
        assert drawn(s) == plain


@pytest.mark.parametrize("in_slots", [False, True])
def test_completing_tokens_is_what_sampling_text_does(monkeypatch: pytest.MonkeyPatch, in_slots: bool) -> None:
    s = lively()
    monkeypatch.setattr(s, "_has_slots", lambda: in_slots)
    chats = [chat("x" * k) for k in (1, 7, 7, 30)]
    texts = s.sample(chats, n=1, temperature=0.0, max_new_tokens=40, batch=3)
    drawn = s.complete(s._encode(chats), temperature=0.0, max_new_tokens=40, batch=3)
    assert [[s._text(ids)] for ids in drawn] == texts
    assert all(ids[-1] in s.eos or len(ids) == 40 for ids in drawn)
    assert not any(token in s.eos for ids in drawn for token in ids[:-1])


def test_slots_draw_from_the_models_distribution() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0]])
    drawn = Draw(0.5)(logits.expand(20_000, -1), torch.rand(20_000))
    share = torch.bincount(drawn, minlength=4) / 20_000
    assert torch.allclose(share, (logits[0] / 0.5).softmax(0), atol=0.02)
    assert set(Draw(0.5, top_p=0.5)(logits.expand(1000, -1), torch.rand(1000)).tolist()) == {2}
    assert Draw(0.0)(logits, torch.rand(1)).tolist() == [2]


def test_the_ends_of_luck_draw_tokens_that_can_be_drawn() -> None:
    logits = torch.full((3, 1000), -torch.inf)
    logits[:, 10:990] = torch.randn(980)
    drawn = Draw(1.0)(logits, torch.tensor([0.0, 0.5, 1 - 2**-24]))
    assert drawn[0] == 10 and 10 <= drawn[1] < drawn[2] < 990


@pytest.mark.parametrize("in_slots", [False, True])
def test_parts_draw_what_the_whole_draws(monkeypatch: pytest.MonkeyPatch, in_slots: bool) -> None:
    s = lively()
    monkeypatch.setattr(s, "_has_slots", lambda: in_slots)
    chats = [chat("x" * k) for k in (1, 7, 30)]
    drawing = {"n": 3, "temperature": 1.0, "max_new_tokens": 80, "seed": 5}
    whole = s.sample(chats, batch=64, **drawing)
    parts = [s.sample(chats, batch=2, part=(number, 2), **drawing) for number in range(2)]
    assert [[a or b for a, b in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)] == whole
    assert not any(a and b for rows in zip(*parts, strict=True) for a, b in zip(*rows, strict=True))
    tokens = s._encode(chats)
    both = s.complete(tokens, 1.0, max_new_tokens=80, seed=5)
    assert both[1:] == s.complete(tokens[1:], 1.0, max_new_tokens=80, seed=5, numbers=[1, 2])


def test_what_is_missing_is_drawn_as_the_whole_would_have_drawn_it() -> None:
    s = lively()
    chats = [chat("x" * k) for k in (1, 7, 30)]
    drawing = {"temperature": 1.0, "max_new_tokens": 80, "seed": 5}
    whole = s.sample(chats, n=3, **drawing)
    keys = [(2, 1), (0, 0), (0, 2)]
    assert s.sample([chats[i] for i, _ in keys], n=1, keys=keys, **drawing) == [[whole[i][j]] for i, j in keys]


def test_slots_see_weights_that_changed_in_place_and_leave_when_they_moved() -> None:
    model = tiny_model()
    one = Slots(model, 4, 64)
    assert one.serves(4, 60) and not one.serves(8, 60) and not one.serves(4, 65)
    with torch.no_grad():
        model.lm_head.weight.mul_(2.0)
    assert one.serves(4, 60)
    model.lm_head.weight.data = model.lm_head.weight.data.clone()
    assert not one.serves(4, 60)


def test_slots_are_for_full_attention_only() -> None:
    model = tiny_model()
    assert fits(model)
    model.config.layer_types = ["full_attention", "sliding_attention"]
    assert not fits(model)


@pytest.mark.gpu
def test_graphs_give_what_shrinking_batches_give(monkeypatch: pytest.MonkeyPatch) -> None:
    s = lively()
    s.model.to("cuda")
    prompts = [chat("x" * k) for k in (1, 7, 30, 300, 8, 31, 2)]
    graphs = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=3)
    assert s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=3) == graphs
    monkeypatch.setattr(s, "_has_slots", lambda: False)
    shrinking = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=3)
    # Other kernels round otherwise: where two tokens are nearly as likely, texts may part.
    assert sum(a == b for a, b in zip(graphs, shrinking, strict=True)) >= 5


@pytest.mark.gpu
def test_graphs_repeat_draws_under_a_seed() -> None:
    s = sampler()
    s.model.to("cuda")
    first, again, other = (s.sample([chat("ab")] * 3, n=5, max_new_tokens=70, batch=8, seed=i) for i in (1, 1, 2))
    assert first == again != other


@pytest.mark.gpu
def test_graphs_keep_what_they_read() -> None:
    """Memory that only a captured step had used was given to others, whose numbers then stood for places."""
    s = lively()
    s.model.to("cuda")
    prompts = [chat("x" * k) for k in (1, 7, 30, 300)]
    first = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=8)
    others = [torch.full((size,), 1 << 40, device="cuda") for size in (8, 64, 256, 384, 512, 1024) for _ in range(200)]
    assert s.sample(prompts, n=2, temperature=0.0, max_new_tokens=90, batch=8) == first
    del others


def test_rows_that_end_early_leave_and_the_others_go_on() -> None:
    s = sampler()
    s.eos = list(range(1, 40))  # a random model ends soon when a tenth of its tokens end it
    lengths: list[int] = []
    texts = s.sample([chat("ab")], n=40, temperature=1.5, max_new_tokens=120, batch=40)
    lengths = [len(text) for text in texts[0]]
    assert min(lengths) < 10 < max(lengths)


def test_what_has_ended_is_told_while_the_next_stretch_is_drawn() -> None:
    s = sampler()
    box = Slots(s.model, 2, 128)
    rows = [Row(place, place, ids, (place,)) for place, ids in enumerate(s._encode([chat("ab"), chat("b")]))]
    told: list[tuple[int, list[int]]] = []
    budgets = iter([STRETCH, 3 * STRETCH])
    for row, budget in zip(rows, budgets, strict=True):
        row.ids = row.ids + [5] * (128 - budget - len(row.ids))  # positions end a row: the first a stretch in
    box.decode(rows, Draw(0.0), set(), 128, 128, lambda some: told.append((box.steps, [row.sample for row in some])))
    assert [(steps, ended) for steps, ended in told if ended] == [(2 * STRETCH, [0]), (3 * STRETCH, [1])]


def test_same_seed_same_draws_other_seed_others() -> None:
    s = sampler()
    first, again, other = (s.sample([chat("ab")], n=2, max_new_tokens=20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("in_slots", [False, True])
def test_seeding_torch_meanwhile_changes_no_draw(monkeypatch: pytest.MonkeyPatch, in_slots: bool) -> None:
    s = sampler()
    s.eos = list(range(1, 40))
    monkeypatch.setattr(s, "_has_slots", lambda: in_slots)
    prompts = s._encode([chat("ab")]) * 12
    undisturbed = s.complete(prompts, temperature=1.5, max_new_tokens=80, batch=3, seed=4)
    ended: dict[int, list[int]] = {}

    def seeding(place: int, ids: list[int]) -> None:
        ended[place] = ids
        torch.manual_seed(0)

    assert s.complete(prompts, temperature=1.5, max_new_tokens=80, batch=3, seed=4, on_end=seeding) == undisturbed
    assert [ended[place] for place in range(12)] == undisturbed


def test_leaves_the_global_random_state_alone() -> None:
    s = sampler()
    before = torch.random.get_rng_state()
    s.sample([chat("ab")], n=1, max_new_tokens=4)
    assert torch.equal(before, torch.random.get_rng_state())


def test_prompt_beyond_the_models_positions_gets_empty_completions() -> None:
    texts = sampler(positions=64).sample([chat("a" * 100), chat("b"), chat("c" * 55)], n=1, max_new_tokens=100)
    assert texts[0] == [""]
    assert len(texts[1][0]) > 0
    assert texts[2][0] != ""
