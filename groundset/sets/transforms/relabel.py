"""Relabel a run: judge its questions with another critic."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from groundset.engine.judging import OpenCritic, judging_executor, open_critic
from groundset.progress import Progress, counted
from groundset.run import Run, reject_sample, save_run
from groundset.sets.measuring import JUDGE, JUDGE_BATCH, judge_samples, record_of
from groundset.store.folder import check_free
from programs.errors import InputError
from programs.steps.panel import approval_of
from programs.types import Reject, Sample

if TYPE_CHECKING:
    from programs.deciding import Decision

_ESTIMATES = ("expected_good", "interval", "kinds")  # of accepted questions only


def relabel_run(
    run: Path,
    out: Path,
    *,
    critic: str,
    lm: str | None = None,
    compiled: str = "shipped",
    tracking: str | None = None,
    keep: bool = False,
    engine: str = "local",
    quiet: bool = False,
) -> list[str]:
    """Judge the samples of a run again, write those the critic accepts as a new run, and return its summary.

    Replaces the probability and the trail record of the step ``judge``. The probability is at most that of the step
    ``grounding`` and that of a panel, if the trail has them.

    Args:
        run: the folder of a run.
        out: the new folder.
        critic: head, lm, ensemble or verdict.
        lm: the language model of the critics lm, ensemble and verdict.
        compiled: compiled states: shipped, champion, none or a folder.
        tracking: the MLflow store of champions.
        keep: keep refused samples, with the verdict.
        engine: where the critic head judges; see :func:`groundset.executors.open_executor`.
        quiet: show no progress.

    Raises:
        InputError: the critic refuses all samples, or a folder or an option is invalid.
        ModelError: a model cannot be found or loaded.
        RunError: the new run cannot be written.
    """
    check_free(out)
    before = Run.loaded(run)
    embedder = before.settings["models"]["embedder"]["name"]
    with (
        judging_executor(engine, critic) as executor,
        open_critic(critic, lm, embedder, compiled, tracking) as opened,
        Progress(quiet=quiet) as progress,
        progress.phase("Judging", len(before.samples)) as advance,
    ):
        decisions: list[Decision] = []
        if executor.is_local:  # in this process, which has loaded the critic
            state = opened.compiled.predictors.get(JUDGE)
            decisions += judge_samples(before.samples, opened.critics[JUDGE], state, advance)
        else:
            operator = _JudgeSamples(partial(open_critic, critic, lm, embedder, compiled, tracking))
            batches = [before.samples[start : start + JUDGE_BATCH] for start in range(0, len(before), JUDGE_BATCH)]
            with closing(executor.map(operator, batches, parts=len(batches))) as judged_batches:
                for batch in judged_batches:
                    decisions += batch
                    advance(len(batch))
    judged = list(map(_judged, before.samples, decisions))
    refused = [
        _reject(sample, decision) for sample, decision in zip(judged, decisions, strict=True) if not decision.good
    ]
    old, new = (median(sample.probability for sample in samples) for samples in (before.samples, judged))
    lines = [_verdict_summary(before.samples, decisions, critic), f"Median score: {old:.2f} before, {new:.2f} now."]
    relabelled = before.replace(
        samples=judged, settings=_settings(before, critic, opened, mixed=bool(refused and keep))
    )
    if refused and not keep:
        if len(refused) == len(judged):
            raise InputError(
                f"--critic {critic}: refuses all {counted(len(judged), 'question')} of {run}; keep them with --keep"
            )
        relabelled = relabelled.only(index for index, decision in enumerate(decisions) if decision.good)
        relabelled = relabelled.replace(rejects=[*before.rejects, *refused])
    # Only the folder's name, not its path.
    lineage = before.lineage("relabel", critic=critic, lm=opened.lm, compiled=Path(compiled).name, keep=keep)
    return [*lines, *save_run(out, relabelled, lineage)]


@dataclass(frozen=True)
class _JudgeSamples:
    """An operator that judges batches of samples."""

    open_critic: Callable[[], AbstractContextManager[OpenCritic]]

    @contextmanager
    def load(self) -> Iterator[Callable[[Sequence[Sample]], list["Decision"]]]:
        """Load the critic, and yield a function that judges a batch."""
        with self.open_critic() as opened:
            critic, state = opened.critics[JUDGE], opened.compiled.predictors.get(JUDGE)
            yield lambda samples: list(judge_samples(samples, critic, state, lambda _: None))

    def name(self, item: Sequence[Sample]) -> str:
        """Return the ids of the first and the last sample."""
        return f"judging samples {item[0].id} to {item[-1].id}"


def _judged(sample: Sample, decision: "Decision") -> Sample:
    """Replace the probability of a sample, and the judge's record in its trail."""
    record = record_of(sample, decision)
    trail = list(sample.trail)
    index = _judgement_index(sample)
    if index is None:
        trail.append(record)
    else:
        trail[index] = record.model_copy(update={"candidate": trail[index].candidate})
    grounding = [step.probability for step in trail if step.step == "grounding" and step.probability is not None]
    return sample.model_copy(
        update={
            "probability": round(min(decision.probability, *grounding[-1:], *approval_of(trail), 1.0), 4),
            "trail": tuple(trail),
        }
    )


def _judgement_index(sample: Sample) -> int | None:
    """Return the trail index of the last judgement of the final question, None if there is none."""
    indices = [
        index
        for index, record in enumerate(sample.trail)
        if record.step == JUDGE and record.output.get("question", sample.question) == sample.question
    ]
    return indices[-1] if indices else None


def _reject(sample: Sample, decision: "Decision") -> Reject:
    # The critic's own probability, not limited by grounding.
    changes = {"probability": round(decision.probability, 4)}
    return reject_sample(sample, JUDGE, decision.refusal).model_copy(update=changes)


def _settings(run: Run, critic: str, opened: OpenCritic, *, mixed: bool) -> dict[str, Any]:
    """Return the settings of a run with its judge replaced.

    ``mixed``: refused samples are kept, so the quality estimates of the critic do not apply.
    """
    settings, record = run.settings, opened.compiled.record()
    named = {"name": critic, "compiled": opened.compiled.fitted, **({"lm": opened.lm} if opened.lm else {})}
    compiled = {step: state for step, state in settings["compiled"].items() if step != JUDGE}
    if JUDGE in record:
        excluded = _ESTIMATES if mixed else ()
        compiled[JUDGE] = {name: value for name, value in record[JUDGE].items() if name not in excluded}
    return {**settings, "models": {**settings["models"], "critic": named}, "compiled": compiled}


def _verdict_summary(samples: Sequence[Sample], decisions: Sequence["Decision"], critic: str) -> str:
    indices = [(sample, _judgement_index(sample)) for sample in samples]
    before = Counter(sample.trail[index].verdict if index is not None else None for sample, index in indices)
    good = sum(decision.good for decision in decisions)
    reasons = Counter(decision.refusal.split(":")[0] for decision in decisions if not decision.good)
    details = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.most_common())})" if reasons else ""
    unknown = f", {before[None]} not judged" if before[None] else ""
    return (
        f"Judged {counted(len(samples), 'question')} with {critic}: {good} good, {len(samples) - good} bad{details}. "
        f"Before: {before['good']} good, {before['bad']} bad{unknown}."
    )
