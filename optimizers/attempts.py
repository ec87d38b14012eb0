"""Whole attempts: examples of labelled chunks, and what the outcome of one is worth."""

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

_MANY = 1000  # samples, of which every evolution of a mix has a share


def labelled_chunk(label: ChunkLabel) -> Chunk:
    """Return a labelled chunk as a run would have it."""
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
    """Return the first attempts that a run would make of good chunks, by split, in an order that the seed fixes.

    An example has one input, ``attempt``, and plain fields for models that read it: ``topic``, ``passage``, ``id``,
    ``document``, ``language`` and ``wanted``. What a person called good is not scored again by a critic.

    Bad chunks are passed over. ``near`` returns the chunks nearest to one, as a run's search finds them; only ``multi``
    asks, and those of other splits are passed over.
    """
    row = RECIPES[recipe]
    chosen = row.options(**options)
    found: dict[Split, list[dspy.Example]] = {}
    for split, kept in splits_of(label for label in labels if label.good).items():
        contexts = [_read(label, languages) for label in kept]
        agenda = row.agenda(Material(contexts, near, languages), chosen, _MANY)
        offers = [offer for key in agenda.keys for offer in _first_offers(agenda, key).items()]
        examples = [
            _example(Attempt(number=number, contexts=offered, wanted=wanted, seed=seed + number))
            for number, (wanted, offered) in enumerate(offers)
        ]
        random.Random(seed).shuffle(examples)
        found[split] = examples
    return found


def _first_offers(agenda: Agenda, key: str) -> Mapping[str, tuple[Context, ...]]:
    """Return what is offered first: a chunk that can only be asked for what many others can too waits some rounds."""
    rounds = (agenda.offers(key, round_, ()) for round_ in range(KEPT_ROUNDS + 1))
    return next(filter(None, rounds), {})


def attempt_metric(
    gold: dspy.Example, pred: dspy.Prediction, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
) -> Any:
    """Return 0 where an attempt gave no draft, else the probability that its draft is good.

    That probability is what the critics say: the least of the judge's, that the question is good, and, where the recipe
    checks answers, the critic of grounding's, that the passage supports the answer. So the mean over attempts is the
    expected number of good samples for each attempt, as far as critics can be believed. An optimizer finds what pleases
    a critic, too: read samples before you believe a gain.

    For GEPA, which names the predictor that it works on, the number comes with what the steps refused, as feedback.
    """
    del gold, trace, pred_trace
    value = float(pred.probability)
    if pred_name is None:
        return value
    refused = [f"{reject['step']} refused{_quoted(reject)}: {reject['reason']}." for reject in pred.rejects]
    accepted = [f"Accepted: {pred.question} (good with probability {value:.2f})."] if pred.drafts else []
    feedback = " ".join([*accepted, *refused]) or "Nothing was made or refused."
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
