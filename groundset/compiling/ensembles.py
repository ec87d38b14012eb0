"""Compiling the ensemble of the fitted head and a language model, for questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import dspy

from groundset.compiling.comparison import compare, verdicts
from groundset.compiling.labels import label_files
from groundset.compiling.record import Started, asked_parameters, environment, untracked, write_report
from groundset.compiling.steps import Listener
from groundset.engine.states import SHIPPED, Users, load_compiled
from groundset.retrieval.embedder import load_embedder
from groundset.runtime.lms import LanguageModel, open_lm
from groundset.store.call_file import CallFile
from optimizers.ensemble import ASKED, FLOOR, demos_of, fit_blend, held_out
from optimizers.fit_critic import thinned, thresholds_of
from optimizers.labels import QuestionLabel, Split, hashes_of, read_labels, refuse_test_rows, splits_of
from optimizers.measures import area_under_roc, paired_gain, recorded
from optimizers.report import CompileReport
from optimizers.strategies.fit_ensemble import STRATEGY
from optimizers.thresholds import lowest_threshold, precision_curve
from programs.critics import Critic, open_critics
from programs.critics.logprobs import LogprobCritic
from programs.critics.states import CompiledState, dspy_version, head_hash, signature_hash
from programs.deciding import asking_only, decide
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from programs.text import plain

STEP = "judge"
_SPLITS: tuple[Split, ...] = ("dev", "test")
TARGET_PRECISION = 0.5  # of dev rows, which are harder than what runs write: what they support
_LIBRARIES = ("dspy", "xllamacpp", "scikit-learn")


@dataclass(frozen=True)
class _Rows:
    """Labelled questions of a split with what the head says of them, and the model of those that it was asked about."""

    labels: Sequence[QuestionLabel]
    head: Sequence[float]
    model: Sequence[float | None]

    @property
    def asked(self) -> list[int]:
        return [place for place, said in enumerate(self.model) if said is not None]

    def of_asked(self) -> tuple[list[float], list[float], list[bool]]:
        said = [(self.head[n], self.model[n] or 0.0, self.labels[n].good) for n in self.asked]
        head, model, good = zip(*said, strict=True)
        return list(head), list(model), list(good)

    def with_asked(self, probabilities: Sequence[float]) -> list[float]:
        """Return the head's probabilities with others for the rows that the model was asked about."""
        found = list(self.head)
        for place, probability in zip(self.asked, probabilities, strict=True):
            found[place] = probability
        return found


def compile_ensemble(
    lm: str,
    labels: Sequence[Path],
    *,
    embedder: str,
    target_precision: float | None,
    out: Path,
    listener: Listener,
    open_model: Callable[..., LanguageModel] = open_lm,
    load: Callable[[str], Any] = load_embedder,
    started: Started = untracked,
) -> tuple[CompileReport, Path]:
    """Fit how head and model decide together, and write the state to ``<out>/<model>/judge.json``.

    Both are weighed on dev rows, because the head was fitted to the train rows; the threshold is chosen on what
    blends fitted to other documents say of them, for a precision of 0.5 if nobody names one. Finished calls are
    kept in ``<out>/calls.sqlite``.
    ``started`` is told once the model is open.

    Raises:
        InputError: the shipped head has another embedder, or the folder cannot be written.
        OptimizerError: labels are wrong or do not support the precision.
        GroundsetError: the model failed.
    """
    files = label_files(labels, QuestionLabel)
    splits = splits_of(read_labels(QuestionLabel, files))
    refuse_test_rows([*splits["train"], *splits["dev"]])
    encoder = load(embedder)
    compiled = load_compiled(SHIPPED, Users("head", encoder.sha256))
    if STEP not in compiled.states:
        raise InputError("--embedder: an ensemble has the shipped head in it, which has another embedder.")
    head = open_critics("head", languages=Languages(LANGUAGES), embedder=encoder, heads=compiled.heads)[STEP]
    judge = STEPS[STEP].predictor()
    judge.load_state(compiled.predictors[STEP])
    demos = demos_of(splits["train"])
    target = TARGET_PRECISION if target_precision is None else target_precision
    parameters = asked_parameters(STRATEGY.name, {"embedder": embedder, "target_precision": target})
    calls = CallFile(out / "calls.sqlite")
    with open_model(lm, journal=calls) as model, calls:
        started(STEP, model.name, STRATEGY.name, parameters)
        by_head = {split: _decided(judge, head, splits[split]) for split in _SPLITS}
        listener.start(STEP, sum(probability >= FLOOR for found in by_head.values() for probability in found))
        before = model.usage()
        critic = LogprobCritic(model.lm)
        rows = {split: _asked(splits[split], by_head[split], demos, critic, listener) for split in _SPLITS}
        figures = {name: value - before[name] for name, value in model.usage().items()}
        named = (model.name, model.sha256)
    blend = fit_blend(*rows["dev"].of_asked())
    documents = [rows["dev"].labels[place].document for place in rows["dev"].asked]
    dev = rows["dev"].with_asked(held_out(*rows["dev"].of_asked(), documents))
    seen, said, _ = rows["test"].of_asked()
    test = rows["test"].with_asked([blend.probability(*both) for both in zip(seen, said, strict=True)])
    curve = precision_curve([label.good for label in splits["dev"]], dev)
    chosen = lowest_threshold(curve, target)
    after: dict[Split, list[float]] = {"dev": dev, "test": test}
    measures, told = compare(
        splits,
        verdicts(splits, by_head, compiled.states[STEP].threshold or 0.5),
        verdicts(splits, after, chosen.threshold),
    )
    for split in _SPLITS:
        good, documents = [label.good for label in splits[split]], [label.document for label in splits[split]]
        measures["gain"][f"{split}_auc"] = paired_gain(area_under_roc, good, by_head[split], after[split], documents)
    predictor = thresholds_of(judge.signature, chosen.threshold) | {"demos": demos}
    state = CompiledState(
        step=STEP,
        model=named[0],
        model_sha256=named[1],
        optimizer=STRATEGY.name,
        signature=signature_hash(judge.signature),
        dspy=dspy_version(),
        predictor=predictor,
        blend=blend,
        head=head_hash(compiled.heads[STEP]),
        target_precision=target,
        threshold=chosen.threshold,
        curve=thinned(curve, chosen),
        record={
            "labels": hashes_of(files),
            "rows": {split: len(rows[split].labels) for split in _SPLITS},
            "asked": {split: len(rows[split].asked) for split in _SPLITS},
            "versions": {name: metadata.version(name) for name in _LIBRARIES},
            "measures": recorded(measures),
        },
    )
    figures["calls"] = sum(state.record["asked"].values())
    report = CompileReport(
        state=state, measures=measures, rows=told, parameters={**parameters, **environment(state)}, figures=figures
    )
    return report, write_report(report, out)


def _decided(judge: dspy.Predict, critic: Critic, labels: Sequence[QuestionLabel]) -> list[float]:
    pairs = [{"passage": plain(label.passage), "question": label.question} for label in labels]
    critic.embed_ahead(pairs)
    return [decide(judge, critic, **pair).probability for pair in pairs]


def _asked(
    labels: Sequence[QuestionLabel],
    head: Sequence[float],
    demos: Sequence[dict[str, Any]],
    critic: Critic,
    listener: Listener,
) -> _Rows:
    """Ask the model about the rows that the head does not refuse."""
    predict = dspy.Predict(asking_only(STEPS[STEP].signature, ASKED))
    predict.demos = list(demos)
    said: list[float | None] = []
    for label, probability in zip(labels, head, strict=True):
        if probability < FLOOR:
            said.append(None)
            continue
        listener.call()
        decision = decide(predict, critic, passage=plain(label.passage), question=label.question)
        said.append(decision.probabilities[ASKED])
    return _Rows(labels, head, said)
