"""The questions of a run beside those that its users ask: how alike they are, and what both say of
retrievers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from groundset.evaluation import Result, differences, measured, search
from groundset.programs.errors import InputError
from groundset.programs.languages import LANGUAGES, language_among
from groundset.programs.text import one_line, plain, tokens
from groundset.retrieval.gold import gold
from groundset.retrieval.retrievers import RETRIEVERS, Ranking
from groundset.rows import named_rows, optional
from groundset.run.run import Run, open_run
from groundset.stats import Estimate, Units, bootstrap_mean, equal_width, resampling_units, wilson

_MOST = 10_000  # queries
_FEWEST = 20  # questions of each side, for the classifier
_TOP = 10  # results that retrievers may have in common
# That are shown, and characters; scripts without spaces do not separate words.
_OPENINGS, _LONGEST_WORD = 6, 24


class _Side(NamedTuple):
    """Questions with what is found; ``gold`` are groups of chunks of the run, none where they are
    unknown.
    """

    run: Run
    questions: Sequence[str]
    languages: Sequence[str]
    gold: Sequence[Sequence[Sequence[str]]]
    units: Units
    found: Mapping[str, list[Ranking]]


def beside_queries(run: Run, source: Path) -> dict[str, Any]:
    """Return the figures of a run's questions and of queries, in a file or another run, as JSON
    types.

    Raises:
        InputError: the queries cannot be read, or one side is empty or cannot be searched.
    """
    queries = _of_run(open_run(source)) if source.is_dir() else _of_file(source, run)
    sides = _of_run(run), queries
    texts, results = [side.questions for side in sides], [_results(side) for side in sides]
    ours, theirs = (_measures(side, found) for side, (found, _) in zip(sides, results, strict=True))
    rows = {name: (ours[name], theirs[name]) for name in ours if name in theirs} | _openings(*texts)
    apart = _told_apart(*texts) if min(map(len, texts)) >= _FEWEST else None
    told = (
        f"AUC {apart}; 0.50 or less is best, and other topics raise it"
        if apart
        else f"too few, under {_FEWEST}"
    )
    return {
        "source": str(source),
        "questions": [len(questions) for questions in texts],
        "measures": [
            {"measure": name, "set": pair[0], "queries": pair[1], "text": [*map(_text, pair)]}
            for name, pair in rows.items()
        ],
        "told_apart": apart,
        "conclusions": [
            f"How well a classifier tells questions and queries apart: {told}.",
            _order(results),
        ],
    }


def _of_run(run: Run) -> _Side:
    if not run.samples:
        raise InputError(f"{run.folder}: has no questions to be compared")
    units, _ = resampling_units([each.contexts[0].doc_id for each in run.samples])
    questions, languages = zip(*((s.question, s.language) for s in run.samples), strict=True)
    groups, found = gold(run.samples, run.chunks), search(run, questions, RETRIEVERS)
    return _Side(run, questions, languages, groups, units, found)


def _of_file(file: Path, run: Run) -> _Side:
    """Read the queries of a file, each once; of several chunks of a query any one serves."""
    chunks: dict[str, list[str]] = {}
    for where, fields in named_rows(file, "--queries", "question"):
        if not {"question", "query"} & fields.keys():
            raise InputError(f"{where}: column question or query is missing")
        query = one_line(
            optional(where, fields, "question") or optional(where, fields, "query") or ""
        )
        chunk = optional(where, fields, "chunk_id")
        if chunk is not None and chunk not in run.chunks:
            raise InputError(f"{where}, column chunk_id: no chunk {chunk} in {run.folder}")
        chunks.setdefault(query, []).extend([chunk] if chunk else [])
    chunks.pop("", None)
    if not 0 < len(chunks) <= _MOST:
        raise InputError(
            f"--queries {file}: give 1 to {_MOST:,} different queries, not {len(chunks):,}"
        )
    queries, known = list(chunks), {sample.language for sample in run.samples}
    groups = [[ids] if ids else [] for ids in chunks.values()]
    languages = [language_among(query, known) for query in queries]
    return _Side(
        run, queries, languages, groups, np.arange(len(queries)), search(run, queries, RETRIEVERS)
    )


def _results(side: _Side) -> tuple[list[Result], Units]:
    """Return what retrievers find of the questions with gold passages, if there are any, and their
    units.
    """
    known = [place for place, groups in enumerate(side.gold) if groups]
    groups, units = [side.gold[place] for place in known], side.units[known]
    rankings = {
        name: [found[place] for place in known] for name, found in side.found.items() if known
    }
    return [measured(name, found, groups, units) for name, found in rankings.items()], units


def _measures(side: _Side, results: Sequence[Result]) -> dict[str, Estimate | None]:
    low, middle, high = np.quantile(
        [len(tokens(question)) for question in side.questions], (0.25, 0.5, 0.75)
    ).tolist()
    needed, first = (
        [[group[0] for group in groups] for groups in side.gold],
        [each[:1] for each in side.found["hybrid"]],
    )
    found: dict[str, Estimate | None] = {
        "words (median, quartiles)": Estimate(middle, low, high),
        "content words copied from the gold passage": _copied(side, needed),
        "content words copied from the first passage found": _copied(side, first),
    }
    for one, other in combinations(RETRIEVERS, 2):
        pairs = zip(side.found[one], side.found[other], strict=True)
        common = [
            len({*a[:_TOP]} & {*b[:_TOP]}) / max(len(a[:_TOP]), len(b[:_TOP]), 1) for a, b in pairs
        ]
        found[f"first {_TOP} results of {one} and {other} in common"] = bootstrap_mean(
            np.array(common), side.units
        )
    return found | {
        f"{name} of {each.retriever}": each.estimates[name]
        for name in ("recall@5", "MRR")
        for each in results
    }


def _copied(side: _Side, passages: Sequence[Sequence[str]]) -> Estimate | None:
    """Estimate the share of the content words of a question that its passages have."""
    shares, places = [], []
    for place, (question, code) in enumerate(zip(side.questions, side.languages, strict=True)):
        text = "\n".join(plain(side.run.chunks[chunk_id].text) for chunk_id in passages[place])
        words, there = (
            LANGUAGES[code].content_words(question),
            set(LANGUAGES[code].content_words(text)),
        )
        if words and text:
            shares.append(sum(word in there for word in words) / len(words))
            places.append(place)
    return bootstrap_mean(np.array(shares), side.units[places]) if places else None


def _openings(*texts: Sequence[str]) -> dict[str, tuple[Estimate | None, ...]]:
    """Return the share of questions that begin with each of the most frequent first words."""
    counts = [Counter((tokens(text) or ["(none)"])[0] for text in each) for each in texts]
    shares = Counter(
        {
            word: sum(count[word] / count.total() for count in counts)
            for word in counts[0] | counts[1]
        }
    )
    return {
        f"first word {word[:_LONGEST_WORD]}": tuple(
            wilson(count[word], count.total()) for count in counts
        )
        for word, _ in shares.most_common(_OPENINGS)
    }


def _order(sides: Sequence[tuple[Sequence[Result], Units]]) -> str:
    """Say whether retrievers come in the same order on both sides, and which pairs both can tell
    apart.
    """
    if not all(results for results, _ in sides):
        return (
            "Without gold passages on both sides it is unknown which retriever is better there:"
            " only how far their results agree is compared. Name passages in a column chunk_id, or"
            " give a run with these questions."
        )
    orders, pairs = [], []
    for results, units in sides:
        ranked = sorted(results, key=lambda each: -each.estimates["MRR"].value)
        orders.append(" > ".join(each.retriever for each in ranked))
        found = differences(results, units, "MRR")
        pairs.append({(each.better, each.worse) for each in found if each.is_significant})
    reverse = {(better, worse) for worse, better in pairs[1]}
    return (
        f"By MRR the questions have the order {orders[0]}, the queries {orders[1]}. Pairs of"
        f" retrievers that differ significantly on both: {len(pairs[0] & pairs[1])} alike,"
        f" {len(pairs[0] & reverse)} the other way round."
    )


def _told_apart(ours: Sequence[str], theirs: Sequence[str]) -> Estimate:
    """Estimate how well a classifier of runs of characters, cross-validated, tells questions and
    queries apart.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    is_query = np.repeat([0, 1], [len(ours), len(theirs)])
    grams = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(1, 4), lowercase=False, sublinear_tf=True
    )
    model = make_pipeline(grams, LogisticRegression(class_weight="balanced"))
    folds = StratifiedKFold(shuffle=True, random_state=0)
    scores = cross_val_predict(
        model, [*ours, *theirs], is_query, cv=folds, method="decision_function"
    )
    drawn = scipy.stats.bootstrap(
        (is_query, scores),
        roc_auc_score,
        paired=True,
        vectorized=False,
        n_resamples=999,
        method="percentile",
        rng=0,
    )
    area, (low, high) = float(roc_auc_score(is_query, scores)), drawn.confidence_interval
    # As in other intervals, one that no sample has left is as wide as Wilson's.
    width = equal_width(min(len(ours), len(theirs))) if np.isclose(low, high) else 0.0
    return Estimate(area, max(0.0, float(low) - width), min(1.0, float(high) + width))


def _text(found: Estimate | None) -> str:
    return (
        "-"
        if found is None
        else "{:g} ({:g} to {:g})".format(*(round(part, 2) + 0.0 for part in found))
    )
