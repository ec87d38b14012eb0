"""Import an external evaluation set as a run: embed, rank and judge its questions."""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from groundset.corpus.corpus import Counts
from groundset.engine.compiled import Compiled, StateConsumers, load_compiled
from groundset.engine.config import RunConfig
from groundset.engine.models import Open
from groundset.files import encodable
from groundset.models.cache import file_sha256
from groundset.progress import Progress
from groundset.run import Run, save_run
from groundset.sets.documents import RebuiltCorpus, rebuild_corpus
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

_CRITIC = "head"  # fast, and needs no language model; `groundset relabel` judges with another critic
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
    """Import the files of a set, or their folder, as a run and return its summary.

    All rows are validated before anything is written. ``format`` is one of ``IMPORTS``; it is detected if None.
    ``unanswered`` accepts questions without an answer. ``load_embedder`` is for tests.

    Raises:
        InputError: a file, a row or an option is invalid; the message names it.
        ModelError: the embedder cannot be loaded.
    """
    check_free(out)
    row = _format(files, format)
    with progress.waiting("Reading the set"):
        foreign, corpus = _read(row, files, unanswered=unanswered)
        options = {"format": row.name, "embedder": embedder, "unanswered": unanswered}
        parents = tuple(_parent(path, foreign.files) for path in files)
    for note in foreign.notes:
        progress.note(note)
    progress.note(f"Loading the embedding model {embedder}.")
    from groundset.retrieval import embedder as embedders

    model = (load_embedder or embedders.load_embedder)(embedder)
    run = _run(foreign, corpus, model, embedder, progress)
    return save_run(out, with_ranks(run), Lineage(command="import", options=options, parents=parents))


def _read(row: ImportFormat, files: Sequence[Path], *, unanswered: bool) -> tuple[ForeignSet, RebuiltCorpus]:
    """Read and validate a set; its chunks are only in the corpus, which saves memory."""
    try:
        foreign = row.read(files)
    except OSError as error:
        raise InputError(f"cannot read {error.filename or named(files)}: {error.strerror or error}") from error
    if unread := next((path for path in files if not _below(path, foreign.files)), None):
        raise InputError(f"{unread}: not a file of a set in the format {row.name}; leave it out")
    _check(foreign, unanswered=unanswered)
    return replace(foreign, chunks=()), rebuild_corpus(foreign.chunks, foreign.corpus.name)


def _format(files: Sequence[Path], name: str | None) -> ImportFormat:
    if name is not None and name not in IMPORTS:
        raise InputError(f"--format {name}: no such format; choose one of {', '.join(IMPORTS)}")
    listed(files)  # reports missing files
    if name is not None:
        return IMPORTS[name]
    with suppress(OSError):
        matching = [row for row in IMPORTS.values() if row.matches(files)]
        if len(matching) == 1:
            return matching[0]
    raise InputError(f"{named(files)}: cannot detect the format; choose one of {', '.join(IMPORTS)} with --format")


def _below(path: Path, files: Sequence[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """Return the files read from a path, which may be their folder."""
    return [(file, count) for file, count in files if path in (file, *file.parents)]


def _parent(path: Path, files: Sequence[tuple[Path, int]]) -> Parent:
    """Return the lineage entry of a file or folder named by the user."""
    own_files = _below(path, files)
    hashes = [file_sha256(file) for file, _ in own_files]
    identity = hashes[0] if path.is_file() else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return Parent(name=encodable(path.resolve().name), identity=identity, samples=sum(count for _, count in own_files))


def _check(foreign: ForeignSet, *, unanswered: bool) -> None:
    if not foreign.chunks:
        raise InputError(f"{foreign.corpus} holds no chunks")
    if not foreign.questions:
        raise InputError(f"{named([file for file, _ in foreign.files])}: there is no question")
    chunks = _unique("chunk", ((chunk.chunk_id, chunk) for chunk in foreign.chunks))
    _unique("question", ((question.question_id, question) for question in foreign.questions))
    for question in foreign.questions:
        missing = [name for group in (*question.groups, question.sources) for name in group if name not in chunks]
        if missing:
            raise InputError(f"{question.where}: there is no chunk {missing[0]} in {foreign.corpus}")
        if not question.answer.strip() and not unanswered:
            fix = "add one, or accept such questions with --unanswered"
            raise InputError(f"{question.where}: question {question.question_id} has no answer; {fix}")


def _unique(kind: str, rows: Iterable[tuple[str, ForeignChunk | ForeignQuestion]]) -> dict[str, str]:
    """Return the file and row of each id; raise InputError for a duplicate."""
    first_used: dict[str, str] = {}
    for name, row in rows:
        if name in first_used:
            raise InputError(f"{row.where}: duplicate {kind} id {name}; first used in {first_used[name]}")
        first_used[name] = row.where
    return first_used


def _run(foreign: ForeignSet, corpus: RebuiltCorpus, model: Any, embedder: str, progress: Progress) -> Run:
    chunks = {chunk.chunk_id: chunk for chunk in corpus.chunks}
    with progress.phase("Embedding chunks", len(chunks)) as advance:
        chunk_vectors = model.encode_corpus([chunk.text for chunk in corpus.chunks], on_done=advance)
    with progress.phase("Embedding questions", len(foreign.questions)) as advance:
        vectors = model.encode_corpus([question.question for question in foreign.questions], on_done=advance)
    compiled = load_compiled("shipped", StateConsumers(_CRITIC, model.sha256))
    samples = [_sample(question, chunks) for question in foreign.questions]
    unjudged = [index for index, question in enumerate(foreign.questions) if question.probability is None]
    judged = _judged([samples[index] for index in unjudged], model, compiled, progress)
    for index, sample in zip(unjudged, judged, strict=True):
        samples[index] = sample
    # max_rank 0: samples were not filtered by rank.
    known = {
        "chunks": str(foreign.corpus.absolute()),
        "embedder": embedder,
        "parser": _NO_PARSER["name"],
        "max_rank": 0,
    }
    return Run.of(
        samples=samples,
        question_vectors=vectors,
        chunks=corpus.chunks,
        chunk_vectors=chunk_vectors,
        documents=corpus.documents,
        settings={
            "configuration": {**dict.fromkeys(RunConfig().to_dict()), "documents": [], **known},
            "models": {
                "lm": _UNKNOWN,
                "embedder": {"name": embedder, "sha256": model.sha256},
                "parser": _NO_PARSER,
                "critic": {"name": _CRITIC, "compiled": compiled.fitted},
            },
            "compiled": _thresholds(compiled),
            "corpus": Counts(
                files=len(foreign.files), documents=len(corpus.documents), chunks=len(chunks)
            ).model_dump(),
            "skipped": [],
        },
    )


def _thresholds(compiled: Compiled) -> dict[str, Any]:
    """Return the record of the judge without its quality estimate, which only covers accepted questions."""
    judge = compiled.record().get("judge", {})
    known = {name: judge[name] for name in ("model", "optimizer", "threshold") if name in judge}
    return {"judge": known} if known else {}


def _sample(question: ForeignQuestion, chunks: dict[str, Chunk]) -> Sample:
    ids = dict.fromkeys([*(group[0] for group in question.groups), *question.sources])
    contexts = tuple(chunks[name] for name in ids)
    # In a sample, "focus" is the sentence or sentences asked about; other tools may use the key differently.
    focus = question.metadata.get("focus", "")
    is_focus = isinstance(focus, str) or (isinstance(focus, list) and all(isinstance(text, str) for text in focus))
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
            "imported_focus" if name == "focus" and not is_focus else name: value
            for name, value in question.metadata.items()
        },
    )


def _judged(samples: Sequence[Sample], model: Any, compiled: Compiled, progress: Progress) -> list[Sample]:
    """Add the verdict of the critic to samples; none is removed."""
    encoder = CachingEncoder(model)
    critic = open_critics(_CRITIC, languages=Languages(LANGUAGES), embedder=encoder, heads=compiled.heads)[JUDGE]
    with progress.phase("Judging questions", len(samples)) as advance:
        decisions = list(judge_samples(samples, critic, compiled.predictors.get(JUDGE), advance))
    records = map(record_of, samples, decisions)
    return [
        sample.model_copy(update={"probability": record.probability, "trail": (*sample.trail, record)})
        for sample, record in zip(samples, records, strict=True)
    ]
