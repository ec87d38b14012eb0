"""From a configuration to the samples in a run folder: everything checked and loaded, then the run."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from groundset.corpus import Corpus, build_corpus, find_documents
from groundset.engine.assembly import prepare_engine
from groundset.engine.compiled import Compiled, Users, load_compiled
from groundset.engine.config import ChosenMode, RunConfig, choose_mode, make_config
from groundset.engine.engine import Ending
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
from groundset.engine.stop import Clock, RunStoppedError, Stop, StoppableJournal, stopping_on_signals
from groundset.progress import Progress, Usage
from groundset.store.folder import holds_run
from groundset.store.lineage import Lineage
from groundset.store.record import RunFiles, step_counts, write_files, write_record
from groundset.store.run_store import RunStore
from groundset.store.summary import shortage, summarise
from programs.errors import GroundsetError, InputError, RunError, RunMismatchError, TrackingError
from programs.recipes.base import Recipe

if TYPE_CHECKING:
    from groundset.tracking.runs import Tracked


class RunResult(NamedTuple):
    """How a run ended.

    ``signal`` is the one that interrupted it. Without ``has_ended`` a language model call may still be running in a
    thread that nobody waited for; a command should then leave without taking its process apart.
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
    openers: Openers | None = None,
    recipe: Recipe | None = None,
) -> RunResult:
    """Start the run in ``out``, or continue it, until it ends.

    Nothing is written before everything has been checked. Weights are loaded last: what is read off the chunks ahead
    has all cores for itself. A run that was asked for less goes on with what it has. ``again`` is what a second signal
    does (see :func:`groundset.engine.stop.stopping_on_signals`), ``started`` when the process began, by
    ``time.monotonic``; now, if nobody says. ``tracking`` names the store of champions. ``openers`` and ``recipe`` are
    for tests; by default
    ``groundset.runtime.lms.open_lm``, ``groundset.retrieval.embedder.load_embedder``,
    ``programs.critics.registry.open_critics`` and the recipe that the configuration names.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored and the same call goes on from there.
    """
    started = time.monotonic() if started is None else started
    chosen = choose_mode(config)
    config = chosen.config
    progress = progress or Progress(quiet=True)
    openers = openers or Openers()
    recipe = recipe or config.row
    stop = Stop()
    journals = Journals(StoppableJournal(stop), StoppableJournal(stop))
    _check_names(config)
    with progress.waiting("Checking the documents and the model"):
        identity = identity_of(config)
        if openers.language_model is None:
            specs = {"lm": config.lm, **({"critic_lm": config.critic_lm} if config.critic_lm else {})}
            names = {role: _name_lm(spec) for role, spec in specs.items()}
            identity = with_models(identity, **{role: name for role, name in names.items() if name is not None})
            if config.critic_lm is None:
                identity = with_models(identity, critic_lm=None)
    with ExitStack() as stack, progress:
        store, growth = stack.enter_context(RunStore.open(out)) if holds_run(out) else None, None
        if store is not None:
            _refuse_derived(store, out)
            check_same(store.required("identity"), identity, out)
            growth = grown(store, config, recipe, out)
            if growth is None and (ended := _ending(store)) is not None:
                progress.finished(out, store.results.count(), store.meta("asked"))
                return _end(store, ended)
            asked = store.meta("asked") if growth is None else growth[-1].size
            progress.going_on(out, store.results.count(), asked, store.attempts.decided())
        models = RunModels(config, openers, stack, journals, note=progress.note, verbose=verbose)
        users = Users(
            config.deciding,
            models.embedder.sha256,
            *models.name,
            models.embedder.dimension,
            *(models.critic_name or (None, None)),
        )
        compiled = load_compiled(config.compiled, users, tracking)
        models.take(compiled.files)
        identity = {**models.named(identity), "compiled": compiled.digest}
        if store is None:
            corpus = _read_corpus(config, models.embedder, progress, verbose)
            store = stack.enter_context(_create_store(chosen, recipe, out, corpus, compiled, identity))
        else:
            check_same(store.required("identity"), identity, out)
            if growth is not None:
                grow(store, config, growth)
        clock = Clock(store, started)
        clock.note()
        journals.generator.attach(store.calls)
        if models.critic_name is not None:
            store.critic_calls.prepare()
            journals.critic.attach(store.critic_calls)
        write_record(store, "running")
        with stopping_on_signals(stop, progress.note, again):
            try:
                engine = prepare_engine(chosen, recipe, store, models, compiled, openers, progress, stop, clock)
                progress.start(
                    asked=store.meta("asked"),
                    accepted=store.results.count(),
                    attempts=store.attempts.decided(),
                    counts=step_counts(store),
                    usage=_all_usage(store, models.usage),
                    elapsed=clock.elapsed,
                )
                ending = engine.run(config.workers)
                has_ended = engine.has_ended
            except RunStoppedError:
                ending, has_ended = "interrupted", True
            except KeyboardInterrupt:  # the second one, of somebody who does not want to wait
                ending, has_ended = "interrupted", False
            except GroundsetError as error:
                # A full disk may be what stopped it; the database is valid all the same.
                with suppress(RunError):
                    clock.note()
                    write_files(store, "failed", str(error))
                progress.failed()
                raise
        clock.note()
        store.set_meta("ending", ending)
        result = _end(store, ending)
        return result._replace(signal=stop.signal if ending == "interrupted" else None, has_ended=has_ended)


def _check_names(config: RunConfig) -> None:
    from groundset.retrieval.stores import check_store
    from programs.critics.registry import check_critic

    check_critic(config.deciding, config.critic_lm)
    check_store(config.vector_store)


def _refuse_derived(store: RunStore, out: Path) -> None:
    if lineage := store.meta("lineage"):
        made_by = Lineage.model_validate(lineage).command_line()
        raise RunMismatchError(
            f"--out {out}: the run there was made by {made_by} and cannot be continued; choose another --out, and join "
            "both by `groundset merge`"
        )


def _name_lm(spec: str) -> ModelName | None:
    """Return the name and hash of a language model, None if they are known only once it has been fetched."""
    from groundset.models.hub import HubSpec, fetched_sha256
    from groundset.models.specs import LocalSpec, parse_spec

    parsed = parse_spec(spec)
    if isinstance(parsed, HubSpec):
        sha256 = fetched_sha256(parsed)
        return ModelName(parsed.name, sha256) if sha256 else None
    return ModelName(parsed.name, parsed.sha256 if isinstance(parsed, LocalSpec) else None)


def _read_corpus(config: RunConfig, embedder: Any, progress: Progress, verbose: bool) -> Corpus:
    tokenizer = embedder.tokenizer.backend_tokenizer if config.chunker == "token" else None
    with progress.phase("Reading documents", len(find_documents(config.sources).files)) as advance:

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
        )
    progress.read(corpus, every_file=verbose)
    return corpus


def _all_usage(store: RunStore, usage: Usage) -> Usage:
    """Return a function that counts the calls and tokens of all processes that worked on a run."""
    both = [table.totals()._asdict() for table in (store.calls, store.critic_calls)]
    earlier = {name: sum(each[name] for each in both) for name in both[0]}
    return lambda: {name: earlier[name] + count for name, count in usage().items() if name in earlier}


def _ending(store: RunStore) -> Ending | None:
    """Return how a run ended for good, None if work is left."""
    if store.results.count() == store.meta("asked"):
        return "complete"
    return "short" if store.meta("ending") == "short" else None


def _recorded(chosen: ChosenMode) -> dict[str, Any]:
    """Return the configuration as given, with the resolved rank, which figures of retrieval depend on."""
    given, settled = chosen.given.anchored().to_dict(), chosen.config.to_dict()
    return {name: settled[name] if name == "max_rank" else value for name, value in given.items()}


def _create_store(
    chosen: ChosenMode,
    recipe: Recipe,
    out: Path,
    corpus: Corpus,
    compiled: Compiled,
    identity: Identity,
) -> RunStore:
    config, asked = chosen.config, current_request(chosen.config, recipe)
    return RunStore.create(
        out,
        documents=corpus.documents,
        chunks=corpus.chunks,
        meta={
            "identity": identity,
            "digest": identity_digest(identity),
            "configuration": _recorded(chosen),
            "mode": {"name": chosen.mode.name, "why": chosen.why},
            "asked": asked.size,
            "growth": growth_record([asked]),
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


def _end(store: RunStore, ending: Ending) -> RunResult:
    reason = shortage(store) if ending == "short" else None
    files = write_files(store, ending, reason)
    return RunResult(ending, files, summarise(store, files, ending, reason))


_FINISHED = ("complete", "short")


class MadeRun(NamedTuple):
    """A run and the outcome of tracking it: ``tracked`` says as what and where, ``untracked`` why it is not."""

    result: RunResult
    tracked: "Tracked | None" = None
    untracked: str | None = None


def make_run(
    given: Mapping[str, Any],
    out: Path,
    *,
    config: Path | None = None,
    track: bool = True,
    track_texts: bool = False,
    tracking: str | None = None,
    verbose: bool = False,
    quiet: bool = False,
    again: Callable[[int], object] | None = None,
    started: float | None = None,
) -> MadeRun:
    """Start the run in ``out``, or continue it, and log it once it has finished.

    Args:
        given: options by field name; see :func:`groundset.engine.config.make_config`.
        out: the folder of the run.
        config: a file of options.
        track: log it in MLflow. A run that cannot be logged is finished all the same.
        track_texts: send the samples to a tracking server too.
        tracking: the store, for champions too; see :func:`groundset.tracking.location.tracking_location`.
        verbose: name every file; let the runtime's log through.
        quiet: show no progress.
        again: what a second signal does; see :func:`groundset.engine.stop.stopping_on_signals`.
        started: when that began which waits for the run, by ``time.monotonic``; now, if nobody says.

    Raises:
        InputError: the input, an option or the folder is wrong.
        GroundsetError: the run cannot go on; what was done is stored.
    """
    asked = make_config(given, config)
    progress = Progress(quiet=quiet)
    result = run_generation(
        asked, out, progress=progress, verbose=verbose, again=again, started=started, tracking=tracking
    )
    if not track or result.ending not in _FINISHED:
        return MadeRun(result)
    try:
        return MadeRun(result, tracked=_track(result.files.record, tracking, track_texts, progress))
    except (InputError, RunError, TrackingError) as error:
        return MadeRun(result, untracked=f"Not tracked: {error} (--no-track leaves it out)")


def _track(record: Path, tracking: str | None, texts: bool, progress: Progress) -> "Tracked":
    from groundset.tracking.location import tracking_location
    from groundset.tracking.runs import already_tracked, track

    if before := already_tracked(record, tracking_location(tracking, create=True), texts=texts):
        return before
    from groundset.tracking.store import TrackingStore

    with progress.waiting("Tracking the run"):
        store = TrackingStore.open(tracking, texts=texts)
        if store.host and texts:
            progress.note(f"Texts go to {store.host}, the tracking store.")
        return track(record, store)
