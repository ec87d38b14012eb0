"""Relabel a run: let another critic judge its questions again."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from groundset.engine.judging import OpenCritic, open_critic
from groundset.progress import Progress, counted
from groundset.run import Run, reject_sample, save_run
from groundset.sets.measuring import JUDGE, judge_samples, record_of
from groundset.store.folder import check_free
from programs.errors import InputError
from programs.types import Reject, Sample

if TYPE_CHECKING:
    from programs.deciding import Decision

_ESTIMATES = ("expected_good", "interval", "kinds")  # they hold for accepted questions alone


def relabel_run(
    run: Path,
    out: Path,
    *,
    critic: str,
    lm: str | None = None,
    compiled: str = "shipped",
    tracking: str | None = None,
    keep: bool = False,
    quiet: bool = False,
) -> list[str]:
    """Write a new run whose samples were judged again, without those that the critic refuses; return its summary.

    Of each sample, the probability and the record of the step ``judge`` are new. How likely its answer is supported,
    which the run noted, still limits the probability.

    Args:
        run: the folder of a run.
        out: the new folder.
        critic: head, lm, ensemble or verdict.
        lm: the language model of the critics lm, ensemble and verdict.
        compiled: compiled states: shipped, champion, none or a folder.
        tracking: the MLflow store of champions.
        keep: keep refused samples, with the verdict.
        quiet: show no progress.

    Raises:
        InputError: nothing would be left, or a folder or an option is wrong.
        ModelError: a model cannot be found or loaded.
        RunError: the new run cannot be written.
    """
    check_free(out)
    before = Run.loaded(run)
    embedder = before.settings["models"]["embedder"]["name"]
    with (
        open_critic(critic, lm, embedder, compiled, tracking) as opened,
        Progress(quiet=quiet) as progress,
        progress.phase("Judging", len(before.samples)) as advance,
    ):
        state = opened.compiled.predictors.get(JUDGE)
        decisions = list(judge_samples(before.samples, opened.critics[JUDGE], state, advance))
    judged = list(map(_judged, before.samples, decisions))
    refused = [_reject(sample, found) for sample, found in zip(judged, decisions, strict=True) if not found.good]
    was, now = (median(sample.probability for sample in samples) for samples in (before.samples, judged))
    lines = [_verdicts(before.samples, decisions, critic), f"The median score was {was:.2f} and is {now:.2f}."]
    relabelled = before.replace(
        samples=judged, settings=_settings(before, critic, opened, mixed=bool(refused and keep))
    )
    if refused and not keep:
        if len(refused) == len(judged):
            raise InputError(
                f"--critic {critic}: it refuses all {len(judged)} questions of {run}, and nothing would be left; "
                "--keep keeps them, with its verdict"
            )
        relabelled = relabelled.only(place for place, decision in enumerate(decisions) if decision.good)
        relabelled = relabelled.replace(rejects=[*before.rejects, *refused])
    # The lineage names compiled states without the path of a folder.
    lineage = before.lineage("relabel", critic=critic, lm=opened.lm, compiled=Path(compiled).name, keep=keep)
    return [*lines, *save_run(out, relabelled, lineage)]


def _judged(sample: Sample, decision: "Decision") -> Sample:
    """Return a sample with another probability, and another record of the judge in the place of the last one."""
    record = record_of(sample, decision)
    trail = list(sample.trail)
    place = _place(sample)
    if place is None:
        trail.append(record)
    else:
        trail[place] = record.model_copy(update={"candidate": trail[place].candidate})
    supported = [step.probability for step in trail if step.step == "grounding" and step.probability is not None]
    return sample.model_copy(
        update={"probability": min([round(decision.probability, 4), *supported[-1:]]), "trail": tuple(trail)}
    )


def _place(sample: Sample) -> int | None:
    """Return the place in the trail of the last judgement of the question as it is, None if there is none."""
    places = [
        place
        for place, record in enumerate(sample.trail)
        if record.step == JUDGE and record.output.get("question", sample.question) == sample.question
    ]
    return places[-1] if places else None


def _reject(sample: Sample, decision: "Decision") -> Reject:
    # The critic's probability, not limited by the support of the answer.
    changes = {"probability": round(decision.probability, 4)}
    return reject_sample(sample, JUDGE, decision.refusal).model_copy(update=changes)


def _settings(run: Run, critic: str, opened: OpenCritic, *, mixed: bool) -> dict[str, Any]:
    """Return the settings of a run with this critic in the place of its own; the other steps stay as they were.

    ``mixed`` says that refused samples are kept, for which the estimates of the critic do not hold.
    """
    own, record = run.settings, opened.compiled.record()
    named = {"name": critic, "compiled": opened.compiled.fitted, **({"lm": opened.lm} if opened.lm else {})}
    compiled = {step: state for step, state in own["compiled"].items() if step != JUDGE}
    if JUDGE in record:
        estimates = _ESTIMATES if mixed else ()
        compiled[JUDGE] = {name: value for name, value in record[JUDGE].items() if name not in estimates}
    return {**own, "models": {**own["models"], "critic": named}, "compiled": compiled}


def _verdicts(samples: Sequence[Sample], decisions: Sequence["Decision"], critic: str) -> str:
    places = [(sample, _place(sample)) for sample in samples]
    before = Counter(sample.trail[place].verdict if place is not None else None for sample, place in places)
    good = sum(decision.good for decision in decisions)
    reasons = Counter(decision.refusal.split(":")[0] for decision in decisions if not decision.good)
    why = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.most_common())})" if reasons else ""
    unknown = f", {before[None]} not judged" if before[None] else ""
    return (
        f"Judged {counted(len(samples), 'question')} again by {critic}: {good} good, {len(samples) - good} bad{why}. "
        f"Before: {before['good']} good, {before['bad']} bad{unknown}."
    )
