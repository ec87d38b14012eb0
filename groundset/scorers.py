"""Scorers for ``mlflow.genai.evaluate`` on an evaluation dataset that
:func:`groundset.api.to_mlflow` made.

``gold_recall`` and ``gold_rank`` measure a search, ``facts_found(LM)`` reads an answer. A search is
what the retriever spans of a trace returned, or else the outputs: a list, or a mapping that holds
one, of ids or texts of chunks, paths of documents, or mappings as MLflow's ``Document`` has them,
the best first.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import dspy
from mlflow.entities import AssessmentSource, Feedback, SpanType, Trace
from mlflow.genai.scorers import Scorer, scorer
from mlflow.genai.utils.trace_utils import parse_outputs_to_str

from groundset.models.open import open_model
from groundset.programs.errors import InputError
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import STATES, holds
from groundset.programs.step import step
from groundset.programs.text import share
from groundset.retrieval.gold import holds_passage
from groundset.run.compiled import load_compiled
from groundset.searching import MEASURES

_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_IDS, _TEXTS = ("id", "chunk_id", "doc_uri"), ("page_content", "content", "text")


@scorer  # type: ignore[untyped-decorator]
def gold_recall(
    outputs: Any, expectations: dict[str, Any], trace: Trace | None = None
) -> float | None:
    """Return the share of groups of the expected context that were retrieved; None if no chunk
    answers the question.
    """
    ranks = _ranks(outputs, expectations, trace)
    return share(sum(rank is not None for rank in ranks), len(ranks)) if ranks else None


@scorer  # type: ignore[untyped-decorator]
def gold_rank(
    outputs: Any, expectations: dict[str, Any], trace: Trace | None = None
) -> float | None:
    """Return one divided by the rank of the first expected chunk, 0 if none was retrieved; None if
    none answers it.
    """
    ranks = _ranks(outputs, expectations, trace)
    return MEASURES["MRR"](ranks) if ranks else None


def facts_found(lm: str, *, compiled: str = "shipped") -> Scorer:
    """Return a scorer: the share of expected facts that an answer states, as the compiled step
    ``compare`` judges.

    They are ``expected_facts``, or else the sentences and list items of ``expected_response``.
    Model and states are named as with ``--lm`` and ``--compiled``.

    Raises:
        ModelError: the model cannot be found, verified or loaded.
        StateError: the states cannot be used.
    """
    model, compare = open_model(lm), step("compare")
    load_compiled(compiled, model.name).apply([compare])
    compare.set_lm(model.lm)

    @scorer  # type: ignore[untyped-decorator]
    def facts_found(
        inputs: dict[str, Any], outputs: Any, expectations: dict[str, Any]
    ) -> Feedback | None:
        expected = expectations.get("expected_facts") or facts(
            str(expectations.get("expected_response") or "")
        )
        question, answer = str(inputs.get("question", "")), parse_outputs_to_str(outputs)
        with dspy.context(disable_history=True):
            found = [(fact, *holds(compare, STATES, fact, answer, question)) for fact in expected]
        missing = [f"{fact} ({reason})" for fact, is_found, reason in found if not is_found]
        if not found:
            return None
        return Feedback(
            value=1 - len(missing) / len(found),
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=model.name),
            rationale=f"missing: {'; '.join(missing) or 'nothing'}",
        )

    return facts_found


def facts(answer: str) -> list[str]:
    """Return the sentences and list items of an answer."""
    sentences = LANGUAGES[language_of(answer)].sentences
    return [
        sentence for line in answer.splitlines() for sentence in sentences(_BULLET.sub("", line))
    ]


def _ranks(outputs: Any, expectations: Mapping[str, Any], trace: Trace | None) -> list[int | None]:
    """Return the rank of the first chunk of each group, None if there is none among what was
    retrieved.
    """
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for place, gold in enumerate(expectations.get("expected_retrieved_context") or ()):
        groups.setdefault(gold.get("group", place), []).append(gold)
    retrieved = list(_retrieved(outputs, trace)) if groups else []
    return [
        next(
            (
                rank
                for rank, each in enumerate(retrieved, 1)
                if any(_serves(*each, gold) for gold in group)
            ),
            None,
        )
        for group in groups.values()
    ]


def _retrieved(outputs: Any, trace: Trace | None) -> Iterator[tuple[set[str], str]]:
    """Yield the names and the text of what was retrieved.

    Raises:
        InputError: neither the trace nor the outputs say it.
    """
    spans = trace.search_spans(span_type=SpanType.RETRIEVER) if trace else []
    inner = {span.span_id for span in spans}
    lists = [span.outputs for span in spans if span.parent_id not in inner]
    lists = lists or (list(outputs.values()) if isinstance(outputs, Mapping) else [outputs])
    lists = [each for each in lists if isinstance(each, list)]
    if not lists:
        raise InputError(
            "the trace has no retriever span that returns a list, and the outputs are none"
        )
    for item in (item for each in lists for item in each):
        if isinstance(item, Mapping):
            fields = {**(item.get("metadata") or {}), **item}
            texts = (str(fields[name]) for name in _TEXTS if fields.get(name))
            yield {str(fields[name]) for name in _IDS if fields.get(name)}, next(texts, "")
        else:
            yield {str(item)}, str(item)


def _serves(names: set[str], text: str, gold: Mapping[str, Any]) -> bool:
    """Return whether what was retrieved is an expected chunk, holds it or its evidence, or has no
    text but its path.
    """
    holds_it = holds_passage(text, str(gold["content"]), gold.get("evidence") or ())
    is_path = gold.get("doc_uri") in names and text in {"", gold.get("doc_uri")}
    return gold.get("chunk_id") in names or holds_it or is_path
