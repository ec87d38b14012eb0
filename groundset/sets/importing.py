"""Import a set that was made elsewhere as a run: its chunks and questions are embedded, ranked and judged."""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from groundset.corpus import Counts
from groundset.engine.compiled import Compiled, Users, load_compiled
from groundset.engine.config import make_config
from groundset.engine.models import Open
from groundset.files import encodable
from groundset.models.cache import file_sha256
from groundset.progress import Progress
from groundset.run import Run, save_run
from groundset.sets.documents import LaidOut, lay_out
from groundset.sets.imports import IMPORTS
from groundset.sets.imports.base import ForeignChunk, ForeignQuestion, ForeignSet, ImportFormat, listed, named
from groundset.sets.measuring import JUDGE, judge_samples, record_of, with_ranks
from groundset.store.folder import check_free
from groundset.store.lineage import UNKNOWN_MODEL, Lineage, Parent
from programs.critics import open_critics
from programs.critics.remembering import CachingEncoder
from programs.errors import InputError
from programs.language_detection import language_of
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.text import MAX_READ, plain
from programs.types import Chunk, Retrieval, Sample

_CRITIC = "head"  # quick, and needs no language model; `groundset relabel` lets another one judge
_UNKNOWN = {"name": UNKNOWN_MODEL, "sha256": None}
_NO_PARSER = {"name": "none", "sha256": None}
_UNRANKED = Retrieval(rank=None, retrieved_id="", retrieved_content="", score=0)


def import_set(
    files: Sequence[Path],
    out: Path,
    *,
    format: str | None = None,
    embedder: str,
    unanswered: bool = False,
    progress: Progress,
    load_embedder: Open | None = None,
) -> list[str]:
    """Write a set, given as its files or their folder, as a run; return its summary.

    Nothing is written before every row has been checked. Without ``format``, one of ``IMPORTS``, it is the one that
    only these files can be of. ``unanswered`` accepts questions without an answer. ``load_embedder`` is for tests.

    Raises:
        InputError: a file, a row or an option is wrong; the message names it.
        ModelError: the embedder cannot be loaded.
    """
    check_free(out)
    row = _format(files, format)
    with progress.waiting("Reading the set"):
        found, corpus = _read(row, files, unanswered=unanswered)
        options = {"format": row.name, "embedder": embedder, "unanswered": unanswered}
        parents = tuple(_parent(path, found.files) for path in files)
    for note in found.notes:
        progress.note(note)
    progress.note(f"Loading the embedding model {embedder}.")
    from groundset.retrieval import embedder as embedders

    model = (load_embedder or embedders.load_embedder)(embedder)
    run = _run(found, corpus, model, embedder, progress)
    return save_run(out, with_ranks(run), Lineage(command="import", options=options, parents=parents))


def _read(row: ImportFormat, files: Sequence[Path], *, unanswered: bool) -> tuple[ForeignSet, LaidOut]:
    """Return a checked set without its chunks, and its corpus: a large one is in memory only once."""
    try:
        found = row.read(files)
    except OSError as error:
        raise InputError(f"cannot read {error.filename or named(files)}: {error.strerror or error}") from error
    if unread := next((path for path in files if not _below(path, found.files)), None):
        raise InputError(f"{unread}: not a file of a set in the format {row.name}; leave it out")
    _check(found, unanswered=unanswered)
    return replace(found, chunks=()), lay_out(found.chunks, found.corpus.name)


def _format(files: Sequence[Path], name: str | None) -> ImportFormat:
    if name is not None and name not in IMPORTS:
        raise InputError(f"--format {name}: no such format; choose one of {', '.join(IMPORTS)}")
    listed(files)  # a missing file is reported as such, whatever the format
    if name is not None:
        return IMPORTS[name]
    with suppress(OSError):
        knowing = [row for row in IMPORTS.values() if row.knows(files)]
        if len(knowing) == 1:
            return knowing[0]
    raise InputError(f"{named(files)}: cannot tell which format this is; name one of {', '.join(IMPORTS)} by --format")


def _below(path: Path, files: Sequence[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """Return the files that were read at a path, or in it if it is a folder."""
    return [(file, count) for file, count in files if path in (file, *file.parents)]


def _parent(path: Path, files: Sequence[tuple[Path, int]]) -> Parent:
    """Return the lineage of a file, or of the files in a folder, that was named."""
    own = _below(path, files)
    hashes = [file_sha256(file) for file, _ in own]
    identity = hashes[0] if path.is_file() else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return Parent(name=encodable(path.resolve().name), identity=identity, samples=sum(count for _, count in own))


def _check(found: ForeignSet, *, unanswered: bool) -> None:
    if not found.chunks:
        raise InputError(f"{found.corpus} holds no chunks")
    if not found.questions:
        raise InputError(f"{named([file for file, _ in found.files])}: there is no question")
    chunks = _unique("chunk", ((chunk.chunk_id, chunk) for chunk in found.chunks))
    _unique("question", ((question.question_id, question) for question in found.questions))
    for question in found.questions:
        missing = [name for group in question.groups for name in group if name not in chunks]
        if missing:
            raise InputError(f"{question.where}: there is no chunk {missing[0]} in {found.corpus}")
        if not question.answer.strip() and not unanswered:
            raise InputError(
                f"{question.where}: question {question.question_id} has no answer; add one, or take such questions too "
                "by --unanswered"
            )


def _unique(kind: str, rows: Iterable[tuple[str, ForeignChunk | ForeignQuestion]]) -> dict[str, str]:
    """Return the file and row of each id; refuse one that occurs twice."""
    places: dict[str, str] = {}
    for name, row in rows:
        if name in places:
            raise InputError(f"{row.where}: the {kind} id {name} was used before, in {places[name]}")
        places[name] = row.where
    return places


def _run(found: ForeignSet, corpus: LaidOut, model: Any, embedder: str, progress: Progress) -> Run:
    chunks = {chunk.chunk_id: chunk for chunk in corpus.chunks}
    with progress.phase("Embedding chunks", len(chunks)) as advance:
        chunk_vectors = model.encode_corpus([chunk.text for chunk in corpus.chunks], on_done=advance)
    with progress.phase("Embedding questions", len(found.questions)) as advance:
        vectors = model.encode_corpus([question.question for question in found.questions], on_done=advance)
    compiled = load_compiled("shipped", Users(_CRITIC, model.sha256))
    samples = [_sample(question, chunks) for question in found.questions]
    unjudged = [place for place, question in enumerate(found.questions) if question.probability is None]
    judged = _judged([samples[place] for place in unjudged], model, compiled, progress)
    for place, sample in zip(unjudged, judged, strict=True):
        samples[place] = sample
    # No sample was kept or refused by its rank.
    known = {"chunks": str(found.corpus.absolute()), "embedder": embedder, "parser": _NO_PARSER["name"], "max_rank": 0}
    return Run.of(
        samples=samples,
        question_vectors=vectors,
        chunks=corpus.chunks,
        chunk_vectors=chunk_vectors,
        documents=corpus.documents,
        settings={
            "configuration": {**dict.fromkeys(make_config(known).to_dict()), "documents": [], **known},
            "models": {
                "lm": _UNKNOWN,
                "embedder": {"name": embedder, "sha256": model.sha256},
                "parser": _NO_PARSER,
                "critic": {"name": _CRITIC, "compiled": compiled.fitted},
            },
            "compiled": _thresholds(compiled),
            "corpus": Counts(files=len(found.files), documents=len(corpus.documents), chunks=len(chunks)).model_dump(),
            "skipped": [],
        },
    )


def _thresholds(compiled: Compiled) -> dict[str, Any]:
    """Return the record of the judge, without the quality estimate, which holds for questions that it accepted."""
    judge = compiled.record().get("judge", {})
    known = {name: judge[name] for name in ("model", "optimizer", "threshold") if name in judge}
    return {"judge": known} if known else {}


def _sample(question: ForeignQuestion, chunks: dict[str, Chunk]) -> Sample:
    contexts = tuple(chunks[name] for name in dict.fromkeys(group[0] for group in question.groups))
    # The focus of a sample is the sentence, or the sentences, that it asks about.
    focus = question.metadata.get("focus", "")
    is_ours = isinstance(focus, str) or (isinstance(focus, list) and all(isinstance(text, str) for text in focus))
    return Sample(
        id=question.question_id,
        question=question.question,
        answer=question.answer,
        evolution=question.evolution,
        language=question.language or language_of(plain(contexts[0].text[:MAX_READ])),
        contexts=contexts,
        retrieval_gt=question.groups,
        retrieval=_UNRANKED,
        probability=question.probability or 0.0,
        split=question.split,
        trail=question.trail,
        metadata={
            "imported_focus" if name == "focus" and not is_ours else name: value
            for name, value in question.metadata.items()
        },
    )


def _judged(samples: Sequence[Sample], model: Any, compiled: Compiled, progress: Progress) -> list[Sample]:
    """Return samples with the verdict of the critic, which refuses none."""
    encoder = CachingEncoder(model)
    critic = open_critics(_CRITIC, languages=Languages(LANGUAGES), embedder=encoder, heads=compiled.heads)[JUDGE]
    with progress.phase("Judging questions", len(samples)) as advance:
        decisions = list(judge_samples(samples, critic, compiled.predictors.get(JUDGE), advance))
    records = map(record_of, samples, decisions)
    return [
        sample.model_copy(update={"probability": record.probability, "trail": (*sample.trail, record)})
        for sample, record in zip(samples, records, strict=True)
    ]
