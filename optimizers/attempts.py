"""Attempts on labelled chunks as examples for compiling a whole recipe, and the metric of an attempt."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy
from dspy.teleprompt.gepa.gepa_utils import ScoreWithFeedback

from optimizers.labels import ChunkLabel, Split, splits_of
from programs.analysis import read_chunk
from programs.languages.table import Languages
from programs.recipes import RECIPES
from programs.recipes.base import Agenda, Material
from programs.recipes.kinds import KEPT_ROUNDS
from programs.types import Attempt, Chunk, Context, Hit, StepRecord

Near = Callable[[str, int], Sequence[Hit]]

_SIZE = 1000  # samples; large enough that every evolution of a mix has a share


def labelled_chunk(label: ChunkLabel) -> Chunk:
    """Convert a labelled chunk to the chunk of a run."""
    title, *headings = label.topic.split(" > ")
    return Chunk(
        chunk_id=label.id,
        doc_id=label.document,
        path=label.document,
        title=title,
        headings=tuple(headings),
        start=0,
        end=len(label.text),
        text=label.text,
    )


def attempt_examples(
    recipe: str, labels: Sequence[ChunkLabel], languages: Languages, near: Near, *, seed: int = 0, **options: Any
) -> dict[Split, list[dspy.Example]]:
    """Return the first attempts that a run would make on good chunks, by split, shuffled by the seed.

    An example has one input, ``attempt``, and the fields ``topic``, ``passage``, ``id``, ``document``, ``language`` and
    ``wanted`` for optimizers that read examples. No critic scores the labelled chunks again.

    ``near`` searches the chunks nearest to one; only ``multi`` calls it, and results from other splits are ignored.
    """
    row = RECIPES[recipe]
    recipe_options = row.options(**options)
    by_split: dict[Split, list[dspy.Example]] = {}
    for split, kept in splits_of(label for label in labels if label.good).items():
        contexts = [_read(label, languages) for label in kept]
        agenda = row.agenda(Material(contexts, near, languages), recipe_options, _SIZE)
        offers = [offer for key in agenda.keys for offer in _first_offers(agenda, key).items()]
        examples = [
            _example(Attempt(number=number, contexts=offered, wanted=wanted, seed=seed + number))
            for number, (wanted, offered) in enumerate(offers)
        ]
        random.Random(seed).shuffle(examples)
        by_split[split] = examples
    return by_split


def _first_offers(agenda: Agenda, key: str) -> Mapping[str, tuple[Context, ...]]:
    """Return the first offers; chunks with only common question kinds come in later rounds."""
    rounds = (agenda.offers(key, round_, ()) for round_ in range(KEPT_ROUNDS + 1))
    return next(filter(None, rounds), {})


def attempt_metric(
    gold: dspy.Example, pred: dspy.Prediction, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
) -> Any:
    """Return the probability that the draft of an attempt is good, 0 without a draft.

    It is the lowest probability of the judge and, if the recipe checks answers, of grounding. The mean over attempts
    estimates the number of good samples per attempt. Optimizers may exploit weaknesses of a critic: read samples before
    you rely on a gain.

    If ``pred_name`` is given, as by GEPA, the score comes with the rejects as feedback.
    """
    del gold, trace, pred_trace
    value = float(pred.probability)
    if pred_name is None:
        return value
    rejected = [f"{reject['step']} refused{_quoted(reject)}: {reject['reason']}." for reject in pred.rejects]
    accepted = [f"Accepted: {pred.question} (good with probability {value:.2f})."] if pred.drafts else []
    feedback = " ".join([*accepted, *rejected]) or "Nothing was made or refused."
    return ScoreWithFeedback(score=value, feedback=feedback)


def _quoted(reject: dict[str, Any]) -> str:
    return f" {reject['question']!r}" if reject.get("question") else ""


def _read(label: ChunkLabel, languages: Languages) -> Context:
    score = StepRecord(step="chunk", output={"label": label.label}, verdict="good")
    return read_chunk(labelled_chunk(label), languages).model_copy(update={"score": score})


def _example(attempt: Attempt) -> dspy.Example:
    contexts = attempt.contexts
    first = contexts[0]
    return dspy.Example(
        attempt=attempt,
        id="+".join(context.chunk.chunk_id for context in contexts) + f"/{attempt.wanted}",
        document=first.chunk.doc_id,
        language=first.language,
        wanted=attempt.wanted,
        topic=first.topic,
        passage="\n\n".join(context.passage for context in contexts),
    ).with_inputs("attempt")
