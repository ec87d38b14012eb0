"""Generation of a run: check its inputs, load its models, run the engine and write its files."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.corpus.corpus import Corpus, build_corpus
from groundset.corpus.documents import no_documents_error
from groundset.corpus.files import find_documents
from groundset.cost import Price
from groundset.engine.assembly import prepare_engine
from groundset.engine.budget import Budget, StoppableJournal
from groundset.engine.compiled import Compiled, StateConsumers, load_compiled
from groundset.engine.config import ChosenMode, RunConfig, choose_mode
from groundset.engine.engine import Ending, RunEngine
from groundset.engine.forecast import forecast
from groundset.engine.growth import current_request, grow, grown, growth_record
from groundset.engine.identity import (
    Identity,
    ModelName,
    check_same,
    identity_digest,
    identity_of,
    with_models,
)
from groundset.engine.models import Journals, Openers, RunModels
from groundset.engine.prompts import prompts_file, read_prompts
from groundset.engine.stop import Clock, RunStoppedError, Stop, stop_on_signals
from groundset.engine.strata import by_column
from groundset.executors import Executor, open_executor
from groundset.progress import Progress, Usage
from groundset.store.folder import holds_run
from groundset.store.lineage import Lineage
from groundset.store.record import RunFiles, step_counts, stored_price, write_files, write_record
from groundset.store.run_store import RunStore
from groundset.store.summary import shortage, summarise
from programs.errors import GroundsetError, RunError, RunMismatchError
from programs.recipes.base import Recipe

if TYPE_CHECKING:
    pass


class RunResult(NamedTuple):
    """How a run ended.

    Attributes:
        ending: why no further attempts are made.
        files: the files of the run.
        summary: the lines to print.
        signal: the signal that interrupted the run, if any.
        has_ended: False if a language model call is still running in a thread; a command should then exit at once.
    """

    ending: Ending
    files: RunFiles
    summary: list[str]
    signal: int | None = None
    has_ended: bool = True


def run_generation(
    config: RunConfig,
    out: Path,
    *,
    progress: Progress | None = None,
    verbose: bool = False,
    again: Callable[[int], object] | None = None,
    started: float | None = None,
    tracking: str | None = None,
    engine: str = "local",
    openers: Openers | None = None,
    recipe: Recipe | None = None,
) -> RunResult:
    """Start the run in ``out``, or continue it, until it ends.

    Nothing is written before everything has been checked.

    Args:
        config: the options of the run.
        out: its folder.
        progress: shows the progress; by default nothing is shown.
        verbose: print the name of every file, and the log of the model runtime.
        again: called at a second signal; see :func:`groundset.engine.stop.stop_on_signals`.
        started: when the calling process started, by ``time.monotonic``; now by default.
        tracking: the store of champions.
        engine: where the corpus is read, analysed and embedded; see :func:`groundset.executors.open_executor`.
        openers: replaces the functions that open models, in tests.
        recipe: replaces the recipe of the configuration, in tests.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot continue; finished work is stored, and the same call continues from there.
    """
    started = time.monotonic() if started is None else started
    chosen = choose_mode(config)
    config = chosen.config
    progress = progress or Progress(quiet=True)
    openers = openers or Openers()
    recipe = recipe or config.row
    stop = Stop()
    budget = Budget(stop, config.budget_calls, config.budget_tokens)
    journals = Journals(StoppableJournal(budget), StoppableJournal(budget))
    _check_names(config, progress)
    with progress.waiting("Checking the documents and the model"):
        files = _check_documents(config)
        identity = identity_of(config) if openers.language_model else _with_lm_names(identity_of(config), config)
    with ExitStack() as stack, progress:
        store, growth = stack.enter_context(RunStore.open(out)) if holds_run(out) else None, None
        if store is not None:
            _refuse_derived(store, out)
            check_same(store.required("identity"), identity, out)
            _store_price(store, config)
            mended = store.corpus.mend()
            for line in mended:
                progress.note(line)
            growth = grown(store, config, recipe, out)
            if growth is None and not mended and (ended := _ending(store)) is not None:
                progress.finished(out, store.results.count(), store.meta("asked"))
                return _end(store, ended)
            requested = store.meta("asked") if growth is None else growth[-1].size
            progress.continuing(out, store.results.count(), requested, store.attempts.decided())
        preparing = stack.enter_context(ExitStack())
        executor = preparing.enter_context(open_executor(engine))
        models = RunModels(config, openers, stack, journals, note=progress.note, verbose=verbose)
        compiled = load_compiled(config.compiled, _consumers(config, models), tracking)
        models.take(compiled.files)
        if config.language and chosen.mode.writes_freely:
            read_prompts(prompts_file(models.name.name, config.language), config.language)  # fails before writing
        identity = {**models.named(identity), "compiled": compiled.digest}
        if store is None:
            corpus = _read_corpus(config, files, models.embedder, progress, verbose, executor)
            by_column(corpus.chunks, config.stratify, config.seed)  # fails before writing
            store = stack.enter_context(_create_store(chosen, recipe, out, corpus, compiled, identity))
            _store_price(store, config)
        else:
            check_same(store.required("identity"), identity, out)
            if growth is not None:
                grow(store, config, growth)
        clock = Clock(store, started)
        clock.note()
        journals.generator.attach(store.calls, store.servers)
        if models.critic_name is not None:
            store.critic_calls.prepare()
            journals.critic.attach(store.critic_calls, store.servers)
        for journal in journals:
            stack.callback(journal.close)
        for table in (store.calls, store.critic_calls):
            budget.add_earlier(table.totals())
        write_record(store, "running")
        assemble = partial(
            prepare_engine, chosen, recipe, store, models, compiled, openers, progress, stop, clock, executor, preparing
        )
        with stop_on_signals(stop, progress.note, again):
            ending, has_ended = _run_engine(assemble, chosen, store, models, progress, clock)
        if ending == "interrupted" and stop.signal is None and budget.ended_by:
            ending = "budget"
        clock.note()
        store.set_meta("ending", ending)
        result = _end(store, ending, budget.ended_by if ending == "budget" else None)
        return result._replace(signal=stop.signal if ending == "interrupted" else None, has_ended=has_ended)


def _run_engine(
    prepare: Callable[[], RunEngine],
    chosen: ChosenMode,
    store: RunStore,
    models: RunModels,
    progress: Progress,
    clock: Clock,
) -> tuple[Ending, bool]:
    """Run the engine; return how it ended, and whether all calls have ended too."""
    try:
        engine = prepare()
        price = stored_price(store)
        missing = store.required("asked") - store.results.count()
        if models.is_remote and (line := forecast(chosen, missing, price)):
            progress.note(line)
        progress.start(
            requested=store.meta("asked"),
            accepted=store.results.count(),
            attempts=store.attempts.decided(),
            counts=step_counts(store),
            usage=_all_usage(store, models.usage),
            elapsed=clock.elapsed,
            price=price,
        )
        return engine.run(chosen.config.workers), engine.has_ended
    except RunStoppedError:
        return "interrupted", True
    except KeyboardInterrupt:  # a second Ctrl-C
        return "interrupted", False
    except GroundsetError as error:
        with suppress(RunError):  # the cause may be a full disk
            clock.note()
            write_files(store, "failed", str(error))
        progress.failed()
        raise


def _store_price(store: RunStore, config: RunConfig) -> None:
    if config.price:
        store.set_meta("price", Price.parse(config.price))


def _check_names(config: RunConfig, progress: Progress) -> None:
    from groundset.retrieval.stores import check_store, receiving_host
    from programs.critics.registry import check_critic

    check_critic(config.deciding, None if config.panel else ", ".join(config.critic_lm) or None)
    if host := receiving_host(config.vector_store):
        progress.note(f"Vectors and chunk ids go to {host}.")
    check_store(config.vector_store)


def _check_documents(config: RunConfig) -> int:
    """Return the number of files."""
    found = find_documents(config.sources)
    if not found.files:
        raise no_documents_error(found.skipped)
    return len(found.files)


def _refuse_derived(store: RunStore, out: Path) -> None:
    if lineage := store.meta("lineage"):
        command = Lineage.model_validate(lineage).command_line()
        raise RunMismatchError(
            f"--out {out}: the run there was made by {command} and cannot be continued; choose another --out, and join "
            "both by `groundset merge`"
        )


def _with_lm_names(identity: Identity, config: RunConfig) -> Identity:
    """Add the language models whose weights are known before they are opened."""
    known: dict[str, ModelName | None] = {}
    for option, spec in (("lm", config.lm), ("critic_lm", config.critic_lm)):
        name = _name_lm(spec) if spec else None
        if not spec or name is not None:
            known[option] = name
    return with_models(identity, **known)


def _name_lm(spec: tuple[str, ...]) -> ModelName | None:
    """Return the name and hash of a language model, None if it has to be fetched first."""
    from groundset.models.hub import HubSpec, fetched_sha256
    from groundset.models.specs import LocalSpec, parse_spec

    parsed = parse_spec(spec)
    if isinstance(parsed, HubSpec):
        sha256 = fetched_sha256(parsed)
        return ModelName(parsed.name, sha256) if sha256 else None
    return ModelName(parsed.name, parsed.sha256 if isinstance(parsed, LocalSpec) else None)


def _consumers(config: RunConfig, models: RunModels) -> StateConsumers:
    return StateConsumers(
        config.deciding,
        models.embedder.sha256,
        *models.name,
        models.embedder.dimension,
        *(models.critic_name or (None, None)),
    )


def _read_corpus(
    config: RunConfig, files: int, embedder: Any, progress: Progress, verbose: bool, executor: Executor
) -> Corpus:
    tokenizer = embedder.tokenizer if config.chunker == "token" else None
    with progress.phase("Reading documents", files) as advance:

        def on_file(path: str) -> None:
            if verbose:
                progress.reading(path)
            advance(1)

        corpus = build_corpus(
            config.sources,
            config.corpus_options(),
            embed=embedder.encode_corpus,
            tokenizer=tokenizer,
            on_file=on_file,
            executor=executor,
        )
    progress.read(corpus, every_file=verbose)
    return corpus


def _all_usage(store: RunStore, usage: Usage) -> Usage:
    """Return a function that counts the calls and tokens of this and all earlier processes of a run."""
    both = [table.totals()._asdict() for table in (store.calls, store.critic_calls)]
    earlier = {name: sum(each[name] for each in both) for name in both[0]}
    return lambda: {name: earlier[name] + count for name, count in usage().items() if name in earlier}


def _ending(store: RunStore) -> Ending | None:
    """Return how a finished run ended, None if it can be continued."""
    if store.results.count() == store.meta("asked"):
        return "complete"
    return "short" if store.meta("ending") == "short" else None


def _recorded(chosen: ChosenMode) -> dict[str, Any]:
    """Return the configuration as given, but with the resolved ``max_rank``, which retrieval figures depend on."""
    given, resolved = chosen.given.anchored().to_dict(), chosen.config.to_dict()
    return {name: resolved[name] if name == "max_rank" else value for name, value in given.items()}


def _create_store(
    chosen: ChosenMode, recipe: Recipe, out: Path, corpus: Corpus, compiled: Compiled, identity: Identity
) -> RunStore:
    config, request = chosen.config, current_request(chosen.config, recipe)
    return RunStore.create(
        out,
        documents=corpus.documents,
        chunks=corpus.chunks,
        meta={
            "identity": identity,
            "digest": identity_digest(identity),
            "configuration": _recorded(chosen),
            "mode": {"name": chosen.mode.name, "why": chosen.why},
            "asked": request.size,
            "growth": growth_record([request]),
            "models": {
                **{name: identity[name] for name in ("lm", "embedder", "parser")},
                "critic": {"name": config.deciding, "compiled": compiled.fitted},
                **({"critic_lm": identity["critic_lm"]} if identity["critic_lm"] else {}),
            },
            "compiled": compiled.record(),
            "corpus": corpus.counts.model_dump(mode="json"),
            "skipped": [file.model_dump(mode="json") for file in corpus.skipped],
        },
    )


def _end(store: RunStore, ending: Ending, limit: str | None = None) -> RunResult:
    """Write the files of a run, and summarise it; ``limit`` is the budget that ended it."""
    reason = shortage(store) if ending == "short" else f"The budget ({limit}) ended the run." if limit else None
    files = write_files(store, ending, reason)
    return RunResult(ending, files, summarise(store, files, ending, reason))
