"""Decode many completions in fixed slots, each step one CUDA graph: no shape changes, nothing waits for Python.

A slot is a row of the key/value cache with a place of its own, so rows of any length stand side by side, none is
padded, and a slot whose row has ended takes the next prompt. Every `STRETCH` steps the tokens are fetched, the ended
rows leave, and the rest closes up; when few are left, a graph for fewer slots goes on. A graph is captured for each
number of slots and bound on the length in use: some tens of milliseconds each, where compiling takes as many seconds.

transformers' own ways were tried or read first. `generate` with a static cache decodes a batch until its last row
ends, with a mask, stopping criteria and a concatenation made by Python at each step (6.8 ms of it measured on one
H200 at 1,024 rows). Continuous batching wants flash-attention's kernels and keeps each request as a Python object of
its own, which for a thousand rows of a small model is more work than the model. `benchmarks/pretrain.py` times all.

Without a GPU the same steps run one by one: for tests, `generate` is faster there. Models with other than full
attention in every layer, and quantised ones, are not for this file: see `fits`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor, nn
from transformers import AttentionInterface, Cache, DynamicCache, PreTrainedModel, TopPLogitsWarper
from transformers.cache_utils import CacheLayerMixin

STRETCH = 32
"""Steps between two looks at what has ended; a row that ends goes on unseen for half of them on average."""

PREFILL = 1 << 16
"""Tokens of prompts that are read at a time."""

REFILL = 8
"""New prompts are read once one slot in so many is free: reading costs as much as a dozen steps."""

_GROUPED = "tritonsmith_grouped"


@dataclass
class Row:
    """One completion under way."""

    prompt: int
    """Which of the prompts it answers."""
    sample: int
    """Which of that prompt's completions it is."""
    ids: list[int]
    """The prompt's tokens, at least one."""
    seed: tuple[int, ...] = ()
    """Its own: what is drawn depends neither on the rows beside it nor on the process that draws it."""
    begun: int = 0
    """How many of `ids`, at their end, are an answer's beginning already: it has so many tokens fewer to go."""
    new: list[int] = field(default_factory=list)
    """What was drawn; ends with the token that ended it, if one did."""
    _luck: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))

    def most(self, answer: int, positions: int) -> int:
        """Tokens to draw at most, of an answer of `answer` tokens in a model of so many positions."""
        return min(answer - self.begun, positions - len(self.ids))

    def luck(self, count: int) -> NDArray[np.float32]:
        """Random numbers in [0, 1) for its next `count` tokens; those of a place are always the same."""
        first, last = len(self.new), len(self.new) + count
        if len(self._luck) < last:
            self._luck = np.random.default_rng(self.seed).random(max(last, 2 * first, 16 * count), dtype=np.float32)
        return self._luck[first:last]


@dataclass(frozen=True)
class Draw:
    """How a token is chosen."""

    temperature: float
    """0: the likeliest."""
    top_p: float = 1.0

    def __call__(self, logits: Tensor, luck: Tensor) -> Tensor:
        """One token of each row of logits (N, V), by its number in `luck` (N,), which is in [0, 1)."""
        if self.temperature == 0:
            return logits.argmax(-1)
        scores = logits.float() / self.temperature
        if self.top_p < 1:
            scores = TopPLogitsWarper(self.top_p)(cast(torch.LongTensor, None), cast(torch.FloatTensor, scores))
        # The first token up to which the probabilities sum to more than luck is a draw from them, and never waits.
        sums = scores.softmax(-1).cumsum(-1)
        drawn = torch.searchsorted(sums, luck[:, None] * sums[:, -1:], right=True)[:, 0]
        return drawn.clamp(max=logits.shape[-1] - 1)


def fits(model: PreTrainedModel) -> bool:
    """Whether the model's cache is one of keys and values of every token, and its kernels can be captured."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    return kinds == {"full_attention"} and not getattr(model, "is_quantized", False)


class Slots:
    """The cache of `slots` rows of at most `length` tokens, and the graphs that decode them."""

    def __init__(self, model: PreTrainedModel, slots: int, length: int) -> None:
        self.model, self.slots, self.length = model, slots, length
        self.device = model.device
        self.token = torch.zeros(slots, dtype=torch.long, device=self.device)
        self.place = torch.zeros(slots, dtype=torch.long, device=self.device)
        """Where in its slot a row's next token stands."""
        self.out = torch.zeros(slots, STRETCH, dtype=torch.long, device=self.device)
        self.column = torch.zeros(1, dtype=torch.long, device=self.device)
        self.layers: list[tuple[Tensor, Tensor]] = []
        """Keys and values of each, (slots, heads, length, size); made when the first prompt is read."""
        self.graphs: dict[tuple[int, int, Draw], tuple[torch.cuda.CUDAGraph, Callable[[], None]]] = {}
        """With what was captured: a graph reads tensors that the step holds and nobody else would keep."""
        self.pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None
        self.luck = torch.zeros(slots, STRETCH, device=self.device)
        """The random numbers of a stretch, each row's own: judging beside this seeds torch's generator at any time."""
        self.state = _state(model)
        self.steps = 0
        """Steps of the last `decode`."""

    def serves(self, slots: int, length: int) -> bool:
        """Whether this can decode so many rows of that length with the model as it is now."""
        return self.slots == slots and self.length >= length and self.state == _state(self.model)

    @torch.inference_mode()
    def decode(
        self,
        rows: Sequence[Row],
        draw: Draw,
        ends: set[int],
        most: int,
        positions: int,
        on_end: Callable[[list[Row]], None],
    ) -> None:
        """Draw each row until a token of `ends`, until `most` tokens, or until the model's `positions` are full.

        `on_end` gets the rows that have ended after each stretch, while the GPU is at the next one: what is done with
        them there costs no time as long as it takes less than that.
        Rows that answer one prompt should be neighbours: the prompt is then read once for all of them.
        """
        self.steps = 0
        queue, alive, over = deque(rows), list[Row](), list[Row]()
        while queue or alive:
            free = self.slots - len(alive)
            if queue and (not alive or free * REFILL >= self.slots):
                fresh = [queue.popleft() for _ in range(min(free, len(queue)))]
                self._read(fresh, len(alive))
                alive += fresh
            used = self._stretch(alive, draw)
            on_end(over)
            running = []
            for row, drawn in zip(alive, self.out[:used].tolist(), strict=False):
                running.append(extend(row, drawn, ends, row.most(most, positions)))
            over = [row for row, runs in zip(alive, running, strict=True) if not runs]
            alive = self._close_up(alive, running)
        on_end(over)

    def _read(self, rows: Sequence[Row], first: int) -> None:
        """Put the rows' prompts into the slots from `first` on."""
        prompts: dict[int, list[int]] = {row.prompt: row.ids for row in rows}
        slots: dict[int, list[int]] = {prompt: [] for prompt in prompts}
        for slot, row in enumerate(rows, start=first):
            slots[row.prompt].append(slot)
        order = sorted(prompts, key=lambda prompt: -len(prompts[prompt]))
        while order:
            most = max(1, PREFILL // len(prompts[order[0]]))
            part, order = order[:most], order[most:]
            self._prefill([prompts[prompt] for prompt in part], [slots[prompt] for prompt in part])
        last = torch.tensor([row.ids[-1] for row in rows], device=self.device)
        self.token[first : first + len(rows)] = last
        self.place[first : first + len(rows)] = torch.tensor([len(row.ids) - 1 for row in rows], device=self.device)

    def _prefill(self, prompts: Sequence[Sequence[int]], slots: Sequence[Sequence[int]]) -> None:
        """Run prompts, less the last token of each, through the model and copy their keys and values to their slots.

        Padding stands on the right, where causal attention keeps it from being seen and decoding overwrites it.
        """
        width = max(max(len(prompt) for prompt in prompts) - 1, 1)
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        for i, prompt in enumerate(prompts):
            ids[i, : len(prompt) - 1] = torch.tensor(prompt[:-1], dtype=torch.long)
        cache = DynamicCache(config=self.model.config)
        positions = torch.arange(width, device=self.device)[None]
        self.model(
            input_ids=ids.to(self.device),
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        source = torch.tensor([i for i, own in enumerate(slots) for _ in own], device=self.device)
        target = torch.tensor([slot for own in slots for slot in own], device=self.device)
        for number, layer in enumerate(cast(list[CacheLayerMixin], cache.layers)):
            keys, values = cast(Tensor, layer.keys), cast(Tensor, layer.values)
            if number == len(self.layers):
                self.layers.append((self._empty(keys), self._empty(values)))
            self.layers[number][0][target, :, :width] = keys[source]
            self.layers[number][1][target, :, :width] = values[source]

    def _empty(self, like: Tensor) -> Tensor:
        return like.new_zeros(self.slots, like.shape[1], self.length, like.shape[3])

    def _stretch(self, alive: Sequence[Row], draw: Draw) -> int:
        """Begin to draw the next `STRETCH` tokens of each slot in use, which will be in `out`; gives how many slots."""
        used = min(self.slots, _rounded(len(alive)))
        longest = max(len(row.ids) + len(row.new) for row in alive)
        bound = min(self.length, _rounded(max(256, longest + STRETCH)))
        self.place[:used].clamp_(max=bound - 1)  # of empty slots, which decode nonsense
        self.column.zero_()
        self.luck[: len(alive)] = torch.from_numpy(np.stack([row.luck(STRETCH) for row in alive])).to(self.device)
        step = self._step(used, bound, draw)
        for _ in range(STRETCH):
            step()
        self.steps += STRETCH
        return used

    def _step(self, used: int, bound: int, draw: Draw) -> Callable[[], None]:
        """One step of the first `used` slots, none of which reaches `bound`: a graph on a GPU."""
        cache = Cache(layers=[_View(keys, values, self.place, used, bound) for keys, values in self.layers])
        places = torch.arange(bound, device=self.device)
        hidden = torch.full((), -torch.inf, dtype=self.model.dtype, device=self.device)

        def step() -> None:
            token, place = self.token[:used], self.place[:used]
            # Numbers, since truths would be made into such in each layer.
            seen = hidden.masked_fill(places <= place[:, None], 0.0)[:, None, None]
            logits = self.model(
                input_ids=token[:, None],
                position_ids=place[:, None],
                attention_mask=seen,
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]
            token.copy_(draw(logits, self.luck[:used].index_select(1, self.column)[:, 0]))
            self.out[:used].index_copy_(1, self.column, token[:, None])
            self.column.add_(1)
            place.add_(1).clamp_(max=bound - 1)

        if self.device.type != "cuda":
            return _for_decoding(self.model, step)
        key = used, bound, draw
        if key not in self.graphs:
            self.graphs[key] = self._captured(_for_decoding(self.model, step)), step
        return self.graphs[key][0].replay

    def _captured(self, step: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """The step as a graph; state and random numbers are as they were before."""
        state = [tensor.clone() for tensor in (self.token, self.place, self.column)]
        aside = torch.cuda.Stream(self.device)
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            step()  # libraries set themselves up in their first call, which cannot be captured
        torch.cuda.current_stream(self.device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # Other threads may use the GPU meanwhile: those that judge on it.
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            step()
        for tensor, before in zip((self.token, self.place, self.column), state, strict=True):
            tensor.copy_(before)
        return graph

    def _close_up(self, alive: Sequence[Row], running: Sequence[bool]) -> list[Row]:
        """Move the last running rows into the slots of those that ended; the rows by slot."""
        count = sum(running)
        holes = [slot for slot in range(count) if not running[slot]]
        moved = [slot for slot in range(count, len(alive)) if running[slot]]
        if holes:
            to, of = (torch.tensor(slots, device=self.device) for slots in (holes, moved))
            for tensor in (self.token, self.place, *(tensor for pair in self.layers for tensor in pair)):
                tensor[to] = tensor[of]
        rows = list(alive[:count])
        for to_slot, of_slot in zip(holes, moved, strict=True):
            rows[to_slot] = alive[of_slot]
        return rows


class _View(CacheLayerMixin):
    """The first slots of a layer's cache, up to a bound on the length; a step's token goes to each row's own place."""

    is_compileable = False

    def __init__(self, keys: Tensor, values: Tensor, place: Tensor, used: int, bound: int) -> None:
        super().__init__()
        self.keys, self.values = keys[:used, :, :bound], values[:used, :, :bound]
        self.place = place[:used]
        self.rows = torch.arange(used, device=keys.device)
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing: the memory is there."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write one token's (N, H, 1, D) and give all that are in view."""
        keys, values = cast(Tensor, self.keys), cast(Tensor, self.values)
        keys[self.rows, :, self.place] = key_states[:, :, 0]
        values[self.rows, :, self.place] = value_states[:, :, 0]
        return keys, values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset of what is in view."""
        return cast(Tensor, self.keys).shape[2], 0

    def get_seq_length(self) -> int:
        """Rows have lengths of their own: positions and mask are always given."""
        return 0

    def get_max_length(self) -> int:
        """The bound."""
        return cast(Tensor, self.keys).shape[2]


def _grouped(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Attention of one token a row: heads that share keys become rows of one product, so keys are never repeated."""
    rows, heads, _one, size = query.shape
    grouped = query.reshape(rows, key.shape[1], heads // key.shape[1], size)
    out = F.scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return out.reshape(rows, 1, heads, size), None


AttentionInterface.register(_GROUPED, _grouped)


def _for_decoding(model: PreTrainedModel, step: Callable[[], None]) -> Callable[[], None]:
    """The step with grouped attention, and with each RMS norm as one kernel of torch's where the model's own code has
    seven: at one token a row a kernel's launch costs more than its work."""
    norms = [part for part in model.modules() if type(part).__name__.endswith("RMSNorm")]
    # Llama's form, float32 inside and no offset; one that accelerate has hooked stays as it is.
    norms = [part for part in norms if hasattr(part, "variance_epsilon") and "forward" not in vars(part)]

    def run() -> None:
        usual = cast(str, model.config._attn_implementation)
        model.set_attn_implementation(_GROUPED)
        for norm in norms:
            norm.forward = partial(_normed, norm)
        try:
            step()
        finally:
            model.set_attn_implementation(usual)
            for norm in norms:
                del norm.forward

    return run


def _normed(norm: nn.Module, hidden: Tensor) -> Tensor:
    weight, epsilon = cast(Tensor, norm.weight), cast(float, norm.variance_epsilon)
    if weight.dtype != hidden.dtype:
        return type(norm).forward(norm, hidden)
    return F.rms_norm(hidden, weight.shape, weight, epsilon)


def _state(model: PreTrainedModel) -> list[object]:
    """What a graph has built in: where the weights lie (not their values), and which adapters are on."""
    places: list[object] = [weight.data_ptr() for weight in model.parameters()]
    adapters = [part for part in model.modules() if isinstance(part, BaseTunerLayer)]
    return places + [(tuple(part.active_adapters), part.disable_adapters, part.merged) for part in adapters]


def extend(row: Row, drawn: Sequence[int], ends: set[int], budget: int) -> bool:
    """Add tokens to a row up to one that ends it or to its budget; whether it goes on."""
    for token in drawn:
        if len(row.new) >= budget:
            return False
        row.new.append(token)
        if token in ends:
            return False
    return len(row.new) < budget


def _rounded(count: int) -> int:
    """The next power of two or one and a half of one, so that there are few graphs."""
    power = 1 << max(count - 1, 1).bit_length()
    return power * 3 // 4 if count <= power * 3 // 4 else power
