"""The searches of a run: its answerable questions, the built-in retrievers and the user's own
systems, and the measures of what they find.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundset.options import DEFAULT_EMBEDDER, imported
from groundset.programs.errors import InputError, first_line
from groundset.programs.stats import Values
from groundset.programs.types import Sample
from groundset.retrieval import embed
from groundset.retrieval.embed import Embedder
from groundset.retrieval.gold import Groups, as_chunks
from groundset.retrieval.index import SEARCH_DEPTH, Index, Ranks
from groundset.retrieval.retrievers import Ranking, bm25, fuse, read_ranking
from groundset.run.record import verdicts_of
from groundset.run.run import Run

_TIMEOUT = 60  # seconds for an answer of a server


def _recall(most: int) -> Callable[[Ranks], float]:
    return lambda ranks: sum(rank is not None and rank <= most for rank in ranks) / len(ranks)


def _gain(ranks: Ranks) -> float:
    found = [rank for rank in ranks if rank and rank <= 10]
    highest = range(1, min(len(ranks), 10) + 1)
    gained, most = (sum(1 / np.log2(1 + rank) for rank in each) for each in (found, highest))
    return float(min(1.0, gained / most))


MEASURES: Mapping[str, Callable[[Ranks], float]] = {
    "recall@1": _recall(1),
    "recall@5": _recall(5),
    "recall@10": _recall(10),
    "MRR": lambda ranks: max(1 / rank if rank else 0.0 for rank in ranks),
    "nDCG@10": _gain,
}


def values_of(ranks: Sequence[Ranks]) -> dict[str, Values]:
    """Return each measure of each question."""
    return {
        name: np.array([measure(each) for each in ranks], dtype=float)
        for name, measure in MEASURES.items()
    }


def answerable(run: Run) -> list[Sample]:
    """Return the questions of a run that a chunk answers and no reviewer refused."""
    verdicts = verdicts_of(run.reviews)
    return [
        sample
        for sample in run.samples
        if sample.retrieval_gt and "refused" not in verdicts.get(sample.id, ())
    ]


def embedder_of(run: Run) -> Embedder:
    """Open the embedder of a run.

    Raises:
        InputError: it now has other weights.
    """
    used = run.record["models"].get("embedder", {})
    embedder = embed.open_embedder(used.get("name") or DEFAULT_EMBEDDER)
    if embedder.sha256 != used.get("sha256"):
        raise InputError(
            f"{embedder.name}: its weights differ from those that {run.folder} was made with"
        )
    return embedder


def search(
    run: Run, embedder: Embedder, questions: Sequence[str], names: Sequence[str]
) -> dict[str, list[Ranking]]:
    """Return the rankings of retrievers, of which the first is the dense one of the run."""
    index = Index(run.vectors, list(run.chunks.values()), embedder)
    made = {"dense": [[hit.chunk_id for hit in hits] for hits in index.search_many(questions)]}
    if len(names) > 1:
        by_words = bm25({chunk_id: chunk.text for chunk_id, chunk in run.chunks.items()})
        made["bm25"] = list(map(by_words, questions))
        made["hybrid"] = [fuse(*pair) for pair in zip(made["dense"], made["bm25"], strict=True)]
    return {name: made[name] for name in names}


def ranked(file: Path, run: Run, samples: Sequence[Sample]) -> list[Ranking]:
    """Read the rankings of a file, which may have others of the run's questions, too."""
    ids = [sample.id for sample in samples]
    others = {sample.id for sample in run.samples}
    return read_ranking(file, ids, run.chunks.keys(), others)


def ask_own(
    name: str, run: Run, samples: Sequence[Sample], groups: Sequence[Groups]
) -> list[Ranking]:
    """Ask the user's own search, which returns ids of chunks or texts for a question, the best
    first.

    It is ``module:function``, called with a question, or the address of a server, which is sent
    ``question`` and ``k`` and answers with ``ids`` or ``texts``, all in JSON.

    Raises:
        InputError: it cannot be found, fails, or returns what is neither an id of the run nor a
            text that answers a question.
    """
    search = _server(name) if "://" in name else imported(name, "--retriever")
    try:
        found = [list(search(sample.question))[:SEARCH_DEPTH] for sample in samples]
    except Exception as error:  # the code is the user's
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"--retriever {name}: {reason}") from error
    if not all(isinstance(text, str) for each in found for text in each):
        raise InputError(f"--retriever {name}: must return a list of chunk ids or of texts")
    texts = {text for each in found for text in each}
    if texts & run.chunks.keys():
        if strange := texts - run.chunks.keys():
            raise InputError(f"--retriever {name}: no chunk {min(strange)} in the run")
        return found
    asked = zip(found, samples, groups, strict=True)
    rankings = [as_chunks(each, sample, needed, run.chunks) for each, sample, needed in asked]
    if not any(text in run.chunks for each in rankings for text in each):
        raise InputError(
            f"--retriever {name}: nothing that it found is the id of a chunk of the run, or holds"
            " one that answers a question"
        )
    return rankings


def _server(address: str) -> Callable[[str], Any]:
    import httpx

    client = httpx.Client(timeout=_TIMEOUT)

    def search(question: str) -> Any:
        asked = {"question": question, "k": SEARCH_DEPTH}
        answer = client.post(address, json=asked).raise_for_status().json()
        return answer["ids" if "ids" in answer else "texts"]

    return search
