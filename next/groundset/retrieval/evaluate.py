"""`groundset roundtrip`: how well retrievers find the chunks that the questions of a run need.

A question needs one chunk of each group of ``retrieval_gt``. The rank of a group is the best rank of its chunks.

| measure | of one question |
|---|---|
| recall@k | the share of its groups among the first k chunks |
| MRR | one divided by the rank of its first group |
| nDCG@10 | the discounted gain of its groups among the first 10 chunks, divided by the highest possible |

Intervals resample documents, or questions where there are few documents. All pairs of retrievers are compared by paired
permutation tests, corrected by Holm's method.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from groundset.options import DEFAULT_EMBEDDER, Options, expanded, option
from groundset.printing import say, say_lines, say_table
from groundset.stats import ALPHA, Estimate, Units, Values, bootstrap_mean, holm, p_text, permutation, resampling_units
from groundset.stats import detectable_gain as detectable
from programs.errors import InputError
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.retrieval.retrievers import Ranking
    from groundset.run.run import Run

_NAMES = "dense, bm25, hybrid"  # retrievers.RETRIEVERS, which would slow down the help


class RoundtripOptions(Options):
    """Compare retrievers on the questions of a run, over its own chunks.

    The run's own dense search comes first. Measures have 95 % intervals, and all pairs of retrievers are tested. No
    language model is needed; --ranking compares any other system.
    """

    run: Path = option(..., "The folder of a run.", metavar="RUN", argument=True)
    retriever: str = option("dense", f"Retrievers: {_NAMES} (reciprocal rank fusion of both).", metavar="NAME,...")
    ranking: tuple[Path, ...] = option(
        (),
        "A ranking of another system: a TREC run, or .jsonl with `id` and `chunk_ids`. Repeatable.",
        metavar="FILE",
    )
    out: Path | None = option(None, "Write a row for each question and retriever.", metavar="FILE.jsonl")
    as_json: bool = option(False, "Print one JSON document.", command_only=True)
    quiet: bool = option(False, "Show no progress.", short="-q")


Ranks = Sequence[int | None]  # of the groups of a question; None if one was not found


def _recall(most: int) -> Callable[[Ranks], float]:
    return lambda ranks: sum(rank is not None and rank <= most for rank in ranks) / len(ranks)


def _reciprocal(ranks: Ranks) -> float:
    return max(1 / rank if rank else 0.0 for rank in ranks)


def _gain(ranks: Ranks) -> float:
    gained = sum(1 / np.log2(1 + rank) for rank in ranks if rank and rank <= 10)
    return float(min(1.0, gained / sum(1 / np.log2(1 + rank) for rank in range(1, min(len(ranks), 10) + 1))))


MEASURES: Mapping[str, Callable[[Ranks], float]] = {
    "recall@1": _recall(1),
    "recall@5": _recall(5),
    "recall@10": _recall(10),
    "MRR": _reciprocal,
    "nDCG@10": _gain,
}
_TESTED = ("recall@5", "MRR", "nDCG@10")


class Result(NamedTuple):
    """The search of all questions with one retriever; ``ranks`` are those of the groups of each question."""

    retriever: str
    rankings: "list[Ranking]"
    ranks: list[Ranks]

    def values(self, measure: str) -> Values:
        """Return a measure of each question."""
        return np.array([MEASURES[measure](ranks) for ranks in self.ranks], dtype=float)


class Difference(NamedTuple):
    """The gain of retriever ``better`` over ``worse``; p is corrected for all tests of the comparison."""

    measure: str
    better: str
    worse: str
    gain: Estimate
    p: float
    detectable: float

    @property
    def is_significant(self) -> bool:
        """Return whether p is below 0.05 and the interval of the gain excludes zero."""
        return self.p < ALPHA and self.gain.low > 0


@dataclass(frozen=True)
class Comparison:
    """The results of all retrievers on the answerable questions of a run.

    Attributes:
        samples: these questions.
        chunks: the chunks that were searched.
        results: the result of each retriever, the run's own first.
        differences: every tested pair.
        notes: what to know about the method and its biases.
    """

    samples: Sequence[Sample]
    chunks: Sequence[Chunk]
    results: Sequence[Result]
    units: Units = field(repr=False)
    differences: Sequence[Difference]
    notes: Sequence[str]

    def estimates(self, result: Result) -> dict[str, Estimate]:
        """Return the measures of a retriever with their intervals."""
        return {name: bootstrap_mean(result.values(name), self.units) for name in MEASURES}

    def conclusions(self) -> list[str]:
        """Return a sentence for each pair of retrievers with a significant difference, and one for all others."""
        count, found = len(self.samples), [each for each in self.differences if each.is_significant]
        pairs: dict[tuple[str, str], list[str]] = {}
        for each in found:
            figure = f"{each.measure} +{each.gain}, {p_text(each.p)}"
            pairs.setdefault((each.better, each.worse), []).append(figure)
        lines = [f"{one} is better than {other}: {'; '.join(of)}; n={count}." for (one, other), of in pairs.items()]
        decided = {frozenset(pair) for pair in pairs}
        if rest := [each for each in self.differences if frozenset((each.better, each.worse)) not in decided]:
            least = float(np.median([each.detectable for each in rest]))
            seen = f"the smallest detectable is about {least:.2f}" if least < 1 else "more questions could show one"
            lines.append(f"No {'other ' if lines else ''}significant differences with n={count}; {seen}.")
        return lines

    def record(self) -> dict[str, Any]:
        """Return all figures as JSON types; an estimate is a list of its value and the bounds of its interval."""
        return {
            "questions": len(self.samples),
            "chunks": len(self.chunks),
            "retrievers": [
                {
                    "retriever": result.retriever,
                    **{name: _rounded(found) for name, found in self.estimates(result).items()},
                }
                for result in self.results
            ],
            "differences": [
                {
                    **each._asdict(),
                    "gain": _rounded(each.gain),
                    "detectable": round(each.detectable, 4),
                    "is_significant": each.is_significant,
                }
                for each in self.differences
            ],
            "conclusions": self.conclusions(),
            "notes": list(self.notes),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each question and retriever; ``rank`` is that of the last group, empty if one is missing."""
        for result in self.results:
            for sample, ranking, ranks in zip(self.samples, result.rankings, result.ranks, strict=True):
                found = [rank for rank in ranks if rank is not None]
                yield {
                    "id": sample.id,
                    "question": sample.question,
                    "retriever": result.retriever,
                    "rank": max(found) if len(found) == len(ranks) else None,
                    **{name: round(measure(ranks), 6) for name, measure in MEASURES.items()},
                    "retrieved_id": self.chunks[ranking[0]].chunk_id if ranking else "",
                    "retrieved_content": self.chunks[ranking[0]].text if ranking else "",
                }


def roundtrip(options: RoundtripOptions) -> None:
    """Compare the retrievers, and print or write the results."""
    found = compare(options)
    if options.as_json:
        say_lines(json.dumps(found.record(), ensure_ascii=False, indent=2))
        return
    rows = [[result.retriever, *map(str, found.estimates(result).values())] for result in found.results]
    say_table(["retriever", *MEASURES], rows)
    for line in (*found.conclusions(), *found.notes):
        say(line)


def compare(options: RoundtripOptions) -> Comparison:
    """Search the questions of a run with each retriever, and compare what they find.

    Raises:
        InputError: an option or a ranking is wrong, the run's embedder now has other weights, or no question has
            chunks to be found.
    """
    from groundset.files import check_target, write_rows
    from groundset.run.run import open_run

    if options.out is not None:
        check_target(expanded(options.out))
    run = open_run(options.run)
    samples = [sample for sample in run.samples if sample.retrieval_gt]
    if not samples:
        raise InputError(f"{run.folder}: has no question that a chunk answers, so there is nothing to be found")
    results = [_result(*searched, run, samples) for searched in _searched(options, run, samples)]
    units, _ = resampling_units([sample.contexts[0].doc_id for sample in samples])
    differences = _differences(results, units)
    found = Comparison(samples, list(run.chunks.values()), results, units, differences, _notes(run, samples, results))
    if options.out is not None:
        write_rows(expanded(options.out), found.rows())
    return found


def _searched(
    options: RoundtripOptions, run: "Run", samples: Sequence[Sample]
) -> "Iterator[tuple[str, list[Ranking]]]":
    """Yield name and rankings of each retriever."""
    from groundset.progress import Progress
    from groundset.retrieval.retrievers import RETRIEVERS, bm25, fuse, read_ranking

    names = list(dict.fromkeys(["dense", *filter(None, map(str.strip, options.retriever.split(",")))]))
    if unknown := [name for name in names if name not in RETRIEVERS]:
        raise InputError(f"--retriever {unknown[0]}: choose from {', '.join(RETRIEVERS)}")
    ids = [sample.id for sample in samples]
    others = {str(file): read_ranking(expanded(file), ids, list(run.chunks)) for file in options.ranking}
    texts, questions = [chunk.text for chunk in run.chunks.values()], [sample.question for sample in samples]
    searches: Mapping[str, Callable[[], list[Ranking]]] = {
        "dense": lambda: _dense(run, questions),
        "bm25": lambda: bm25(texts, questions),
        "hybrid": lambda: [fuse(*pair) for pair in zip(made["dense"], made["bm25"], strict=True)],
    }
    made: dict[str, list[Ranking]] = {}
    with Progress(quiet=options.quiet) as progress:
        for name in RETRIEVERS:
            if name in names or "hybrid" in names:
                progress.phase(f"Searching {len(questions):,} questions with {name}")
                made[name] = searches[name]()
    yield from ((name, made[name]) for name in names)
    yield from others.items()


def _dense(run: "Run", questions: Sequence[str]) -> "list[Ranking]":
    """Search with the vectors of the run.

    Raises:
        InputError: the embedder of the run now has other weights.
    """
    from groundset.retrieval.embed import open_embedder
    from groundset.retrieval.index import Index

    used = (run.record.get("models") or {}).get("embedder") or {}
    embedder = open_embedder(used.get("name") or DEFAULT_EMBEDDER)
    if embedder.sha256 != used.get("sha256"):
        raise InputError(f"{embedder.name}: its weights differ from those that {run.folder} was made with")
    places = {chunk_id: place for place, chunk_id in enumerate(run.chunks)}
    index = Index(run.vectors, list(run.chunks.values()), embedder)
    return [[places[hit.chunk_id] for hit in hits] for hits in index.search_many(questions)]


def _result(name: str, rankings: "list[Ranking]", run: "Run", samples: Sequence[Sample]) -> Result:
    places = {chunk_id: place for place, chunk_id in enumerate(run.chunks)}
    ranks: list[Ranks] = []
    for sample, ranking in zip(samples, rankings, strict=True):
        rank_of = {place: rank for rank, place in enumerate(ranking, 1)}
        found = [[rank_of.get(places[chunk_id]) for chunk_id in group] for group in sample.retrieval_gt]
        ranks.append([min((rank for rank in group if rank is not None), default=None) for group in found])
    return Result(name, rankings, ranks)


def _differences(results: Sequence[Result], units: Units) -> list[Difference]:
    """Test all pairs of retrievers."""
    pairs = [(name, *pair) for pair in combinations(results, 2) for name in _TESTED]
    pvalues = holm([permutation(one.values(name), other.values(name), units) for name, one, other in pairs])
    found = []
    for (name, one, other), p in zip(pairs, pvalues, strict=True):
        gains = other.values(name) - one.values(name)
        better, worse, sign = (other, one, 1) if gains.sum() >= 0 else (one, other, -1)
        gain = bootstrap_mean(sign * gains, units, lowest=-1.0)
        least = detectable(gain, len(gains), len(pairs), counted=False)
        found.append(Difference(name, better.retriever, worse.retriever, gain, p, least))
    return found


def _notes(run: "Run", samples: Sequence[Sample], results: Sequence[Result]) -> list[str]:
    from groundset.retrieval.index import SEARCH_DEPTH

    documents = len({sample.contexts[0].doc_id for sample in samples})
    notes = [f"{len(samples)} questions about {documents} documents; ranks beyond {SEARCH_DEPTH} count as not found."]
    if left_out := len(run.samples) - len(samples):
        notes.append(f"Questions that no chunk answers are left out: {left_out}.")
    if len(results) == 1:
        return [*notes, "--retriever and --ranking add what to compare with."]
    if run.record.get("configuration", {}).get("max_rank"):
        notes.append(
            "dense has an advantage: the run kept only questions whose chunks it found early; "
            "a run with --max-rank 0 is fair."
        )
    return notes


def _rounded(estimate: Estimate) -> list[float]:
    return [round(part, 4) for part in estimate]
