"""Scorers for ``mlflow.genai.evaluate`` on an evaluation dataset that
:func:`groundset.api.to_mlflow` made.

``gold_recall`` and ``gold_rank`` measure a search; MLflow's own scorers read answers. A search is
what the retriever spans of a trace returned, or else the outputs: a list, or a mapping that holds
one, of ids or texts of chunks, paths of documents, or mappings as MLflow's ``Document`` has them,
the best first.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mlflow.entities import SpanType, Trace
from mlflow.genai.scorers import scorer

from groundset.programs.errors import InputError
from groundset.programs.text import share
from groundset.retrieval.gold import holds_passage
from groundset.searching import MEASURES

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
