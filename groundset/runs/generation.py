"""From a configuration to the samples in a run folder: everything checked and loaded, then the run."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from groundset.compiled import Compiled, Users, load_compiled
from groundset.corpus import Corpus, build_corpus, draw_order
from groundset.data_files import data_path
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runs.config import RunConfig
from groundset.runs.decide import Decider
from groundset.runs.folder import holds_run
from groundset.runs.identity import Identity, ModelName, check_same, identity_digest, identity_of, with_models
from groundset.runs.progress import Progress
from groundset.runs.record import RunFiles, step_counts, write_files, write_record
from groundset.runs.run import Ending, RunEngine, Work
from groundset.runs.schedule import Schedule, quotas
from groundset.runs.stop import Stop, StoppableJournal, stopping_on_signals
from groundset.runs.store import RunStore
from groundset.runs.summary import shortage, summarise
from programs.critics import Critic
from programs.errors import GroundsetError, InputError, RunError
from programs.languages.table import Languages

Open = Callable[..., Any]

_NAMED_FILES = 20


class RunResult(NamedTuple):
    """How a run ended.

    ``signal`` is the one that interrupted it. Without ``has_ended`` a language model call is still running in a
    thread that nobody waited for; a process should then leave without taking itself apart.
    """

    ending: Ending
    files: RunFiles
    summary: list[str]
    signal: int | None = None
    has_ended: bool = True


class _Parts(NamedTuple):
    """What a run is made with, opened."""

    language_model: Any
    embedder: Any
    languages: Languages
    critics: Mapping[str, Critic]
    compiled: Compiled
    corpus: Corpus | None
    identity: Identity


def run_generation(
    config: RunConfig,
    out: Path,
    *,
    progress: Progress | None = None,
    verbose: bool = False,
    open_lm: Open | None = None,
    load_embedder: Open | None = None,
    open_critics: Open | None = None,
    build_recipe: Open | None = None,
) -> RunResult:
    """Begin the run in ``out``, or go on with it, until it ends.

    Nothing is written before everything has been checked and loaded. The four openers are the seam for tests:
    by default ``groundset.runtime.lms.open_lm``, ``groundset.retrieval.embedder.load_embedder``,
    ``programs.critics.open_critics`` and ``programs.recipes.build_recipe``.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored and the same call goes on from there.
    """
    progress = progress or Progress(quiet=True)
    stop = Stop()
    journal = StoppableJournal(stop)
    _check_names(config)
    identity = identity_of(config)
    if open_lm is None:
        identity = with_models(identity, lm=_name_lm(config.lm))
    with ExitStack() as stack:
        store = stack.enter_context(RunStore.open(out)) if holds_run(out) else None
        if store is not None:
            check_same(store.meta("identity"), identity, out)
            if sum(store.results.evolution_counts().values()) == config.size:
                return _end(store, "complete")
        parts = _open_parts(
            config, identity, store, progress, stack, journal, verbose, (open_lm, load_embedder, open_critics)
        )
        if store is None:
            store = stack.enter_context(_create_store(config, out, parts, progress))
        else:
            check_same(store.meta("identity"), parts.identity, out)
        journal.attach(store.calls)
        engine = _engine(config, store, parts, progress, stop, build_recipe)
        write_record(store, "running")
        with progress, stopping_on_signals(stop, progress.note):
            progress.start(
                asked=config.size,
                accepted=sum(store.results.evolution_counts().values()),
                attempts=store.attempts.decided(),
                counts=step_counts(store),
                usage=parts.language_model.usage,
            )
            try:
                ending = engine.run(config.workers)
            except GroundsetError as error:
                # A full disk may be what stopped it; the database is valid all the same.
                with suppress(RunError):
                    write_files(store, "failed", str(error))
                progress.note("What was done so far is stored; the same command goes on from there.")
                raise
        result = _end(store, ending)
        return result._replace(signal=stop.signal if ending == "interrupted" else None, has_ended=engine.has_ended)


def _check_names(config: RunConfig) -> None:
    from programs.critics import CRITICS
    from programs.recipes import RECIPES

    for option, name, known in (("recipe", config.recipe, RECIPES), ("critic", config.critic, CRITICS)):
        if name not in known:
            raise InputError(f"--{option} {name}: no such {option}; choose one of {', '.join(known)}")


def _name_lm(spec: str) -> ModelName:
    from groundset.models.specs import LocalSpec, parse_spec

    parsed = parse_spec(spec)
    return ModelName(parsed.name, parsed.sha256 if isinstance(parsed, LocalSpec) else None)


def _open_parts(
    config: RunConfig,
    identity: Identity,
    store: RunStore | None,
    progress: Progress,
    stack: ExitStack,
    journal: StoppableJournal,
    verbose: bool,
    openers: tuple[Open | None, Open | None, Open | None],
) -> _Parts:
    """Open the models, and read the documents of a run that begins."""
    from groundset.models.servers import check_server
    from groundset.retrieval.embedder import load_embedder as real_load_embedder
    from groundset.runtime.lms import open_lm as real_open_lm
    from groundset.runtime.parser import load_parser
    from programs.critics import open_critics as real_open_critics
    from programs.languages import LANGUAGES

    open_lm, load_embedder, open_critics = openers
    if open_lm is None:
        check_server(config.lm)  # before documents are read, which can take minutes
    embedder = (load_embedder or real_load_embedder)(config.embedder)
    parser = load_parser(config.parser)
    # Without a parser, the form of an answer makes it easy.
    languages = Languages(LANGUAGES, parser if parser.sha256 else None)
    corpus = None if store else _read_corpus(config, embedder, progress, verbose)
    language_model = stack.enter_context(
        (open_lm or real_open_lm)(config.lm, journal=journal, workers=config.workers, verbose=verbose)
    )
    users = Users(config.critic, embedder.sha256, language_model.name, language_model.sha256)
    compiled = load_compiled(config.compiled, users)
    critics = (open_critics or real_open_critics)(
        config.critic,
        languages=languages,
        embedder=embedder,
        language_model=language_model,
        heads=compiled.heads,
        blends=compiled.blends,
    )
    models = {"lm": language_model, "embedder": embedder, "parser": parser}
    named = with_models(identity, **{key: ModelName(model.name, model.sha256) for key, model in models.items()})
    identity = {**named, "compiled": compiled.digest}
    return _Parts(language_model, embedder, languages, critics, compiled, corpus, identity)


def _read_corpus(config: RunConfig, embedder: Any, progress: Progress, verbose: bool) -> Corpus:
    tokenizer = embedder.tokenizer.backend_tokenizer if config.chunker == "token" else None
    corpus = build_corpus(
        config.sources,
        config.corpus_options(),
        embed=embedder.encode,
        tokenizer=tokenizer,
        on_file=(lambda path: progress.note(f"Reading {path}")) if verbose else None,
    )
    for skipped in corpus.skipped[: None if verbose else _NAMED_FILES]:
        progress.note(f"Skipped {skipped.path}: {skipped.reason}.")
    if not verbose and len(corpus.skipped) > _NAMED_FILES:
        progress.note(f"Skipped {len(corpus.skipped) - _NAMED_FILES} more files; run.json names them.")
    counts = corpus.counts
    progress.note(
        f"{counts.chunks} chunks from {counts.documents} documents (dropped: {counts.dropped_short} too short, "
        f"{counts.dropped_duplicates} duplicates; skipped files: {counts.skipped})."
    )
    return corpus


def _create_store(config: RunConfig, out: Path, parts: _Parts, progress: Progress) -> RunStore:
    if parts.corpus is None:
        raise GroundsetError("A run cannot begin without documents.")
    corpus = parts.corpus
    progress.note(f"Embedding {len(corpus.chunks)} chunks.")
    vectors = parts.embedder.encode([chunk.text for chunk in corpus.chunks])
    return RunStore.create(
        out,
        documents=corpus.documents,
        chunks=corpus.chunks,
        vectors=vectors,
        meta={
            "identity": parts.identity,
            "digest": identity_digest(parts.identity),
            "configuration": config.anchored().model_dump(mode="json"),
            "models": {
                "lm": parts.identity["lm"],
                "embedder": parts.identity["embedder"],
                "parser": parts.identity["parser"],
                "critic": {"name": config.critic, "compiled": parts.compiled.fitted},
            },
            "compiled": parts.compiled.record(),
            "corpus": corpus.counts.model_dump(mode="json"),
            "skipped": [file.model_dump(mode="json") for file in corpus.skipped],
        },
    )


def _engine(
    config: RunConfig, store: RunStore, parts: _Parts, progress: Progress, stop: Stop, build_recipe: Open | None
) -> RunEngine:
    from programs.recipes import build_recipe as real_build_recipe
    from programs.steps.demos import read_demos

    chunks = store.chunks()
    shares = quotas(config.size, config.mix)
    encode = parts.embedder.encode
    recipe = (build_recipe or real_build_recipe)(
        config.recipe,
        critics=parts.critics,
        languages=parts.languages,
        retriever=ChunkIndex(
            chunks, open_store("faiss", [chunk.chunk_id for chunk in chunks], store.vectors()), encode
        ),
        candidates=config.candidates,
        max_rank=config.max_rank,
        demos=read_demos(data_path("demos")),
        states=parts.compiled.predictors,
        selects=parts.compiled.selects(encode),
        only_easy=config.ask == "easy",
    )
    engine = RunEngine(
        store,
        Schedule([chunk.chunk_id for chunk in draw_order(chunks, config.seed)], shares),
        Decider(shares, encode),
        Work(recipe, chunks, config.seed, parts.language_model.lm, parts.language_model.adapter),
        progress,
        stop,
    )
    engine.restore()
    return engine


def _end(store: RunStore, ending: Ending) -> RunResult:
    reason = shortage(store) if ending == "short" else None
    files = write_files(store, ending, reason)
    return RunResult(ending, files, summarise(store, files, ending, reason))
