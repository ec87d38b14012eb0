"""Assembly of a run: analysed chunks, the recipe's tools and agenda, and the engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import dspy

from groundset.corpus.chunks import draw_order
from groundset.data_files import data_path
from groundset.engine.background import LateCorpus, LateIndex, Preparation
from groundset.engine.compiled import Compiled, shipped_head
from groundset.engine.config import ChosenMode, RunConfig
from groundset.engine.engine import UNTRACED, AttemptRunner, RunEngine, Watcher
from groundset.engine.growth import stored_requests
from groundset.engine.models import Openers, RunModels
from groundset.engine.planner import PlannedRequest, Planner
from groundset.engine.preparation import ChunkWork, Phases, Scoring, prepare_slices, unprepared
from groundset.engine.prompts import adapt_prompts, prompts_file
from groundset.engine.stop import Clock, Stop
from groundset.engine.strata import CLUSTER, by_cluster, by_column
from groundset.executors import Executor
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.parser import NONE, load_parser
from groundset.store.folder import index_path
from groundset.store.run_store import RunStore
from programs.critics import MODEL_FREE, SCORING, open_critics, open_panel
from programs.critics.heads import CriticHeads
from programs.critics.remembering import CachingEncoder
from programs.demos import read_demos
from programs.languages.table import Languages
from programs.profiles import read_profiles
from programs.recipes.base import Material, Recipe
from programs.stages.contexts import Contexts
from programs.tools import CRITIC, GENERATOR, Tools
from programs.types import Context

# Below 0.1 the head rejects 1 of 147 good and 117 of 189 bad chunks (test labels and real text).
_SURELY_BAD = 0.1
MIN_IN_BACKGROUND = 256  # chunks; fewer are prepared before the first attempt


class Display(Watcher, Phases, Protocol):
    """Shows the progress of preparation and attempts."""

    def background(self, doing: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Show a phase like :meth:`phase`, which may go on while attempts run."""
        ...


def prepare_engine(
    chosen: ChosenMode,
    recipe: Recipe,
    store: RunStore,
    models: RunModels,
    compiled: Compiled,
    openers: Openers,
    display: Display,
    stop: Stop,
    clock: Clock,
    executor: Executor,
    preparing: ExitStack,
) -> RunEngine:
    """Analyse the chunks of a run, and build the engine that continues it from the state in the store.

    Many chunks are prepared in the background while attempts run. ``executor`` does it; ``preparing`` is closed when
    all are ready.

    Raises:
        RunStoppedError: the user stopped the run; finished preparation is stored.
        GroundsetError: a model cannot be loaded, or the store cannot be written.
    """
    config, mode = chosen.config, chosen.mode

    def check() -> None:
        clock.tick()
        stop.check()

    chunks = store.chunks()
    ids = [chunk.chunk_id for chunk in chunks]
    encoder = CachingEncoder(models.embedder)  # shared, so that no text is embedded twice
    calls_model = config.deciding not in MODEL_FREE
    scoring = None
    if not calls_model:
        scoring = Scoring(
            partial(
                open_scorer,
                openers.critics or open_critics,
                config.deciding,
                compiled.heads,
                compiled.blends,
                compiled.predictors,
            )
        )
    elif mode.writes_freely and (head := shipped_head("chunk", models.embedder.sha256)) is not None:
        # Saves model calls for chunks that the head rejects with high confidence.
        scoring = Scoring(partial(open_scorer, open_critics, "head", {"chunk": head}, {}, {}), below=_SURELY_BAD)
    work = ChunkWork(models.parser if mode.needs_syntax else load_parser(NONE), models.embedder, scoring)
    order = by_column(draw_order(chunks, config.seed), config.stratify, config.seed)
    missing = unprepared(store)

    def prepare(check: Callable[[], None]) -> Iterator[list[Context]]:
        with display.background("Preparing chunks", len(missing)) as advance:
            yield from prepare_slices(store, order, missing, work, encoder, models.languages, executor, advance, check)

    def open_index() -> ChunkIndex:
        vectors = store.vectors()
        if vectors.shape[1] != models.embedder.dimension:
            raise store.damaged("the dimension of its vectors is not that of its embedder")
        encoder.keep({chunk.text: vector for chunk, vector in zip(chunks, vectors, strict=True)})
        vector_store = open_store(
            config.vector_store, ids, vectors, index_file=index_path(store.folder), phase=display.background
        )
        store.set_meta("search", vector_store.record())
        return ChunkIndex(chunks, vector_store, encoder.encode)

    preparation = Preparation(len(order), prepare, open_index, check, display.tick)
    preparing.callback(preparation.close)
    if len(missing) < MIN_IN_BACKGROUND:
        preparation.run()
        preparing.close()  # the executor ends before the language model needs the memory
    else:
        preparation.start(yielding=models.is_local)
    index, corpus = LateIndex(preparation), LateCorpus(preparation, ids)
    critics = (openers.critics or open_critics)(
        config.deciding,
        languages=models.languages,
        embedder=encoder,
        language_model=models.critic_model if calls_model else None,
        heads=compiled.heads,
        blends=compiled.blends,
    )
    tools = Tools(
        critics=critics,
        retriever=index,
        languages=models.languages,
        demos=read_demos(data_path("demos")),
        states=compiled.predictors,
        adapters=compiled.adapters,
        selects=compiled.selects(encoder.encode),
        mode=mode.name,
        language=config.language or "",
        least_score=config.least_score if config.deciding in SCORING else 0.0,
        corpus=corpus,
    )
    contexts: Sequence[Context] = preparation
    if config.stratify == CLUSTER:
        found = dict(corpus)  # waits for all
        rows = {name: row for row, name in enumerate(ids)}
        vectors = store.vectors()[[rows[chunk.chunk_id] for chunk in order]]
        order = by_cluster(order, vectors, config.seed)
        contexts = [found[chunk.chunk_id] for chunk in order]
    if config.language and not mode.writes_freely:
        contexts = [context for context in contexts if context.language == config.language]
        store.set_meta("language", {"code": config.language, "chunks": len(contexts)})
    requests = _planned(store, recipe, config, Material(contexts, index.near, models.languages, mode, order))
    _, agenda, shares = requests[-1]
    size = sum(shares.values())
    store.set_meta("asked", size)
    store.set_meta("shares", dict(shares))
    model = models.language_model
    judges = calls_model or config.panel
    by_role = {GENERATOR: model.lm} | ({CRITIC: models.critic_model.lm} if judges else {})
    panel = open_panel(models.critic_model) if config.panel else {}
    takes_profiles = "profile_file" in recipe.options.model_fields
    tools = replace(
        tools.with_models(by_role),
        critics={**critics, **compiled.finetuned(model.lm), **panel},
        profiles=read_profiles(data_path("profiles", "default.json")) if takes_profiles else None,
    )
    program = recipe.program(tools, config.options)
    if config.language and mode.writes_freely:
        file = prompts_file(models.name.name, config.language)
        with dspy.context(lm=model.lm, adapter=model.adapter, **UNTRACED):
            tools = adapt_prompts(tools, program, store, file, encoder.encode, display, check)
        program = recipe.program(tools, config.options)
    limits = {} if mode.writes_freely else config.options.limits(size)

    is_recorded = False

    def is_prepared() -> bool:
        nonlocal is_recorded
        if preparation.is_done and not is_recorded:
            preparing.close()
            store.set_meta("agenda", dict(agenda.counts))
            is_recorded = True
        return is_recorded

    engine = RunEngine(
        store,
        Planner(
            requests, config.seed, encoder.encode, limits=limits, mix_rounds=mode.mix_rounds, language=config.language
        ),
        AttemptRunner(program, model.lm, model.adapter),
        display,
        stop,
        clock,
        is_prepared,
    )
    engine.restore()
    return engine


def open_scorer(
    open_chosen: Callable[..., Mapping[str, Any]],
    critic: str,
    heads: Mapping[str, CriticHeads],
    blends: Mapping[str, Any],
    states: Mapping[str, dict[str, Any]],
    encoder: CachingEncoder,
    languages: Languages,
) -> Contexts:
    """Return the stage that scores chunks with a critic that calls no model."""
    critics = open_chosen(
        critic, languages=languages, embedder=encoder, language_model=None, heads=heads, blends=blends
    )
    nowhere: Any = None  # it searches nothing
    return Contexts(Tools(critics=critics, retriever=nowhere, languages=languages, states=states))


def _planned(store: RunStore, recipe: Recipe, config: RunConfig, material: Material) -> list[PlannedRequest]:
    """Return the stored requests with their agendas and shares, the earliest first."""
    planned = []
    for request in stored_requests(store, recipe):
        options = config.options.model_copy(update=request.options)
        agenda = recipe.agenda(material, options, request.size or 0)
        size = request.size or max(1, len(agenda.keys))
        planned.append(PlannedRequest(request.first, agenda, recipe.shares(size, options)))
    return planned
