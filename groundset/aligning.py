"""`groundset align`: an evaluation set is carried over to changed documents, or to documents that
are cut otherwise.

The evidence of each sample is looked for in the new documents, and the chunks that hold it are its
new ground truth. White space and markup do not count. Of several places the one in the most similar
context is taken; where it did not stand before, what the question names must stand around it, too.
If a sample does not say its evidence, that is the sentence that states the answer, or else the
whole chunk.
"""

import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from rapidfuzz import fuzz

from groundset import __version__
from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.exports.imports import save_ranked
from groundset.files import json_text
from groundset.options import DEFAULT_EMBEDDER, option
from groundset.pages.html import evidence_of
from groundset.printing import Progress, say, say_lines, say_table
from groundset.programs.checks import TELLING, find_quote, negations
from groundset.programs.languages import LANGUAGES
from groundset.programs.text import blanked, numbers, plain, share
from groundset.programs.types import Chunk, Document, Reject, Sample
from groundset.retrieval import embed
from groundset.run.run import Run, open_run
from groundset.run.store import check_new

STATUSES: Mapping[str, str] = {  # what has changed least comes first
    "same": "the same text at the same place",
    "moved": "its text stands elsewhere, or was edited around the evidence",
    "cut": "its evidence lies in a smaller chunk",
    "merged": "its evidence lies in a larger chunk",
    "split": "its evidence lies in more chunks than before, and all are needed",
    "lost": "its evidence is in no chunk, or has changed",
}
_TOO_MANY_LOST = 4  # the exit status
_CUT = {"chunker", "chunk_size", "chunk_overlap", "merge", "min_length"}
_AROUND = 300  # characters
# of what stands around such evidence; texts that have nothing to do with each other reach 50
_MIN_RATIO = 65.0
_SAME_CHUNK = 90.0  # of a chunk that was edited
_SPACE = re.compile(r"\s[\s\0]*")  # with markup in it
_MOST_PLACES = 100  # of the same words in a document


class AlignOptions(CorpusOptions):
    """Carry an evaluation set over to changed documents, or to documents that are cut otherwise.

    Documents are cut as those of RUN were, unless an option says otherwise. NEW is a run of the
    samples whose evidence is still there; the others are its rejects, and `groundset generate DOCS
    --out NEW`, cut alike, makes more in their place. No language model is needed. Exit status 4:
    more than --max-lost are lost; NEW was made.
    """

    run: Path = option(..., "The folder of a run.", metavar="RUN", argument=True)
    out: Path = option(..., "The folder of the new run.", metavar="NEW")
    max_lost: float = option(
        1.0, "The share of samples that may be lost.", metavar="SHARE", ge=0, le=1
    )
    embedder: str | None = option(
        None, "The embedding model.", metavar="MODEL", shown="that of RUN", min_length=1
    )
    as_json: bool = option(False, "Print one JSON document.", command_only=True)
    quiet: bool = option(False, "Show no progress.", short="-q")


def align(options: AlignOptions) -> int:
    """Carry a set over, print what became of its samples, and return the exit status."""
    run = carry_over(options)
    counts = Counter(str(sample.metadata["aligned"]) for sample in run) + Counter(
        lost=len(run.rejects)
    )
    if options.as_json:
        facts = ("aligned", "evidence_before")
        kept = [
            {"id": each.id, **{name: each.metadata.get(name) for name in facts}} for each in run
        ]
        lost = [{"question": each.question, "reason": each.reason} for each in run.rejects]
        found = {"run": str(run.folder), "counts": {name: counts[name] for name in STATUSES}}
        say_lines(json_text({**found, "samples": kept, "lost": lost}, indent=2))
    else:
        rows = [[name, str(counts[name]), text] for name, text in STATUSES.items() if counts[name]]
        say_table(["status", "samples", "meaning"], rows)
        for sample in run:
            if before := sample.metadata.get("evidence_before"):
                say(
                    f"changed: {sample.question} ({' … '.join(evidence_of(sample))}; before:"
                    f" {' … '.join(before)})"
                )
        for reject in run.rejects:
            say(f"lost: {reject.question} ({reject.reason})")
    return _TOO_MANY_LOST if share(counts["lost"], counts.total()) > options.max_lost else 0


def carry_over(options: AlignOptions) -> Run:
    """Carry an evaluation set over to changed documents or to other chunks, and return the new run.

    The metadata of its samples has their status as ``aligned``, and as ``evidence_before`` evidence
    that has changed in words that do not matter. Lost samples are rejects.

    Raises:
        InputError: an option, a run or a file is wrong; the message names it, and nothing was
            written.
        ModelError: the embedder cannot be loaded.
    """
    from groundset.run.generate import documents_digest  # with DSPy, which would slow down the help

    check_new(options.out)
    run = open_run(options.run)
    known, given = run.record.get("configuration") or {}, options.model_fields_set
    inherited = _CUT - given - ({"chunk_size", "chunk_overlap"} if "chunker" in given else set())
    options = options.parse(
        dict(options) | {name: known[name] for name in inherited & known.keys()}
    )
    used = (run.record.get("models") or {}).get("embedder") or {}
    embedder = embed.open_embedder(options.embedder or used.get("name") or DEFAULT_EMBEDDER)
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading documents")
        corpus = read_corpus(
            options, notify=progress.note, embedder=embedder, on_file=progress.advance
        )
        progress.phase("Carrying samples over")
        carrying = _Carrying(run, corpus)
        found = [(sample.question, carrying.carry(sample)) for sample in run]
        samples = [made for _, made in found if isinstance(made, Sample)]
        lost = [
            Reject(step="align", reason=why, question=asked)
            for asked, why in found
            if isinstance(why, str)
        ]
        cut = options.model_dump(mode="json", include=_CUT) | {"merge": options.merge or 1}
        digests = {
            "documents": documents_digest(options),
            "embedder": f"{embedder.name} {embedder.sha256}",
        }
        ids = {sample.id for sample in samples}
        return save_ranked(
            options.out,
            embedder,
            progress,
            samples=samples,
            documents=corpus.documents.values(),
            chunks=corpus.chunks,
            rejects=lost,
            record={"configuration": cut, "source": {"aligned": run.folder.name}},
            reviews=[review for review in run.reviews if review.sample_id in ids],
            meta={"identity": {"version": __version__, **digests, **cut}, "asked": len(run)},
        )


class _Span(NamedTuple):
    start: int
    end: int

    def overlaps(self, other: "_Span") -> bool:
        return min(self.end, other.end) > max(self.start, other.start)


class _Text:
    """A document with its chunks; spans are those of ``flat``, its text without markup and with
    single spaces.
    """

    def __init__(self, document: Document, chunks: Sequence[Chunk]) -> None:
        self.document, self._chunks = document, chunks

    @cached_property
    def flat(self) -> str:
        return _SPACE.sub(" ", blanked(self.document.text)).replace("\0", "")

    @cached_property
    def spans(self) -> dict[str, _Span]:
        """Return the span of each chunk by its id."""
        letters = re.finditer(rf"[^\s\0]|{_SPACE.pattern}", blanked(self.document.text))
        offsets = array("L", (letter.start() for letter in letters))
        return {
            each.chunk_id: _Span(*(bisect_left(offsets, edge) for edge in (each.start, each.end)))
            for each in self._chunks
        }

    def holding(self, span: _Span) -> list[Chunk]:
        """Return the chunks that hold at least some of a span."""
        return [each for each in self._chunks if self.spans[each.chunk_id].overlaps(span)]

    def find(self, words: str, start: int = 0, end: int = sys.maxsize) -> "list[_Place]":
        """Return the places of some words."""
        if not words or words not in self.flat:
            return []
        found = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)").finditer(self.flat, start, end)
        return [_Place(self, _Span(*each.span())) for each in islice(found, _MOST_PLACES)]

    def find_similar(self, words: str, start: int = 0, end: int = sys.maxsize) -> "list[_Place]":
        """Return the places of words with small differences."""
        return self.find(find_quote(self.flat[start:end], words) or "", start, end)


class _Place(NamedTuple):
    """Some words in a document."""

    text: _Text
    span: _Span

    @property
    def words(self) -> str:
        return self.text.flat[slice(*self.span)]

    @property
    def around(self) -> str:
        """Return the text around the words, with the headings above it."""
        start, end = max(0, self.span.start - _AROUND), self.span.end + _AROUND
        headings = [each for chunk in self.text.holding(self.span)[:1] for each in chunk.headings]
        return " ".join([*headings, self.text.flat[start:end]])

    def parts(self, old: Chunk) -> list[list[Chunk]]:
        """Return the chunks that hold each part, those most like an old one first; nothing if a
        part is in none.
        """
        parts: list[list[Chunk]] = []
        spans, at = self.text.spans, self.span.start
        while at < self.span.end:
            at += self.text.flat[at] == " "
            here = self.text.holding(_Span(at, at + 1))
            if not here:
                return []
            at = min(self.span.end, max(spans[each.chunk_id].end for each in here))
            whole = [each for each in here if spans[each.chunk_id].end >= at]
            parts.append(sorted(whole, key=lambda each: -fuzz.ratio(old.text, each.text)))
        return parts


class _Carrying:
    """Carries the samples of a run over to a corpus."""

    def __init__(self, run: Run, corpus: Corpus) -> None:
        self._chunks, self._old, self._new = run.chunks, _texts(run.corpus), _texts(corpus)
        self._by_path = {text.document.path: text for text in self._new.values()}

    def carry(self, sample: Sample) -> Sample | str:
        """Return a sample on the new chunks, or why it is lost."""
        contexts = [chunk.chunk_id for chunk in sample.contexts]
        old = sample.retrieval_gt or [(name,) for name in contexts]
        own = [next((name for name in group if name in contexts), group[0]) for group in old]
        spare = {
            name: self._alternatives(sample, {*group} - {name})
            for name, group in zip(own, old, strict=True)
        }
        made: dict[frozenset[str], list[Chunk]] = {}
        statuses, before, now = [], [], []
        for place, needed in self._evidence(sample, own, evidence_of(sample)):
            found, parts = self._found(sample, place, needed)
            if isinstance(found, str):
                return found
            before.append(place.words)
            now.append(found.words)
            serving = set.intersection(*({*spare[name]} for name in needed))
            for chunks in parts:
                statuses.append(_status(self._chunks[needed[0]], chunks[0]))
                ids = frozenset(chunk.chunk_id for chunk in chunks)
                made.setdefault(
                    ids, chunks + [spare[needed[0]][name] for name in sorted(serving - ids)]
                )
        # A chunk that serves one group also serves those that hold it and others.
        groups = [chunks for ids, chunks in made.items() if not any(other < ids for other in made)]
        more = len(groups) - len({*own})
        status = (
            "split"
            if more > 0
            else "merged"
            if more < 0
            else max(statuses, key=list(STATUSES).index)
        )
        facts = {name: fact for name, fact in sample.metadata.items() if name != "evidence_before"}
        changes = {} if now == before else {"evidence": now, "evidence_before": before}
        first = {chunks[0].chunk_id: chunks[0] for chunks in groups}
        new = tuple(tuple(chunk.chunk_id for chunk in chunks) for chunks in groups)
        return sample.model_copy(
            update={
                "contexts": tuple(first.values()),
                "retrieval_gt": new if sample.retrieval_gt else (),
                "metadata": {**facts, **changes, "aligned": status},
            }
        )

    def _alternatives(self, sample: Sample, names: Iterable[str]) -> dict[str, Chunk]:
        """Return the new chunks that hold, each alone, what old ones say about a question."""
        found = [
            self._found(sample, *each)[1]
            for name in names
            for each in self._evidence(sample, [name], [])
        ]
        return {chunk.chunk_id: chunk for parts in found if len(parts) == 1 for chunk in parts[0]}

    def _evidence(
        self, sample: Sample, names: Sequence[str], pieces: Iterable[str]
    ) -> Iterable[tuple[_Place, Sequence[str]]]:
        """Return where evidence stands, and which chunks hold it; one without any has what states
        the answer.
        """
        homes = {name: self._old[self._chunks[name].doc_id] for name in names}
        places: dict[_Place, list[str]] = {}

        def holding(place: _Place) -> list[str]:
            return [
                name
                for name, text in homes.items()
                if text is place.text and text.spans[name].overlaps(place.span)
            ]

        for words in (" ".join(piece.split()) for piece in pieces):
            exact = (each for text in homes.values() for each in text.find(words))
            near = (
                each
                for name, text in homes.items()
                for each in text.find_similar(words, *text.spans[name])
            )
            if place := next(filter(holding, chain(exact, near)), None):
                places[place] = holding(place)
        held = {*chain(*places.values())}
        for name, text in homes.items():
            if name in held:
                continue
            span = text.spans[name]
            place = next(
                iter(text.find(_statement(sample, self._chunks[name]), *span)), _Place(text, span)
            )
            places[place] = holding(place)
        return places.items()

    def _found(
        self, sample: Sample, old: _Place, needed: Sequence[str]
    ) -> tuple[_Place | str, Sequence[list[Chunk]]]:
        """Return where evidence stands now, with the chunks that hold each part of it; or why
        nowhere.
        """
        content = LANGUAGES[sample.language].content_words
        named = {*content(sample.question)} & {*content(old.around)}
        mate, reason = self._by_path.get(old.text.document.path), "its evidence is gone"
        for texts in ([mate] if mate else [], self._new.values()):
            fits = []
            for text in texts:
                places = text.find(old.words)
                is_known = text is mate and len(places) >= len(old.text.find(old.words))
                for place in (
                    places
                    if is_known
                    else [each for each in places if named <= {*content(each.around)}]
                ):
                    ratio = fuzz.ratio(old.around, place.around)
                    if ratio >= _MIN_RATIO or len(old.words) >= TELLING:
                        fits.append((ratio, -abs(place.span.start - old.span.start), place))
            for *_, place in sorted(fits, key=lambda each: each[:2], reverse=True):
                if parts := place.parts(self._chunks[needed[0]]):
                    return place, parts
                reason = "its evidence is in no chunk: too short, or a copy"
        for place in mate.find_similar(old.words)[:1] if mate else ():
            parts = place.parts(self._chunks[needed[0]])
            if parts and _still_answers(sample, old.words, place.words):
                return place, parts
            reason = f"its evidence has changed: {place.words}"
        return reason, []


def _texts(corpus: Corpus) -> dict[str, _Text]:
    chunks: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in corpus.chunks:
        chunks[chunk.doc_id].append(chunk)
    return {name: _Text(document, chunks[name]) for name, document in corpus.documents.items()}


def _status(old: Chunk, new: Chunk) -> str:
    if " ".join(old.text.split()) == " ".join(new.text.split()):
        return "same" if (old.path, old.start) == (new.path, new.start) else "moved"
    if fuzz.ratio(old.text, new.text) >= _SAME_CHUNK:
        return "moved"
    return "merged" if len(new.text) > len(old.text) else "cut"


def _statement(sample: Sample, chunk: Chunk) -> str:
    """Return the sentence of a chunk that states the answer, with most of the question's words;
    empty if none does.
    """
    language = LANGUAGES[sample.language]
    answer, question = (
        set(language.content_words(text)) for text in (sample.answer, sample.question)
    )
    words = {
        each: set(language.content_words(each)) for each in language.sentences(plain(chunk.text))
    }
    stating = [each for each in words if answer and answer <= words[each]]
    return max(stating, key=lambda each: len(words[each] & question), default="")


def _still_answers(sample: Sample, before: str, now: str) -> bool:
    """Return whether what question and answer say of some evidence, its numbers and negations stand
    in it changed.
    """
    content = LANGUAGES[sample.language].content_words
    old, asked, answer = ({*content(text)} for text in (before, sample.question, sample.answer))
    is_alike = numbers(before) == numbers(now) and negations(before) == negations(now)
    goes_on = before[-1] != now[-1]  # and may say something else
    return (
        is_alike
        and not goes_on
        and bool(answer & old)
        and (asked | answer) & old <= {*content(now)}
    )
