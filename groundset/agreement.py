"""How far a set agrees with the user's own questions on which retrievers are better.

Methods are retrievers on chunks of a size: the built-in ones on the run's own chunks and on its
documents cut smaller and larger, and the user's systems. Pairs of methods are compared on the same
chunks; questions tell a pair apart if the mean difference is more than 1.96 standard errors from
zero. Choosing by the set loses what the best method of the own questions has there over the best
one of the set.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from groundset.corpus.chunks import chunk_document
from groundset.corpus.corpus import Corpus
from groundset.corpus.options import CorpusOptions
from groundset.printing import counted
from groundset.programs.errors import InputError
from groundset.programs.forms import SIMPLE
from groundset.programs.languages import LANGUAGES, language_among
from groundset.programs.stats import REACH, Values, percentiles, quartiles
from groundset.programs.text import share, tokens
from groundset.programs.types import Chunk, Document, Sample
from groundset.retrieval.embed import Embedder
from groundset.retrieval.gold import Places, gold_spans, holders
from groundset.retrieval.index import UNRANKED, Ranks, ranks_of
from groundset.retrieval.retrievers import RETRIEVERS
from groundset.rows import optional, questions_in
from groundset.run.run import Run, open_run
from groundset.searching import MEASURES, search

SIZES = (0.4, 2.5)  # of the chunks that documents are cut into again, times those of the run
_FEWEST = 20  # own questions that say which of two methods is better, if it is much
_AROUND = 200  # characters of a passage
_DRAWS = 300
_ROUNDING = 1e-9  # of a mean difference


class Side(NamedTuple):
    """Questions that chunks answer, and the places of these groups in the documents."""

    samples: Sequence[Sample]
    places: Sequence[Places]

    def lengths(self) -> list[int]:
        """Return the number of words of each question."""
        return [len(tokens(sample.question)) for sample in self.samples]

    def shared_words(self, documents: Mapping[str, Document]) -> list[float]:
        """Return the share of the content words of each question that stand near one of its
        passages, the highest of all.
        """
        shares = []
        for sample, groups in zip(self.samples, self.places, strict=True):
            near = (
                documents[span.doc_id].text[max(0, span.start - _AROUND) : span.end + _AROUND]
                for spans in chain(*groups)
                for span in spans
            )
            shared = LANGUAGES[sample.language].shared_words
            shares += [max(shared(sample.question, text) for text in near)] if groups else []
        return shares


class Method(NamedTuple):
    """A retriever on some chunks, with the ranks of the questions of the set, then of the user."""

    name: str
    size: int  # of the chunks, in characters; 0 for those of the run
    ranks: Sequence[Ranks]


class RankingAgreement(NamedTuple):
    """How far a set agrees with the user's own questions."""

    methods: Sequence[str]
    pairs: int  # of methods on the same chunks
    told_apart: int  # pairs that the own questions tell apart
    # By name, of the set and of the own questions. ``order_right``, ``told_rightly`` and
    # ``told_wrongly`` are shares of the pairs that these tell apart.
    figures: Mapping[str, tuple[Any, Any]]

    def table(self) -> list[list[str]]:
        """Return the figures in words."""
        return [[name.replace("_", " "), *map(_text, both)] for name, both in self.figures.items()]

    def notes(self) -> list[str]:
        """Say how to read the figures, and what they are too few to tell."""
        own = self.figures["questions"][1]
        notes = [
            f"Of {counted(self.pairs, 'pair')} of {len(self.methods)} methods the own questions"
            f" tell {self.told_apart} apart. On their side tau is of two halves of them, and the"
            " shares of pairs are of as many as the set has, at most all."
        ]
        if own < _FEWEST:
            notes.append(f"{own} own questions are too few to tell; take {_FEWEST} or more.")
        if not self.told_apart:
            notes.append(
                "The own questions tell no two methods apart, so they cannot say whether the set"
                " orders them rightly: take more, or systems that differ more."
            )
        return notes


def side_of(samples: Sequence[Sample], chunks: Mapping[str, Chunk]) -> Side:
    """Return questions with the places of the chunks that answer them."""
    return Side(samples, [gold_spans(sample, chunks) for sample in samples])


def together(ours: Side, theirs: Side) -> Side:
    """Return the questions of a set, then those of the user."""
    return Side([*ours.samples, *theirs.samples], [*ours.places, *theirs.places])


def methods_at(size: int, run: Run, embedder: Embedder, asked: Side) -> Iterator[Method]:
    """Cut the documents of a run into chunks of a size, and search these with each retriever."""
    options = CorpusOptions(chunk_size=size)
    chunks = [
        chunk
        for document in run.documents.values()
        for chunk in chunk_document(document, options)[0]
    ]
    vectors = embedder.encode([chunk.text for chunk in chunks])
    cut = Run(run.folder, corpus=Corpus(dict(run.documents), chunks), vectors=vectors)
    questions = [sample.question for sample in asked.samples]
    groups = holders(asked.places, cut.chunks)
    for name, rankings in search(cut, embedder, questions, RETRIEVERS).items():
        yield Method(f"{name} at {size}", size, list(map(ranks_of, rankings, groups)))


def agreement(
    run: Run, ours: Side, theirs: Side, methods: Sequence[Method], measure: str
) -> RankingAgreement:
    """Compare what the questions of a set and the user's own say about methods."""
    of = MEASURES[measure]
    values = np.array([[of(ranks) for ranks in method.ranks] for method in methods])
    set_values, own_values = np.split(values, [len(ours.samples)], axis=1)
    same_chunks = [
        (one, other)
        for one, other in combinations(range(len(methods)), 2)
        if methods[one].size == methods[other].size
    ]
    pairs = np.array(same_chunks).T
    truth, is_told = _differences(own_values, pairs)
    chance = np.random.default_rng(0)

    def order(values: Values) -> list[float]:
        means, is_seen = _differences(values, pairs)
        is_right = np.sign(means) == np.sign(truth)
        shares = is_right, is_seen & is_right, is_seen & ~is_right
        return [share(int(part[is_told].sum()), int(is_told.sum())) for part in shares]

    both, sides = (set_values, own_values), (ours, theirs)
    drawn = ([chance.choice(each, each.shape[1], axis=1) for each in both] for _ in range(_DRAWS))
    shuffled = [chance.permutation(own_values, axis=1) for _ in range(_DRAWS)]
    halves = [np.array_split(each, 2, axis=1) for each in shuffled]
    fewer = [order(each[:, : len(ours.samples)]) for each in shuffled]
    set_means, own_means = set_values.mean(axis=1), own_values.mean(axis=1)
    chosen, best = int(set_means.argmax()), int(own_means.argmax())
    names = [method.name for method in methods]
    orders = zip(order(set_values), np.mean(fewer, axis=0).tolist(), strict=True)
    figures: dict[str, Any] = {
        "questions": tuple(len(side.samples) for side in sides),
        "tau": (
            percentiles(_tau(*both), [_tau(*each) for each in drawn]),
            float(np.mean([_tau(*each) for each in halves])),
        ),
        **dict(zip(("order_right", "told_rightly", "told_wrongly"), orders, strict=True)),
        "best": (names[chosen], names[best]),
        "loss_of_choosing": (float(own_means[best] - own_means[chosen]), 0.0),
        measure: (float(set_means.mean()), float(own_means.mean())),
        "level_off": (float(np.abs(set_means - own_means).mean()), 0.0),
        "words": tuple(quartiles(side.lengths()) for side in sides),
        "shared_words": tuple(quartiles(side.shared_words(run.documents)) for side in sides),
    }
    return RankingAgreement(names, len(same_chunks), int(is_told.sum()), figures)


def _differences(values: Values, pairs: NDArray[np.intp]) -> tuple[Values, NDArray[np.bool_]]:
    """Return the mean difference of each pair of methods, and whether it is told from zero."""
    one, other = pairs
    gains = values[one] - values[other]
    means = gains.mean(axis=1)
    errors = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
    return means, np.abs(means) > REACH * errors + _ROUNDING


def _tau(one: Values, other: Values) -> float:
    """Return Kendall's tau-b of the means of methods; 0 if they are all equal on one side."""
    return float(np.nan_to_num(scipy.stats.kendalltau(one.mean(axis=1), other.mean(axis=1))[0]))


def _text(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def own_questions(source: Path, flag: str, run: Run) -> Run:
    """Return the user's own questions: a run, or those of a file as samples of ``run``, whose id is
    the question; of several chunks in the column ``chunk_id`` any one serves.

    Raises:
        InputError: the file cannot be read, or a chunk is not in the run.
    """
    if source.is_dir():
        return open_run(source)
    chunks: dict[str, list[str]] = {}
    for where, question, fields in questions_in(source, flag):
        chunk_id = optional(where, fields, "chunk_id")
        if chunk_id is not None and chunk_id not in run.chunks:
            raise InputError(f"{where}, column chunk_id: no chunk {chunk_id} in {run.folder}")
        if question:
            chunks.setdefault(question, []).extend([chunk_id] if chunk_id else [])
    known = {sample.language for sample in run.samples} or {"en"}
    samples = tuple(
        Sample(
            id=question,
            question=question,
            answer="",
            evolution=SIMPLE,
            language=language_among(question, known),
            contexts=tuple(map(run.chunks.__getitem__, ids)),
            retrieval_gt=(tuple(ids),) if ids else (),
            retrieval=UNRANKED,
        )
        for question, ids in chunks.items()
    )
    return Run(run.folder, samples=samples, corpus=run.corpus, reviews=[])
