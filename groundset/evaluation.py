"""`groundset roundtrip`: how well retrievers find the chunks that the questions of a run need.

A question needs one chunk of each group of ``retrieval_gt``. The rank of a group is the best rank
of its chunks.

| measure | of one question |
|---|---|
| recall@k | the share of its groups among the first k chunks |
| MRR | one divided by the rank of its first group |
| nDCG@10 | the discounted gain of its groups among the first 10 chunks, of the highest possible |

Intervals resample documents, or questions where there are few documents. All pairs of retrievers
are compared by paired permutation tests of one measure, corrected by Holm's method. A baseline is
compared by ``retrieval/gate.py``. Questions that a reviewer refused do not count.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from groundset.agreement import (
    SIZES,
    Method,
    RankingAgreement,
    Side,
    agreement,
    methods_at,
    own_questions,
    side_of,
    together,
)
from groundset.files import check_target, write_rows
from groundset.options import AS_JSON, QUIET, RUN, Options, option
from groundset.printing import Progress, counted, say, say_lines, say_table
from groundset.programs import stats
from groundset.programs.errors import InputError
from groundset.programs.stats import ALPHA, Estimate, Units, Values, bootstrap_mean
from groundset.programs.types import Sample
from groundset.retrieval.embed import Embedder
from groundset.retrieval.gate import Gate, gate
from groundset.retrieval.gold import Groups, gold, holders
from groundset.retrieval.index import SEARCH_DEPTH, Ranks, last_rank, ranks_of, settled
from groundset.retrieval.retrievers import RETRIEVERS, Ranking
from groundset.rows import jsonl_rows, required
from groundset.run.run import Run, open_run
from groundset.searching import (
    MEASURES,
    answerable,
    ask_own,
    embedder_of,
    ranked,
    search,
    values_of,
)

_TESTED = "nDCG@10"  # between two searches it varies least over questions, so it sees most


class RoundtripOptions(Options):
    """Compare retrievers on the questions of a run, over its own chunks.

    The run's own dense search comes first. Measures have 95 % intervals, and all pairs of
    retrievers are tested. No language model is needed; --retriever or --ranking compares your own
    system. With --baseline the exit status is 4 if it finds less than before, and the last line of
    the output is Markdown.
    """

    run: Path = RUN
    retriever: str = option(
        "dense",
        f"Retrievers: {', '.join(RETRIEVERS)} (reciprocal rank fusion of both), and your own,"
        " `module:function`, or the address of a server.",
        metavar="NAME,...",
    )
    against: Path | None = option(
        None,
        "Your users' own questions on the same documents, a run of `generate --questions` or .csv"
        " or .jsonl with `question` and `chunk_id`: does the set rank retrievers as they do?",
        metavar="OWN",
    )
    ranking: tuple[Path, ...] = option(
        (),
        "A ranking of another system: a TREC run, or .jsonl with `id` and `chunk_ids`. Repeatable.",
        metavar="FILE",
    )
    measure: Literal["recall@1", "recall@5", "recall@10", "MRR", "nDCG@10"] = option(
        _TESTED, "The measure that is tested; the others are shown.", metavar="MEASURE"
    )
    baseline: Path | None = option(
        None,
        "An earlier ranking to test your own system against, or what --out wrote (its last"
        " retriever counts).",
        metavar="FILE",
    )
    out: Path | None = option(
        None, "Write a row for each question and retriever.", metavar="FILE.jsonl"
    )
    as_json: bool = AS_JSON
    quiet: bool = QUIET


_LOST = 4  # the exit status
_FEWEST_OWN = 4  # own questions, of which halves can be compared


class RetrieverResult(NamedTuple):
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

    @property
    def is_significant(self) -> bool:
        """Return whether p is below 0.05 and the interval of the gain excludes zero."""
        return self.p < ALPHA and self.gain.low > 0


class Comparison(NamedTuple):
    """The results of all retrievers on the answerable questions of a run."""

    samples: Sequence[Sample]  # these questions
    texts: Mapping[str, str]  # of the chunks that were searched, by id
    results: Sequence[RetrieverResult]  # of each retriever, the run's own first
    measure: str  # that is tested
    differences: Sequence[Difference]  # every pair
    notes: Sequence[str]  # what to know about the method and its biases
    gate: Gate | None = None  # the last result beside a baseline
    agreement: RankingAgreement | None = None  # with the user's own questions

    def conclusions(self) -> list[str]:
        """Return a sentence for each pair of retrievers with a significant difference, and one for
        all others.
        """
        count, found = len(self.samples), [each for each in self.differences if each.is_significant]
        lines = [
            f"{each.better} is better than {each.worse}: {self.measure} +{each.gain},"
            f" {stats.p_text(each.p)}; n={count}."
            for each in found
        ]
        if len(found) < len(self.differences):
            lines.append(f"No {'other ' if lines else ''}significant differences with n={count}.")
        return lines

    @property
    def sight(self) -> stats.Sight:
        """Return what so many questions can show, by how much these retrievers differ on one."""
        count = len(self.samples)
        spreads = [stats.spread_of(each.gain, count) for each in self.differences]
        return stats.sight(count, float(np.median(spreads))) if spreads else stats.sight(count)

    @property
    def settled(self) -> tuple[int, int]:
        """Return how many questions every retriever finds first, and how many none finds."""
        ranks = [[last_rank(each) for each in result.ranks] for result in self.results]
        return settled(ranks, [len(each) for each in self.results[0].ranks])

    def what_it_sees(self) -> str:
        """Return what the questions can tell apart, in words."""
        first, never = self.settled
        means = [result.estimates[self.measure].value for result in self.results]
        told = f"{self.measure} from {min(means):.2f} to {max(means):.2f}"
        return (
            f"{first} questions are found first and {never} not at all, whatever the retriever;"
            f" {told}. {self.sight}."
        )

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
                {"measure": self.measure, **each._asdict(), "is_significant": each.is_significant}
                for each in self.differences
            ],
            "found_first_by_all": self.settled[0],
            "found_by_none": self.settled[1],
            "sight": self.sight._asdict(),
            "conclusions": self.conclusions(),
            "notes": list(self.notes),
            **({"gate": self.gate.record()} if self.gate else {}),
            **({"agreement": self.agreement._asdict()} if self.agreement else {}),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each question and retriever; ``rank`` is that of the last group, empty if
        one is missing.
        """
        for result in self.results:
            searched = zip(self.samples, result.rankings, result.ranks, strict=True)
            for number, (sample, ranking, ranks) in enumerate(searched):
                first = ranking[0] if ranking else ""
                yield {
                    "id": sample.id,
                    "question": sample.question,
                    "retriever": result.retriever,
                    "rank": last_rank(ranks),
                    **{
                        name: round(float(values[number]), 6)
                        for name, values in result.values.items()
                    },
                    "retrieved_id": first if first in self.texts else "",
                    "retrieved_content": self.texts.get(first, first),
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
    for line in (*found.conclusions(), found.what_it_sees(), *found.notes):
        say(line)
    if found.agreement:
        say_table(["agreement", "the set", "own questions"], found.agreement.table())
        for line in found.agreement.notes():
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
        check_target(options.out)
    run = open_run(options.run)
    samples = answerable(run)
    if not samples:
        raise InputError(
            f"{run.folder}: has no question that a chunk answers, so there is nothing to be found"
        )
    units, _ = stats.resampling_units([sample.contexts[0].doc_id for sample in samples])
    systems = {*_names(options)} - {*RETRIEVERS}
    if options.baseline and len(systems) + len(options.ranking) != 1:
        raise InputError(
            "--baseline: name one --ranking FILE, or your own --retriever, which is tested against"
            " it"
        )
    own = _own_side(options.against, run) if options.against else Side([], [])
    ours = side_of(samples, run.chunks)
    asked = together(ours, own)
    groups = [*gold(samples, run.chunks), *holders(own.places, run.chunks)]
    agreed, count = None, len(samples)
    with Progress(quiet=options.quiet) as progress:
        progress.phase(f"Searching {len(groups):,} questions")
        embedder = embedder_of(run)
        rankings = _rankings(options, run, embedder, asked.samples, groups)
        results = [
            measured(name, found[:count], groups[:count], units) for name, found in rankings.items()
        ]
        if options.against:
            methods = [
                Method(name, 0, [*map(ranks_of, found, groups)]) for name, found in rankings.items()
            ]
            usual = float(np.median([len(chunk.text) for chunk in run.chunks.values()]))
            for size in (round(factor * usual) for factor in SIZES):
                progress.phase(f"Searching chunks of {size:,} characters")
                methods += methods_at(size, run, embedder, asked)
            agreed = agreement(run, ours, own, methods, options.measure)
    tested = (
        _gate(options.baseline, run, samples, groups[:count], results[-1], options.measure)
        if options.baseline
        else None
    )
    texts = {chunk_id: chunk.text for chunk_id, chunk in run.chunks.items()}
    pairs = differences(results, units, options.measure)
    notes = _notes(run, samples, results)
    found = Comparison(samples, texts, results, options.measure, pairs, notes, tested, agreed)
    if options.out is not None:
        write_rows(options.out, found.rows())
    return found


def _names(options: RoundtripOptions) -> list[str]:
    """Return the names of the retrievers, each once, the run's own first; beside own questions all
    built-in ones.
    """
    named = [*filter(None, map(str.strip, options.retriever.split(",")))]
    if unknown := [name for name in named if name not in RETRIEVERS and ":" not in name]:
        raise InputError(
            f"--retriever {unknown[0]}: choose from {', '.join(RETRIEVERS)}, or name your own as"
            " module:function"
        )
    return list(dict.fromkeys(("dense", *(RETRIEVERS if options.against else ()), *named)))


def _rankings(
    options: RoundtripOptions,
    run: Run,
    embedder: Embedder,
    samples: Sequence[Sample],
    groups: Sequence[Groups],
) -> dict[str, list[Ranking]]:
    """Return what each retriever finds for some questions."""
    names = _names(options)
    questions = [sample.question for sample in samples]
    built_in = search(run, embedder, questions, [name for name in names if name in RETRIEVERS])
    own = {name: ask_own(name, run, samples, groups) for name in names if name not in RETRIEVERS}
    return built_in | own | {str(file): ranked(file, run, samples) for file in options.ranking}


def _own_side(source: Path, run: Run) -> Side:
    """Return the user's own questions on the documents of a run."""
    own = own_questions(source, "--against", run)
    if strange := own.documents.keys() - run.documents.keys():
        path = own.documents[min(strange)].path
        raise InputError(f"--against {source}: {path} differs in RUN; take the same documents")
    found = side_of(answerable(own), own.chunks)
    if (count := len(found.samples)) < _FEWEST_OWN:
        raise InputError(
            f"--against {source}: only {counted(count, 'question')} with known chunks; take 20 or"
            " more, with a column chunk_id or as a run"
        )
    return found


def _gate(
    baseline: Path,
    run: Run,
    samples: Sequence[Sample],
    groups: Sequence[Groups],
    result: RetrieverResult,
    measure: str,
) -> Gate:
    """Test a result against a ranking, or against the values that an earlier call wrote, on the
    questions of both.
    """
    notes = []
    common, before = list(range(len(samples))), {}
    first = next(jsonl_rows(baseline), ("", {}))[1] if baseline.suffix.lower() == ".jsonl" else {}
    if "retriever" in first:
        ids = [sample.id for sample in samples]
        rows = {
            required(where, fields, "id"): (where, fields) for where, fields in jsonl_rows(baseline)
        }
        common = [place for place, each in enumerate(ids) if each in rows]
        if not common:
            raise InputError(f"--baseline {baseline}: has no row of a question of the run")
        before = {
            name: np.array([_value(*rows[ids[place]], name) for place in common])
            for name in MEASURES
        }
        if left_out := len(ids) + len(rows) - 2 * len(common):
            notes.append(
                "Left out, as only the run or only the baseline has them:"
                f" {counted(left_out, 'question')}."
            )
    elif any(sample.aligned for sample in samples):
        raise InputError(
            f"--baseline {baseline}: ranks chunks, which differ since the run was aligned; take"
            " what roundtrip --out wrote before"
        )
    else:
        rankings = ranked(baseline, run, samples)
        before = values_of([*map(ranks_of, rankings, groups)])
    after = {name: values[common] for name, values in result.values.items()}
    return gate([samples[place] for place in common], before, after, measure, notes)


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
) -> RetrieverResult:
    """Measure rankings by the groups of chunks that each question needs."""
    ranks = [*map(ranks_of, rankings, gold)]
    values = values_of(ranks)
    estimates = {name: bootstrap_mean(each, units) for name, each in values.items()}
    return RetrieverResult(name, rankings, ranks, values, estimates)


def differences(results: Sequence[RetrieverResult], units: Units, measure: str) -> list[Difference]:
    """Test all pairs of retrievers."""
    pairs = [
        sorted(pair, key=lambda each: -each.estimates[measure].value)
        for pair in combinations(results, 2)
    ]
    gains = [better.values[measure] - worse.values[measure] for better, worse in pairs]
    pvalues = stats.holm([stats.permutation(gain, units) for gain in gains])
    return [
        Difference(better.retriever, worse.retriever, bootstrap_mean(gain, units, lowest=-1.0), p)
        for (better, worse), gain, p in zip(pairs, gains, pvalues, strict=True)
    ]


def _notes(run: Run, samples: Sequence[Sample], results: Sequence[RetrieverResult]) -> list[str]:
    documents = len({sample.contexts[0].doc_id for sample in samples})
    notes = [
        f"{len(samples)} questions about {documents} documents; ranks beyond {SEARCH_DEPTH} count"
        " as not found."
    ]
    if selected := run.record.get("selected"):
        notes.append(selected)
    unanswered = sum(not sample.retrieval_gt for sample in run.samples)
    if unanswered:
        notes.append(f"Questions that no chunk answers are left out: {unanswered}.")
    if refused := len(run.samples) - unanswered - len(samples):
        notes.append(f"Questions that a reviewer refused are left out: {refused}.")
    if len(results) == 1:
        return [*notes, "--retriever and --ranking add what to compare with."]
    if run.record["configuration"].get("max_rank"):
        notes.append(
            "dense has an advantage: the run kept only questions whose chunks it found early; "
            "a run with --max-rank 0 is fair."
        )
    return notes
