"""What a run is expected to take, from measured runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from groundset.cost import Price, money
from groundset.engine.config import ChosenMode
from groundset.progress import counted


class MeasuredRun(NamedTuple):
    """The use of a measured run for each of its samples.

    Attributes:
        calls: language model calls.
        prompt_tokens: tokens of prompts, cached or not.
        completion_tokens: generated tokens, None if they were not recorded.
    """

    calls: float
    prompt_tokens: float
    completion_tokens: float | None


# By recipe and mode. Runs on 16 real articles, docs/experiments/2026-11-26-recipes.md; the first of mode `free` is the
# default mix, docs/experiments/2026-11-24-the-model-writes.md.
MEASURED: Mapping[tuple[str, str], Sequence[MeasuredRun]] = {
    ("evolved", "free"): (
        MeasuredRun(10.6, 8_000, None), MeasuredRun(15.5, 11_186, 998), MeasuredRun(19.8, 12_709, 1_039)
    ),
    ("single", "free"): (MeasuredRun(8.1, 5_772, 580),),
    ("multi", "free"): (MeasuredRun(26.0, 20_205, 1_734),),
    ("profiled", "free"): (MeasuredRun(20.8, 27_442, 1_276),),
    ("roundtrip", "free"): (MeasuredRun(4.7, 4_199, 424),),
    ("evolved", "guided"): (MeasuredRun(2.3, 1_346, 28), MeasuredRun(6.4, 3_514, 90)),
}  # fmt: skip
_LESS, _MORE = 0.7, 1.3  # the runs of `evolved` in mode `free` lie this far from their mean


def forecast(chosen: ChosenMode, samples: int, price: Price | None = None) -> str | None:
    """Return a line on the calls, tokens and money that samples are expected to take, None if it was not measured."""
    config, runs = chosen.config, MEASURED.get((chosen.config.recipe, chosen.mode.name))
    others = config.panel or config.language or getattr(config.options, "answer_variants", None)
    if not runs or not samples or others or config.critic != chosen.mode.critic:
        return None
    calls, prompt, generated = (
        (_LESS * samples * min(known), _MORE * samples * max(known))
        for known in ([value for value in column if value is not None] for column in zip(*runs, strict=True))
    )
    parts = [f"{_range(calls)} calls", f"{_range(prompt)} prompt tokens", f"{_range(generated)} generated"]
    if price is not None:
        low, high = (price.of(*both) for both in zip(prompt, generated, strict=True))
        parts.append(f"a cost of {money(low)} to {money(high)}")
    return f"Expected for {counted(samples, 'sample')}: {', '.join(parts)} (from runs with other documents and models)."


def _range(bounds: tuple[float, float]) -> str:
    low, high = (int(float(f"{bound:.2g}")) for bound in bounds)
    return f"{low:,} to {high:,}"
