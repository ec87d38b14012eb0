"""Assembly of a run: analysed chunks, the recipe's tools and agenda, and the engine."""

from dataclasses import replace
from typing import Protocol

import dspy

from groundset.corpus import draw_order
from groundset.data_files import data_path
from groundset.engine.compiled import Compiled, shipped_head
from groundset.engine.config import ChosenMode, RunConfig
from groundset.engine.engine import UNTRACED, AttemptRunner, RunEngine, Watcher
from groundset.engine.growth import stored_requests
from groundset.engine.models import Openers, RunModels
from groundset.engine.planner import PlannedRequest, Planner
from groundset.engine.preparation import Phases, embed_chunks, read_chunks, score_chunks
from groundset.engine.prompts import adapt_prompts, prompts_file
from groundset.engine.stop import Clock, Stop
from groundset.executors import LOCAL, Executor
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.parser import NONE, load_parser
from groundset.store.folder import index_path
from groundset.store.run_store import RunStore
from programs.critics import MODEL_FREE, SCORING, open_critics, open_panel
from programs.critics.heads import HeadCritic
from programs.critics.remembering import CachingEncoder
from programs.demos import read_demos
from programs.profiles import read_profiles
from programs.recipes.base import Material, Recipe
from programs.stages.contexts import Contexts
from programs.tools import CRITIC, GENERATOR, Tools

# Below 0.1 the head rejects 1 of 147 good and 117 of 189 bad chunks (test labels and real text).
_SURELY_BAD = 0.1


class Display(Watcher, Phases, Protocol):
    """Shows the progress of preparation and attempts."""


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
    executor: Executor = LOCAL,
) -> RunEngine:
    """Analyse the chunks of a run, and build the engine that continues it from the state in the store.

    Syntax and embeddings are computed by ``executor``.

    Raises:
        RunStoppedError: the user stopped the run; finished preparation is stored.
        GroundsetError: a model cannot be loaded, or the store cannot be written.
    """
    config, mode = chosen.config, chosen.mode

    def check() -> None:
        clock.tick()
        stop.check()

    read_chunks(store, models.parser if mode.needs_syntax else load_parser(NONE), display, check, executor)
    embed_chunks(store, models.embedder.encode_corpus, display, check, executor)
    chunks, vectors = store.chunks(), store.vectors()
    if vectors.shape[1] != models.embedder.dimension:
        raise store.damaged("the dimension of its vectors is not that of its embedder")
    ids = [chunk.chunk_id for chunk in chunks]
    encoder = CachingEncoder(  # shared, so that no text is embedded twice
        models.embedder, {chunk.text: vector for chunk, vector in zip(chunks, vectors, strict=True)}
    )
    vector_store = open_store(
        config.vector_store, ids, vectors, index_file=index_path(store.folder), phase=display.phase
    )
    store.set_meta("search", vector_store.record())
    index = ChunkIndex(chunks, vector_store, encoder.encode)
    calls_model = config.deciding not in MODEL_FREE
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
    )
    if not calls_model:
        score_chunks(store, Contexts(tools), display, check)
    elif mode.writes_freely and (head := shipped_head("chunk", models.embedder.sha256)) is not None:
        # Saves model calls for chunks that the head rejects with high confidence.
        prefilter = {"chunk": HeadCritic("chunk", encoder, models.languages, head)}
        stage = Contexts(replace(tools, critics=prefilter, states={}, least_score=0.0))
        score_chunks(store, stage, display, check, below=_SURELY_BAD)
    contexts = store.contexts()
    ordered = [contexts[chunk.chunk_id] for chunk in draw_order(chunks, config.seed)]
    if config.language and not mode.writes_freely:
        ordered = [context for context in ordered if context.language == config.language]
        store.set_meta("language", {"code": config.language, "chunks": len(ordered)})
    requests = _planned(store, recipe, config, Material(ordered, index.near, models.languages, mode))
    _, agenda, shares = requests[-1]
    size = sum(shares.values())
    store.set_meta("asked", size)
    store.set_meta("shares", dict(shares))
    store.set_meta("agenda", dict(agenda.counts))
    model = models.language_model
    judges = calls_model or config.panel
    by_role = {GENERATOR: model.lm} | ({CRITIC: models.critic_model.lm} if judges else {})
    panel = open_panel(models.critic_model) if config.panel else {}
    takes_profiles = "profile_file" in recipe.options.model_fields
    tools = replace(
        tools.with_models(by_role),
        critics={**critics, **compiled.finetuned(model.lm), **panel},
        corpus=contexts,
        profiles=read_profiles(data_path("profiles", "default.json")) if takes_profiles else None,
    )
    program = recipe.program(tools, config.options)
    if config.language and mode.writes_freely:
        file = prompts_file(models.name.name, config.language)
        with dspy.context(lm=model.lm, adapter=model.adapter, **UNTRACED):
            tools = adapt_prompts(tools, program, store, file, encoder.encode, display, check)
        program = recipe.program(tools, config.options)
    limits = {} if mode.writes_freely else config.options.limits(size)
    engine = RunEngine(
        store,
        Planner(
            requests, config.seed, encoder.encode, limits=limits, mix_rounds=mode.mix_rounds, language=config.language
        ),
        AttemptRunner(program, model.lm, model.adapter),
        display,
        stop,
        clock,
    )
    engine.restore()
    return engine


def _planned(store: RunStore, recipe: Recipe, config: RunConfig, material: Material) -> list[PlannedRequest]:
    """Return the stored requests with their agendas and shares, the earliest first."""
    planned = []
    for request in stored_requests(store, recipe):
        options = config.options.model_copy(update=request.options)
        agenda = recipe.agenda(material, options, request.size or 0)
        size = request.size or max(1, len(agenda.keys))
        planned.append(PlannedRequest(request.first, agenda, recipe.shares(size, options)))
    return planned
