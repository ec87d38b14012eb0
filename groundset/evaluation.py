"""`groundset roundtrip`: how well retrievers find the chunks that the questions of a run need.

A question needs one chunk of each group of ``retrieval_gt``. The rank of a group is the best rank
of its chunks.

| measure | of one question |
|---|---|
| recall@k | the share of its groups among the first k chunks |
| MRR | one divided by the rank of its first group |
| nDCG@10 | the discounted gain of its groups among the first 10 chunks, of the highest possible |

Intervals resample documents, or questions where there are few documents. All pairs of retrievers
are compared by paired permutation tests of nDCG@10, corrected by Holm's method. A baseline is
compared by ``retrieval/gate.py``.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundset import stats
from groundset.files import check_target, write_rows
from groundset.options import DEFAULT_EMBEDDER, Options, expanded, option
from groundset.printing import Progress, counted, say, say_lines, say_table
from groundset.programs.errors import InputError
from groundset.programs.types import Sample
from groundset.retrieval import embed
from groundset.retrieval.gate import Gate, code_span, gate
from groundset.retrieval.index import SEARCH_DEPTH, Index
from groundset.retrieval.retrievers import RETRIEVERS, Ranking, bm25, fuse, read_ranking
from groundset.rows import jsonl_rows, required
from groundset.run.run import Run, open_run
from groundset.stats import ALPHA, Estimate, Units, Values, bootstrap_mean


class RoundtripOptions(Options):
    """Compare retrievers on the questions of a run, over its own chunks.

    The run's own dense search comes first. Measures have 95 % intervals, and all pairs of
    retrievers are tested. No language model is needed; --ranking compares any other system. With
    --baseline the exit status is 4 if that system finds less than before, and the last line of the
    output is Markdown.
    """

    run: Path = option(..., "The folder of a run.", metavar="RUN", argument=True)
    retriever: str = option(
        "dense",
        f"Retrievers: {', '.join(RETRIEVERS)} (reciprocal rank fusion of both).",
        metavar="NAME,...",
    )
    ranking: tuple[Path, ...] = option(
        (),
        "A ranking of another system: a TREC run, or .jsonl with `id` and `chunk_ids`. Repeatable.",
        metavar="FILE",
    )
    baseline: Path | None = option(
        None,
        "An earlier ranking to test that of --ranking against, or what --out wrote (its last"
        " retriever counts).",
        metavar="FILE",
    )
    out: Path | None = option(
        None, "Write a row for each question and retriever.", metavar="FILE.jsonl"
    )
    as_json: bool = option(False, "Print one JSON document.", command_only=True)
    quiet: bool = option(False, "Show no progress.", short="-q")


Ranks = Sequence[int | None]  # of the groups of a question; None if one was not found


def _recall(most: int) -> Callable[[Ranks], float]:
    return lambda ranks: sum(rank is not None and rank <= most for rank in ranks) / len(ranks)


def _gain(ranks: Ranks) -> float:
    gained = sum(1 / np.log2(1 + rank) for rank in ranks if rank and rank <= 10)
    return float(
        min(1.0, gained / sum(1 / np.log2(1 + rank) for rank in range(1, min(len(ranks), 10) + 1)))
    )


MEASURES: Mapping[str, Callable[[Ranks], float]] = {
    "recall@1": _recall(1),
    "recall@5": _recall(5),
    "recall@10": _recall(10),
    "MRR": lambda ranks: max(1 / rank if rank else 0.0 for rank in ranks),
    "nDCG@10": _gain,
}
_TESTED = "nDCG@10"
_LOST = 4  # the exit status
_TOO_FEW = "that says nothing, since so few questions could not have shown any"


class Result(NamedTuple):
    """The search of all questions with one retriever."""

    retriever: str
    rankings: list[Ranking]  # the ids of the chunks found for each question, the best first
    ranks: list[Ranks]  # of the groups of each question
    values: Mapping[str, Values]  # each measure of each question
    estimates: Mapping[str, Estimate]  # each measure with its interval


class Difference(NamedTuple):
    """The gain of retriever ``better`` over ``worse`` in a measure; p is corrected for all tests of
    the comparison.
    """

    better: str
    worse: str
    gain: Estimate
    p: float
    detectable: float

    @property
    def is_significant(self) -> bool:
        """Return whether p is below 0.05 and the interval of the gain excludes zero."""
        return self.p < ALPHA and self.gain.low > 0


class Comparison(NamedTuple):
    """The results of all retrievers on the answerable questions of a run."""

    samples: Sequence[Sample]  # these questions
    texts: Mapping[str, str]  # of the chunks that were searched, by id
    results: Sequence[Result]  # of each retriever, the run's own first
    differences: Sequence[Difference]  # every pair
    notes: Sequence[str]  # what to know about the method and its biases
    gate: Gate | None = None  # the last result beside a baseline

    def conclusions(self) -> list[str]:
        """Return a sentence for each pair of retrievers with a significant difference, and one for
        all others.
        """
        count, found = len(self.samples), [each for each in self.differences if each.is_significant]
        if self.differences and count < 2:
            return [
                "One question cannot tell retrievers apart, so none are compared; take a run with"
                " more questions."
            ]
        lines = [
            f"{each.better} is better than {each.worse}: {_TESTED} +{each.gain},"
            f" {stats.p_text(each.p)}; n={count}."
            for each in found
        ]
        if rest := [each.detectable for each in self.differences if not each.is_significant]:
            least = float(np.median(rest))
            seen = f"the smallest detectable is about {least:.2f}" if least < 1 else _TOO_FEW
            lines.append(
                f"No {'other ' if lines else ''}significant differences with n={count}; {seen}."
            )
        return lines

    def record(self) -> dict[str, Any]:
        """Return all figures as JSON types; an estimate is a list of its value and the bounds of
        its interval.
        """
        return {
            "questions": len(self.samples),
            "chunks": len(self.texts),
            "retrievers": [
                {"retriever": each.retriever, **each.estimates} for each in self.results
            ],
            "differences": [
                {"measure": _TESTED, **each._asdict(), "is_significant": each.is_significant}
                for each in self.differences
            ],
            "conclusions": self.conclusions(),
            "notes": list(self.notes),
            **({"gate": self.gate.record()} if self.gate else {}),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each question and retriever; ``rank`` is that of the last group, empty if
        one is missing.
        """
        for result in self.results:
            searched = zip(self.samples, result.rankings, result.ranks, strict=True)
            for number, (sample, ranking, ranks) in enumerate(searched):
                found = [rank for rank in ranks if rank is not None]
                yield {
                    "id": sample.id,
                    "question": sample.question,
                    "retriever": result.retriever,
                    "rank": max(found) if len(found) == len(ranks) else None,
                    **{
                        name: round(float(values[number]), 6)
                        for name, values in result.values.items()
                    },
                    "retrieved_id": ranking[0] if ranking else "",
                    "retrieved_content": self.texts[ranking[0]] if ranking else "",
                }


def roundtrip(options: RoundtripOptions) -> int:
    """Compare the retrievers, print or write the results, and return the exit status."""
    found = compare(options)
    status = _LOST if found.gate and found.gate.losses else 0
    if options.as_json:
        say_lines(json.dumps(found.record(), ensure_ascii=False, indent=2))
        return status
    say_table(
        ["retriever", *MEASURES],
        [[each.retriever, *map(str, each.estimates.values())] for each in found.results],
    )
    for line in (*found.conclusions(), *found.notes):
        say(line)
    if found.gate:
        say(found.gate.markdown())
    return status


def compare(options: RoundtripOptions) -> Comparison:
    """Search the questions of a run with each retriever, and compare what they find.

    Raises:
        InputError: an option or a ranking is wrong, the run's embedder now has other weights, or no
            question has chunks to be found.
    """
    if options.out is not None:
        check_target(expanded(options.out))
    run = open_run(options.run)
    samples = [sample for sample in run.samples if sample.retrieval_gt]
    if not samples:
        raise InputError(
            f"{run.folder}: has no question that a chunk answers, so there is nothing to be found"
        )
    units, _ = stats.resampling_units([sample.contexts[0].doc_id for sample in samples])
    if options.baseline and len(options.ranking) != 1:
        raise InputError("--baseline: name one --ranking FILE, which is tested against it")
    gold = [sample.retrieval_gt for sample in samples]
    results = [measured(*searched, gold, units) for searched in _searched(options, run, samples)]
    gate = (
        _gate(expanded(options.baseline), run, samples, results[-1], units)
        if options.baseline
        else None
    )
    texts = {chunk_id: chunk.text for chunk_id, chunk in run.chunks.items()}
    found = Comparison(
        samples, texts, results, differences(results, units), _notes(run, samples, results), gate
    )
    if options.out is not None:
        write_rows(expanded(options.out), found.rows())
    return found


def _searched(
    options: RoundtripOptions, run: Run, samples: Sequence[Sample]
) -> Iterator[tuple[str, list[Ranking]]]:
    """Yield name and rankings of each retriever."""
    names = list(
        dict.fromkeys(["dense", *filter(None, map(str.strip, options.retriever.split(",")))])
    )
    if unknown := [name for name in names if name not in RETRIEVERS]:
        raise InputError(f"--retriever {unknown[0]}: choose from {', '.join(RETRIEVERS)}")
    ids = [sample.id for sample in samples]
    others = {
        str(file): read_ranking(expanded(file), ids, run.chunks.keys()) for file in options.ranking
    }
    yield from search(
        run, [sample.question for sample in samples], names, quiet=options.quiet
    ).items()
    yield from others.items()


def search(
    run: Run, questions: Sequence[str], names: Sequence[str], *, quiet: bool = False
) -> dict[str, list[Ranking]]:
    """Return the rankings of retrievers, of which the first is the dense one of the run.

    Raises:
        InputError: the embedder of the run now has other weights.
    """
    with Progress(quiet=quiet) as progress:
        progress.phase(f"Searching {len(questions):,} questions")
        used = (run.record.get("models") or {}).get("embedder") or {}
        embedder = embed.open_embedder(used.get("name") or DEFAULT_EMBEDDER)
        if embedder.sha256 != used.get("sha256"):
            raise InputError(
                f"{embedder.name}: its weights differ from those that {run.folder} was made with"
            )
        index = Index(run.vectors, list(run.chunks.values()), embedder)
        made = {"dense": [[hit.chunk_id for hit in hits] for hits in index.search_many(questions)]}
        if len(names) > 1:
            by_words = bm25({chunk_id: chunk.text for chunk_id, chunk in run.chunks.items()})
            made["bm25"] = list(map(by_words, questions))
            made["hybrid"] = [fuse(*pair) for pair in zip(made["dense"], made["bm25"], strict=True)]
    return {name: made[name] for name in names}


def _gate(
    baseline: Path, run: Run, samples: Sequence[Sample], result: Result, units: Units
) -> Gate:
    """Test a result against a ranking, or against the values that an earlier call wrote, on the
    questions of both.
    """
    ids, common = [sample.id for sample in samples], list(range(len(samples)))
    unranked, notes = {result.retriever: result.rankings}, []
    before: Mapping[str, Values]
    first = next(jsonl_rows(baseline), ("", {}))[1] if baseline.suffix.lower() == ".jsonl" else {}
    if "retriever" in first:
        rows = {
            required(where, fields, "id"): (where, fields) for where, fields in jsonl_rows(baseline)
        }
        common = [place for place, each in enumerate(ids) if each in rows]
        if not common:
            raise InputError(f"--baseline {baseline}: has no row of a question of the run")
        before = {
            measure: np.array([_value(*rows[ids[place]], measure) for place in common])
            for measure in MEASURES
        }
        if left_out := len(ids) + len(rows) - 2 * len(common):
            notes.append(
                "Left out, as only the run or only the baseline has them:"
                f" {counted(left_out, 'question')}."
            )
    else:
        unranked[str(baseline)] = read_ranking(baseline, ids, run.chunks.keys())
        gold = [sample.retrieval_gt for sample in samples]
        before = measured(str(baseline), unranked[str(baseline)], gold, units).values
    for name, rankings in unranked.items():
        if count := rankings.count([]):
            notes.append(
                f"{counted(count, 'question')} without a ranking in {code_span(name)} count as not"
                " found."
            )
    after = {measure: values[common] for measure, values in result.values.items()}
    return gate([samples[place] for place in common], before, after, notes)


def _value(where: str, fields: Mapping[str, Any], measure: str) -> float:
    """Return the value of a measure in a row of ``--out``."""
    value = fields.get(measure)
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            f"{where}, column {measure}: must be a number from 0 to 1, as roundtrip --out writes it"
        )
    return float(value)


def measured(
    name: str, rankings: list[Ranking], gold: Sequence[Sequence[Sequence[str]]], units: Units
) -> Result:
    """Measure rankings by the groups of chunks that each question needs."""
    ranks: list[Ranks] = []
    for groups, ranking in zip(gold, rankings, strict=True):
        rank_of = {chunk_id: rank for rank, chunk_id in enumerate(ranking, 1)}
        found = [
            [rank_of[chunk_id] for chunk_id in group if chunk_id in rank_of] for group in groups
        ]
        ranks.append([min(group, default=None) for group in found])
    values = {
        name: np.array([measure(each) for each in ranks], dtype=float)
        for name, measure in MEASURES.items()
    }
    return Result(
        name,
        rankings,
        ranks,
        values,
        {name: bootstrap_mean(each, units) for name, each in values.items()},
    )


def differences(
    results: Sequence[Result], units: Units, measure: str = _TESTED
) -> list[Difference]:
    """Test all pairs of retrievers."""
    pairs = list(combinations(results, 2))
    pvalues = stats.holm(
        [
            stats.permutation(one.values[measure], other.values[measure], units)
            for one, other in pairs
        ]
    )
    found = []
    for (one, other), p in zip(pairs, pvalues, strict=True):
        better, worse = sorted((one, other), key=lambda each: -each.estimates[measure].value)
        gain = bootstrap_mean(better.values[measure] - worse.values[measure], units, lowest=-1.0)
        found.append(
            Difference(
                better.retriever, worse.retriever, gain, p, stats.detectable_gain(gain, len(pairs))
            )
        )
    return found


def _notes(run: Run, samples: Sequence[Sample], results: Sequence[Result]) -> list[str]:
    documents = len({sample.contexts[0].doc_id for sample in samples})
    notes = [
        f"{len(samples)} questions about {documents} documents; ranks beyond {SEARCH_DEPTH} count"
        " as not found."
    ]
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
