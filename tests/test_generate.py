"""What the sampler promises: order, ends, positions, seeds, and that shrinking batches change nothing."""

import pytest
import torch
from conftest import tiny_model, tiny_tokenizer

from tritonsmith.train.generate import Sampler


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def sampler(positions: int = 1024) -> Sampler:
    return Sampler(tiny_model(positions), tiny_tokenizer(), "bare")


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
    s = sampler()
    prompts = ["x" * k for k in (1, 7, 30, 31)]
    alone = []
    for prompt in prompts:
        ids = torch.tensor([s.tokenizer.apply_chat_template(chat(prompt), add_generation_prompt=True)["input_ids"]])
        out = s.model.generate(input_ids=ids, do_sample=False, max_new_tokens=80, eos_token_id=s.eos, pad_token_id=0)
        alone.append(s._text(out[0, ids.shape[1] :].tolist()))
    together = s.sample([chat(p) for p in prompts], n=2, temperature=0.0, max_new_tokens=80, batch=5)
    assert together == [[text, text] for text in alone]


def test_static_decoding_gives_what_shrinking_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    s = sampler()
    prompts = [chat("x" * k) for k in (1, 7, 30, 300)]
    shrinking = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=40, batch=3)
    monkeypatch.setattr(s, "_decode_shrinking", s._decode_static)
    assert s.sample(prompts, n=2, temperature=0.0, max_new_tokens=40, batch=3) == shrinking


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_static_decoding_compiled_on_a_gpu_gives_as_many_in_order() -> None:
    s = sampler()
    s.model.to("cuda")
    prompts = [chat("x" * k) for k in (1, 7, 30, 300)]
    # Both completions of a prompt in one batch: in batches of other widths rounding may break a tie otherwise.
    texts = s.sample(prompts, n=2, temperature=0.0, max_new_tokens=520, batch=2)
    assert [len(row) for row in texts] == [2] * 4 and all(row[0] == row[1] for row in texts)
    # Greedily, random weights may give nothing but special tokens; drawn texts are never empty.
    drawn = s.sample(prompts, n=2, temperature=1.0, max_new_tokens=520, batch=3)
    assert all(text for row in drawn for text in row)


def test_rows_that_end_early_leave_and_the_others_go_on() -> None:
    s = sampler()
    s.eos = list(range(1, 40))  # a random model ends soon when a tenth of its tokens end it
    lengths: list[int] = []
    texts = s.sample([chat("ab")], n=40, temperature=1.5, max_new_tokens=120, batch=40)
    lengths = [len(text) for text in texts[0]]
    assert min(lengths) < 10 < max(lengths)


def test_same_seed_same_draws_other_seed_others() -> None:
    s = sampler()
    first, again, other = (s.sample([chat("ab")], n=2, max_new_tokens=20, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_leaves_the_global_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    sampler().sample([chat("ab")], n=1, max_new_tokens=4)
    assert torch.equal(before, torch.random.get_rng_state())


def test_prompt_beyond_the_models_positions_gets_empty_completions() -> None:
    texts = sampler(positions=64).sample([chat("a" * 100), chat("b"), chat("c" * 55)], n=1, max_new_tokens=100)
    assert texts[0] == [""]
    assert len(texts[1][0]) > 0
    assert texts[2][0] != ""
