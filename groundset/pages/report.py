"""The report of a run: its figures as JSON types, and one HTML page with them and its questions.

An estimate is ``{"value", "low", "high", "of"}``: a share or a mean with its 95 % interval, or a
median with its quartiles, and the number of values. It is None where there are none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groundset import __version__
from groundset.agreement import own_questions, side_of
from groundset.files import is_stream, json_text, write_text
from groundset.options import RUN, Options, option
from groundset.pages.html import render
from groundset.printing import say, say_lines
from groundset.programs import stats
from groundset.programs.stats import Values, bootstrap_mean, resampling_units, wilson
from groundset.programs.text import tokens
from groundset.programs.types import Reject
from groundset.programs.users import Wording, asking, worded
from groundset.retrieval.gold import gold
from groundset.retrieval.index import last_rank, ranks_of, settled
from groundset.retrieval.retrievers import bm25
from groundset.run.record import frequencies, latest_reviews
from groundset.run.run import Run, open_run
from groundset.run.show import contradictions, signed
from groundset.run.subjects import unasked

NAME = "report.html"
_QUESTIONS = 500  # shown at most
Figures = dict[str, Any]

EARLY = 5  # the best ranks that count as found early
_RANKS = ("1", "2 to 3", "4 to 5", "6 to 10", "11 or more", "not found")
_BOUNDS = (2, 4, 6, 11, np.inf)  # of these ranks
_COSTS = ("calls", "prompt_tokens", "cached_tokens", "generated_tokens", "seconds")
_LONGEST_WORD = 24  # characters; scripts without spaces do not separate words


class ReportOptions(Options):
    """Write an HTML report on a run.

    Its sections are the questions with their answers and evidence, what was made and refused,
    retrieval, variety and cost. The page is one file that loads nothing. The wording of the
    questions stands beside what the writer was told (`generate --users`) and, with --queries,
    beside that of your users.
    """

    run: Path = RUN
    queries: Path | None = option(
        None,
        "Your users' queries: a .txt file of one a line, .csv or .jsonl with `question` or `query`,"
        " and perhaps the `chunk_id` that answers; or a run with such questions.",
        metavar="FILE|RUN",
    )
    out: Path | None = option(
        None, "The page; - is standard output.", metavar="FILE", shown="RUN/report.html"
    )
    as_json: bool = option(False, "Print the figures as JSON and write no page.", command_only=True)


def report(options: ReportOptions) -> Path | None:
    """Write the report of a run and return the path of the page.

    Raises:
        InputError: a folder holds no run, or the page cannot be written.
        RunError: a run is damaged.
    """
    run = open_run(options.run)
    queries = own_questions(options.queries, "--queries", run) if options.queries else None
    if options.as_json:
        say_lines(json_text(report_record(run, queries), indent=2))
        return None
    page = options.out or run.folder / NAME
    # A link in the place of our own is replaced.
    write_text(page, report_page(run, queries), follow=options.out is not None)
    if not is_stream(page):
        say(f"report: {page}")
    return page


def report_page(run: Run, queries: Run | None = None) -> str:
    """Return the report of a run as HTML."""
    figures, reviews = report_record(run, queries), latest_reviews(run.reviews)
    return render(
        "report.html",
        figures=figures,
        samples=run.samples[:_QUESTIONS],
        reviews=reviews,
        early=EARLY,
        version=__version__,
    )


def report_record(run: Run, queries: Run | None = None) -> Figures:
    """Return the figures of a run as JSON types; see the head of this module."""
    return {
        "run": run.folder.resolve().name,
        "status": run.status,
        "models": {role: model["name"] for role, model in run.record["models"].items()},
        "made": _made(run),
        "retrieval": _retrieval(run),
        "variety": _variety(run),
        "wording": _wording(run, queries),
        "cost": _cost(run),
    }


def share(part: int, whole: int) -> Figures | None:
    """Return a share with Wilson's interval."""
    found = wilson(part, whole)
    return found and {**found._asdict(), "of": whole, "part": part}


def quartiles(values: Sequence[float] | Values) -> Figures | None:
    """Return a median with the quartiles."""
    found = stats.quartiles(values)
    return found and {**found._asdict(), "of": len(values)}


def _made(run: Run) -> Figures:
    """Return what was made and refused: counts, reasons, and the yield of each document."""
    verdicts = signed(run)
    refused = [reject for reject in run.rejects if reject.question is not None]
    skipped = [reject for reject in run.rejects if reject.question is None]
    barren = {reject.chunk_id for reject in skipped}
    used = {chunk.chunk_id for sample in run.samples for chunk in sample.contexts}
    chunks = Counter(chunk.doc_id for chunk in run.chunks.values())
    made = Counter(
        doc_id for sample in run.samples for doc_id in {chunk.doc_id for chunk in sample.contexts}
    )
    lost = Counter(
        run.chunks[reject.chunk_id].doc_id for reject in refused if reject.chunk_id in run.chunks
    )
    documents = sorted(run.documents.values(), key=lambda document: -chunks[document.doc_id])
    return {
        "samples": len(run.samples),
        "asked": run.record["asked"],
        "attempts": run.record["attempts"],
        "kept": share(len(run.samples), len(run.samples) + len(refused)),
        "signed": share(sum(verdicts.values()), len(verdicts)),
        "documents": {"used": len(made), "of": len(run.documents)},
        "chunks": {"used": len(used), "refused": len(barren - used), "of": len(run.chunks)},
        "questions_refused": _reasons(refused),
        "chunks_refused": _reasons(skipped),
        "contradictions": contradictions(run),
        "unasked": unasked([*run.chunks.values()], run.samples),
        "by_document": [
            {
                "title": each.title,
                "path": each.path,
                "chunks": chunks[each.doc_id],
                "samples": made[each.doc_id],
                "refused": lost[each.doc_id],
            }
            for each in documents
        ],
    }


def _reasons(rejects: Sequence[Reject]) -> list[Figures]:
    """Return the reasons, the most frequent first, each with its first example."""
    groups: dict[tuple[str, str], list[Reject]] = defaultdict(list)
    for reject in rejects:
        # After a colon come details of one question.
        groups[reject.step, reject.reason.split(":")[0]].append(reject)
    fields = {"question", "reason", "chunk_id"}
    return [
        {
            "step": step,
            "reason": reason,
            "count": len(found),
            "example": found[0].model_dump(include=fields),
        }
        for (step, reason), found in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]


def _retrieval(run: Run) -> Figures:
    """Return at which rank a search of all chunks found the source of each question."""
    samples = [sample for sample in run.samples if sample.retrieval_gt]
    ranks = [sample.retrieval.rank for sample in samples]
    groups = gold(samples, run.chunks)
    by_words = bm25({chunk_id: chunk.text for chunk_id, chunk in run.chunks.items()})
    words = [
        last_rank(ranks_of(by_words(sample.question), needed))
        for sample, needed in zip(samples, groups, strict=True)
    ]
    first, never = settled([ranks, words], list(map(len, groups)))
    units, by_document = resampling_units([sample.contexts[0].doc_id for sample in samples])
    sight = stats.sight(len(samples))
    places = np.digitize([rank or np.inf for rank in ranks], _BOUNDS).tolist()

    def mean(values: Iterable[float]) -> Figures | None:
        found = np.array(list(values), dtype=float)
        return {**bootstrap_mean(found, units)._asdict(), "of": len(found)} if samples else None

    return {
        "questions": len(samples),
        "unanswerable": len(run.samples) - len(samples),
        "max_rank": run.record["configuration"].get("max_rank"),
        "resampled": "documents" if by_document else "questions",
        "first": mean(rank == 1 for rank in ranks),
        "early": mean(rank is not None and rank <= EARLY for rank in ranks),
        "reciprocal_rank": mean(1 / rank if rank else 0 for rank in ranks),
        "ranks": {name: places.count(place) for place, name in enumerate(_RANKS)},
        "bm25_first": mean(rank == 1 for rank in words),
        "found_first_by_both": first,
        "found_by_neither": never,
        "sight": {**sight._asdict(), "text": str(sight)},
        "selected": run.record.get("selected"),
    }


def _variety(run: Run) -> Figures:
    """Return how the questions differ."""
    samples = run.samples
    return {
        "evolutions": frequencies(sample.evolution for sample in samples),
        "kinds": frequencies(sample.kind for sample in samples),
        "first_words": frequencies(
            (tokens(sample.question) or [""])[0][:_LONGEST_WORD] for sample in samples
        ),
        "languages": frequencies(sample.language for sample in samples),
        "answer_words": quartiles([len(tokens(sample.answer)) for sample in samples]),
    }


def _wording(run: Run, queries: Run | None) -> Figures:
    """Return how questions are worded: as the writer was told, if it put them as users would, in
    the set, and in the user's own queries.
    """
    made = run.record["configuration"]
    users = asking(made.get("users", ""), made.get("like", ()))
    seeds = [each.metadata["seed_question"] for each in run if "situation" in each.metadata]
    told = list(map(users.drawn, seeds)) if users else []
    rows = {"wanted": _worded(told, [each.shared for each in told])} if told else {}
    for name, asked in (("set", run), ("queries", queries)):
        if asked is not None:
            shared = side_of(asked.samples, asked.chunks).shared_words(asked.documents)
            rows[name] = _worded([worded(sample.question) for sample in asked], shared)
    return rows


def _worded(questions: Sequence[Wording], shared: Sequence[float]) -> Figures:
    """Return how long questions are, which share of their content words stands near their gold, and
    how many are put in which way.
    """

    def part(of: Iterable[bool]) -> Figures | None:
        return share(sum(of), len(questions))

    return {
        "words": quartiles([each.words for each in questions]),
        "shared_words": quartiles(shared),
        "no_question_mark": part(not each.mark for each in questions),
        "several_sentences": part(each.several for each in questions),
        "no_punctuation": part(each.bare for each in questions),
    }


def _cost(run: Run) -> Figures:
    """Return calls, tokens and seconds, in total and per sample."""
    record, kept = run.record, len(run.samples)
    total = {name: record[name] for name in _COSTS if record.get(name)}
    return {
        "total": total,
        "per_sample": {name: number / kept for name, number in total.items()} if kept else {},
    }
