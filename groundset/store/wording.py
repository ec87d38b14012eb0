"""How the model of a run was asked, and whose words the questions are: the model's, or those of a rule of syntax."""

from collections.abc import Iterable
from typing import Any

from groundset.store.run_store import RunStore
from programs.focus import is_whole
from programs.modes import MODES
from programs.types import Focus, Sample


def by_rule(samples: Iterable[Sample]) -> int:
    """Return how many questions are the words of a rule: what syntax began, with a question mark after it."""
    return sum(sample.question in _of_rules(sample) for sample in samples)


def _of_rules(sample: Sample) -> set[str]:
    """Return the questions that syntax alone gave the words of, among those that were asked for a sample."""
    openings = [str(record.output.get("opening") or "") for record in sample.trail if record.step == "question"]
    return {f"{opening}?" for opening in openings if is_whole(Focus(sentence="", answer="", opening=opening))}


def mode_record(store: RunStore) -> dict[str, Any] | None:
    """Return what ``run.json`` says of the mode, None for runs of versions that had none.

    ``by_rule`` and ``by_model`` count the questions by who gave them their words; ``missing`` says for each evolution
    of the mix how many samples it lacks.
    """
    mode = store.meta("mode")
    if mode is None:
        return None
    total = store.results.count()
    rule = by_rule(store.results.samples())
    shares, made = store.meta("shares") or {}, store.results.evolution_counts()
    missing = {name: share - made.get(name, 0) for name, share in shares.items() if made.get(name, 0) < share}
    return {**mode, "by_rule": rule, "by_model": total - rule, "missing": missing}


def tell_mode(store: RunStore) -> list[str]:
    """Return what a summary says of the mode: why it was taken, whose words the questions are, what the mix lacks."""
    mode = mode_record(store)
    if mode is None or not store.results.count():
        return []
    rule, written = mode["by_rule"], mode["by_model"]
    whose = f"the words of {rule} questions were given by the syntax of a sentence, those of {written} by the model"
    if not rule:
        whose = "the model wrote every question"
    lines = [f"Asked in mode {mode['name']} ({mode['why']}): {whose}."]
    if mode["missing"] and len(store.meta("shares") or {}) > 1:  # of a single evolution the size says it
        told = ", ".join(f"{count} {name}" for name, count in mode["missing"].items())
        lines.append(f"The mix lacks {told}: the passages carry no more of them, or this model does not write them.")
    row = MODES.get(mode["name"])
    if row is not None and row.writes_freely:
        lines.append("What share of such questions is good was not measured for this model; read them.")
    return lines
