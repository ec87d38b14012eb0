"""`groundset align`: an evaluation set is carried over to changed documents, or to documents that
are cut otherwise.

The evidence of each sample is looked for in the new documents, and the chunks that hold it are its
new ground truth. White space and markup do not count. Of several places the one in the most similar
context is taken; where it did not stand before, what the question names must stand around it, too.
If a sample does not say its evidence, that is the sentence that states the answer, or else the
whole chunk.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import regex
from rapidfuzz import fuzz

from groundset import __version__
from groundset.corpus.corpus import Corpus, documents_digest, read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.files import json_text
from groundset.options import AS_JSON, DEFAULT_EMBEDDER, QUIET, RUN, option
from groundset.printing import Progress, counted, grouped, say, say_lines, say_table
from groundset.programs.answers import decisive
from groundset.programs.checks import TELLING, find_quote
from groundset.programs.languages import LANGUAGES
from groundset.programs.text import INSIDE_WORD, blanked, share
from groundset.programs.types import Chunk, Document, Reject, Sample
from groundset.retrieval import embed
from groundset.run.folder import check_new
from groundset.run.preparing import save_ranked
from groundset.run.record import verdicts_of
from groundset.run.run import Run, open_run
from groundset.run.store import REFUSED

STATUSES: Mapping[str, str] = {  # what has changed least comes first
    "same": "the same text at the same place",
    "moved": "its text stands elsewhere, or was edited around the evidence",
    "cut": "its evidence lies in a smaller chunk",
    "merged": "its evidence lies in a larger chunk",
    "split": "its evidence lies in more chunks than before, and all are needed",
    "lost": "its evidence is in no chunk, or has changed",
}
_TOO_MANY_LOST = 4  # the exit status
_AROUND = 300  # characters
# of what stands around such evidence; texts that have nothing to do with each other reach 50
_MIN_RATIO = 65.0
_SAME_CHUNK = 90.0  # of a chunk that was edited
_SPACE, _LETTER = re.compile(r"\s[\s\0]*"), re.compile(r"[^\s\0]")  # \0 is markup
_MOST_PLACES = 100  # of the same words in a document


class AlignOptions(CorpusOptions):
    """Carry an evaluation set over to changed documents, or to documents that are cut otherwise.

    Documents are cut as those of RUN were, unless an option says otherwise. NEW is a run of the
    samples whose evidence is still there; the others are its rejects, and `groundset generate DOCS
    --out NEW`, cut alike, makes more in their place. No language model is needed. Exit status 4:
    more than --max-lost are lost; NEW was made.
    """

    run: Path = RUN
    out: Path = option(..., "The folder of the new run.", metavar="NEW")
    max_lost: float = option(
        1.0, "The share of samples that may be lost.", metavar="SHARE", ge=0, le=1
    )
    embedder: str = option("", "The embedding model.", metavar="MODEL", shown="that of RUN")
    as_json: bool = AS_JSON
    quiet: bool = QUIET


def align(options: AlignOptions) -> int:
    """Carry a set over, print what became of its samples, and return the exit status."""
    run = carry_over(options)
    counts = Counter(str(sample.aligned) for sample in run)
    counts["lost"] = len(run.rejects)
    facts = ("id", "aligned", "evidence_before")
    found = {
        "run": str(run.folder),
        "counts": {name: counts[name] for name in STATUSES},
        "samples": [{name: getattr(sample, name) for name in facts} for sample in run],
        "lost": [{"question": each.question, "reason": each.reason} for each in run.rejects],
        "documents": _changes(open_run(options.run), run),
    }
    if options.as_json:
        say_lines(json_text(found, indent=2))
    else:
        _print(run, found)
    return _TOO_MANY_LOST if share(counts["lost"], counts.total()) > options.max_lost else 0


def _print(run: Run, found: Mapping[str, Any]) -> None:
    for change, paths in found["documents"].items():
        if paths:
            say(f"{change} {counted(len(paths), 'document')}: {', '.join(paths)}")
    rows = [[name, str(count), STATUSES[name]] for name, count in found["counts"].items() if count]
    say_table(["status", "samples", "meaning"], rows)
    for sample in run:
        if before := sample.evidence_before:
            evidence = " … ".join(sample.evidence)
            say(f"changed: {sample.question} ({evidence}; before: {' … '.join(before)})")
    for reason, lost in grouped((each.reason, each.question) for each in run.rejects).items():
        say(f"lost: {'; '.join(map(str, lost))} ({reason})")


def _changes(old: Run, new: Run) -> dict[str, list[str]]:
    """Return the paths of documents that are new, that have another text, and that are gone."""
    before, after = (
        {each.path: each.text for each in run.documents.values()} for run in (old, new)
    )
    return {
        "new": sorted(after.keys() - before.keys()),
        "changed": sorted(
            path for path in after.keys() & before.keys() if after[path] != before[path]
        ),
        "gone": sorted(before.keys() - after.keys()),
    }


def carry_over(options: AlignOptions) -> Run:
    """Carry an evaluation set over to changed documents or to other chunks, and return the new run.

    The metadata of its samples has their status as ``aligned``, and as ``evidence_before`` evidence
    that has changed in words that do not matter. Lost samples are rejects.

    Raises:
        InputError: an option, a run or a file is wrong; the message names it, and nothing was
            written.
        ModelError: the embedder cannot be loaded.
    """
    check_new(options.out)
    run = open_run(options.run)
    options = _cut_alike(options, run.record["configuration"])
    used = run.record["models"].get("embedder", {})
    embedder = embed.open_embedder(options.embedder or used.get("name") or DEFAULT_EMBEDDER)
    options = options.model_copy(update={"embedder": embedder.name})
    cut = options.model_dump(mode="json", include=options.with_fact("cuts"))
    identity = {"version": __version__, "documents": documents_digest(options)}
    identity["embedder"] = f"{embedder.name} {embedder.sha256}"
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading documents")
        corpus = read_corpus(options, notify=progress.note, on_file=progress.advance)
        progress.phase("Carrying samples over")
        carrying, verdicts = _Carrying(run, corpus), verdicts_of(run.reviews)
        samples: dict[str, Sample] = {}
        lost = []
        for sample in run:
            try:
                samples[sample.id] = carrying.carry(sample)
            except _LostError as error:
                step = REFUSED if "refused" in verdicts.get(sample.id, ()) else "align"
                lost.append(Reject(step=step, reason=str(error), question=sample.question))
        return save_ranked(
            options.out,
            embedder,
            progress,
            corpus,
            list(samples.values()),
            rejects=lost,
            record={"configuration": cut, "source": {"aligned": run.folder.name}},
            reviews=[review for review in run.reviews if review.sample_id in samples],
            meta={"identity": identity | cut, "asked": len(run)},
        )


def _cut_alike(options: AlignOptions, configuration: Mapping[str, Any]) -> AlignOptions:
    """Return the options with those of a run on how to cut, where they do not say otherwise."""
    names = options.with_fact("cuts") - options.model_fields_set
    if "chunker" in options.model_fields_set:
        names -= {"chunk_size", "chunk_overlap"}
    inherited = {name: configuration[name] for name in names & configuration.keys()}
    return options.parse(dict(options) | inherited)


class _Place(NamedTuple):
    """Some words in a document."""

    text: "_Text"
    start: int
    end: int

    @property
    def words(self) -> str:
        return _flat(self.text.blank[self.start : self.end])

    def meets(self, chunk: Chunk) -> bool:
        """Return whether a chunk of the document holds at least some of the words."""
        return self.start < chunk.end and chunk.start < self.end

    @property
    def around(self) -> str:
        """Return the text around the words, with the headings above it."""
        chunk = next(filter(self.meets, self.text.chunks), None)
        around = self.text.blank[max(0, self.start - _AROUND) : self.end + _AROUND]
        return " ".join([*(chunk.headings if chunk else ()), _flat(around)])

    def parts(self, old: Chunk) -> list[list[Chunk]]:
        """Return the chunks that hold each part, those most like an old one first; nothing if a
        part is in none.
        """
        parts: list[list[Chunk]] = []
        start = self.start
        while letter := _LETTER.search(self.text.blank, start, self.end):
            holding = [
                chunk for chunk in self.text.chunks if chunk.start <= letter.start() < chunk.end
            ]
            if not holding:
                return []
            start = min(self.end, max(chunk.end for chunk in holding))
            whole = [chunk for chunk in holding if chunk.end >= start]
            parts.append(sorted(whole, key=lambda chunk: -fuzz.ratio(old.text, chunk.text)))
        return parts


class _Text:
    """A document with its chunks; ``blank`` is its text without markup at the same offsets."""

    def __init__(self, document: Document, chunks: Sequence[Chunk]) -> None:
        self.document = document
        self.chunks = chunks

    @cached_property
    def blank(self) -> str:
        return blanked(self.document.text)

    @cached_property
    def flat(self) -> str:
        return _flat(self.blank)

    def find(self, words: str) -> list[_Place]:
        """Return the places of some words."""
        if not words or words not in self.flat:
            return []
        letters = r"[\s\0]*".join(regex.escape(letter) for letter in words if letter != " ")
        inside = regex.compile(rf"(?<!{INSIDE_WORD}){letters}(?!{INSIDE_WORD})")
        matches = islice(inside.finditer(self.blank), _MOST_PLACES)
        return [_Place(self, *match.span()) for match in matches]

    def find_similar(self, words: str, within: slice = slice(None)) -> list[_Place]:
        """Return the places of words with small differences."""
        return self.find(find_quote(_flat(self.blank[within]), words) or "")


def _flat(blank: str) -> str:
    """Return text with single spaces."""
    return _SPACE.sub(" ", blank).replace("\0", "").strip()


def _texts(corpus: Corpus) -> dict[str, _Text]:
    """Return the documents of a corpus by their ids."""
    chunks: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in corpus.chunks:
        chunks[chunk.doc_id].append(chunk)
    return {name: _Text(document, chunks[name]) for name, document in corpus.documents.items()}


class _LostError(Exception):
    """What answers a sample is not there any more; the message says why."""


class _Carrying:
    """Carries the samples of a run over to a corpus."""

    def __init__(self, run: Run, corpus: Corpus) -> None:
        self._chunks, self._old = run.chunks, _texts(run.corpus)
        self._new_chunks = corpus.by_id
        self._new = {text.document.path: text for text in _texts(corpus).values()}

    def carry(self, sample: Sample) -> Sample:
        """Return a sample on the new chunks.

        Raises:
            _LostError: something of what answers it is gone.
        """
        contexts = [chunk.chunk_id for chunk in sample.contexts]
        needed = sample.retrieval_gt or [(name,) for name in contexts]
        evidence: dict[str, str] = {}  # as it was, and as it is now
        groups: dict[frozenset[str], list[str]] = {}
        others: dict[frozenset[str], set[str]] = {}  # by group, chunks that say the same
        statuses = []
        for group in needed:
            name = next((each for each in group if each in contexts), group[0])
            chunk, same = self._chunks[name], self._others(sample, {*group} - {name})
            for old in self._said(sample, chunk):
                new = self._find(sample, old, chunk)
                evidence[old.words] = new.words
                for part in new.parts(chunk):
                    statuses.append(_status(chunk, part[0]))
                    ids = [each.chunk_id for each in part]
                    key = frozenset(ids)
                    groups.setdefault(key, ids)
                    others[key] = others.get(key, same) & same
        # A chunk that serves one group also serves those that hold it and others.
        least = [key for key in groups if not any(other < key for other in groups)]
        status = max(statuses, key=list(STATUSES).index)
        if len(least) != len(needed):
            status = "split" if len(least) > len(needed) else "merged"
        before, now = tuple(evidence), tuple(evidence.values())
        first = dict.fromkeys(groups[key][0] for key in least)
        gold = tuple((*groups[key], *sorted(others[key] - key)) for key in least)
        carried = {
            "contexts": tuple(map(self._new_chunks.__getitem__, first)),
            "retrieval_gt": gold if sample.retrieval_gt else (),
            "aligned": status,
            "evidence": sample.evidence if now == before else now,
            "evidence_before": None if now == before else before,
        }
        return sample.model_copy(update=carried)

    def _others(self, sample: Sample, names: Iterable[str]) -> set[str]:
        """Return the new chunks that hold, each alone, what old ones say about a question."""
        others: set[str] = set()
        for chunk in map(self._chunks.__getitem__, names):
            with suppress(_LostError):
                said = [self._find(sample, old, chunk) for old in self._said(sample, chunk)]
                parts = [part for place in said for part in place.parts(chunk)]
                holding = [{each.chunk_id for each in part} for part in parts]
                others |= set.intersection(*holding)
        return others

    def _said(self, sample: Sample, chunk: Chunk) -> list[_Place]:
        """Return where an old chunk says what answers a question: the evidence that it holds, or
        where it states the answer, or all of it.
        """
        text = self._old[chunk.doc_id]

        def held(places: list[_Place]) -> list[_Place]:
            return [place for place in places if place.meets(chunk)][:1]

        said = []
        for piece in sample.evidence:
            words = " ".join(piece.split())
            within = slice(chunk.start, chunk.end)
            said += held(text.find(words)) or held(text.find_similar(words, within))
        stated = held(text.find(_stating(sample, chunk)))
        return said or stated or [_Place(text, chunk.start, chunk.end)]

    def _find(self, sample: Sample, old: _Place, chunk: Chunk) -> _Place:
        """Return where evidence of an old chunk stands now.

        Raises:
            _LostError: nowhere.
        """
        mate = self._new.get(old.text.document.path)
        mates = [mate] if mate else []
        reason = "its evidence is gone"
        for texts in (mates, self._new.values()):
            for place in self._same_words(sample, old, texts):
                if place.parts(chunk):
                    return place
                reason = "its evidence is in no chunk: too short, or a copy"
        for place in [place for text in mates for place in text.find_similar(old.words)[:1]]:
            if place.parts(chunk) and _still_answers(sample, old.words, place.words):
                return place
            reason = f"its evidence has changed: {place.words}"
        raise _LostError(reason)

    def _same_words(self, sample: Sample, old: _Place, texts: Iterable[_Text]) -> list[_Place]:
        """Return the places of the same words, those in the most similar context first."""
        content = LANGUAGES[sample.language].content_words
        named = {*content(sample.question)} & {*content(old.around)}
        ratios: dict[_Place, float] = {}
        for text in texts:
            places = text.find(old.words)
            is_mate = text.document.path == old.text.document.path
            is_known = is_mate and len(places) >= len(old.text.find(old.words))
            for place in places:
                ratio = fuzz.ratio(old.around, place.around)
                is_telling = ratio >= _MIN_RATIO or len(old.words) >= TELLING
                if is_telling and (is_known or named <= {*content(place.around)}):
                    ratios[place] = ratio
        return sorted(ratios, key=lambda place: (-ratios[place], abs(place.start - old.start)))


def _status(old: Chunk, new: Chunk) -> str:
    if " ".join(old.text.split()) == " ".join(new.text.split()):
        return "same" if (old.path, old.start) == (new.path, new.start) else "moved"
    if fuzz.ratio(old.text, new.text) >= _SAME_CHUNK:
        return "moved"
    return "merged" if len(new.text) > len(old.text) else "cut"


def _stating(sample: Sample, chunk: Chunk) -> str:
    """Return the sentence of a chunk that states the answer, with most of the question's words;
    empty if none does.
    """
    language = LANGUAGES[sample.language]
    answer = {*language.content_words(sample.answer)}
    question = {*language.content_words(sample.question)}
    sentences = {
        sentence: {*language.content_words(sentence)}
        for sentence in language.sentences(chunk.passage)
    }
    stating = [sentence for sentence in sentences if answer and answer <= sentences[sentence]]
    return max(stating, key=lambda sentence: len(sentences[sentence] & question), default="")


def _still_answers(sample: Sample, before: str, now: str) -> bool:
    """Return whether what question and answer say of some evidence stands in it changed, with
    the same numbers, units and opposites.
    """
    language = LANGUAGES[sample.language]
    content = language.content_words
    old = {*content(before)}
    answer = old & {*content(sample.answer)}
    question = old & {*content(sample.question)}
    is_alike = decisive(before, language) == decisive(now, language)
    goes_on = before[-1] != now[-1]  # and may say something else
    return is_alike and not goes_on and bool(answer) and answer | question <= {*content(now)}
