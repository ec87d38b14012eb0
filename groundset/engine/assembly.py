"""Assembly of a run: its analysed chunks, the tools of its recipe, agenda and engine."""

from dataclasses import replace
from typing import Protocol

from groundset.corpus import draw_order
from groundset.data_files import data_path
from groundset.engine.compiled import Compiled, shipped_head
from groundset.engine.config import ChosenMode, RunConfig
from groundset.engine.engine import Maker, RunEngine, Watcher
from groundset.engine.growth import stored_requests
from groundset.engine.models import Openers, RunModels
from groundset.engine.planner import Demand, Planner
from groundset.engine.preparation import Phases, embed_chunks, read_chunks, score_chunks
from groundset.engine.stop import Clock, Stop
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.parser import NONE, load_parser
from groundset.store.run_store import RunStore
from programs.critics import MODEL_FREE, SCORING, open_critics
from programs.critics.heads import HeadCritic
from programs.critics.remembering import CachingEncoder
from programs.demos import read_demos
from programs.recipes.base import Material, Recipe
from programs.stages.contexts import Contexts
from programs.tools import CRITIC, GENERATOR, Tools

# Of 147 good chunks of the test labels and of real text one is less likely to be good by the head, of 189 bad ones 117.
_SURELY_BAD = 0.1


class Shown(Watcher, Phases, Protocol):
    """Progress displays of a run: of its preparation, and of its attempts."""


def prepare_engine(
    chosen: ChosenMode,
    recipe: Recipe,
    store: RunStore,
    models: RunModels,
    compiled: Compiled,
    openers: Openers,
    shown: Shown,
    stop: Stop,
    clock: Clock,
) -> RunEngine:
    """Analyse the chunks of a run, and build the engine that continues it from the state in the store.

    Raises:
        RunStoppedError: somebody asked to stop; what was read is stored.
        GroundsetError: a model cannot be loaded, or the store cannot be written.
    """
    config, mode = chosen.config, chosen.mode

    def check() -> None:
        clock.tick()
        stop.check()

    read_chunks(store, models.parser if mode.needs_syntax else load_parser(NONE), shown, check)
    embed_chunks(store, models.embedder.encode_corpus, shown, check)
    chunks, vectors = store.chunks(), store.vectors()
    if vectors.shape[1] != models.embedder.dimension:
        raise store.damaged("its vectors are of another length than those of its embedder")
    ids = [chunk.chunk_id for chunk in chunks]
    # All that embeds shares what is known of passages and questions.
    encoder = CachingEncoder(
        models.embedder, {chunk.text: vector for chunk, vector in zip(chunks, vectors, strict=True)}
    )
    index = ChunkIndex(chunks, open_store(config.vector_store, ids, vectors), encoder.encode)
    asks_model = config.deciding not in MODEL_FREE
    critics = (openers.critics or open_critics)(
        config.deciding,
        languages=models.languages,
        embedder=encoder,
        language_model=models.critic_model if asks_model else None,
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
        least_score=config.least_score if config.deciding in SCORING else 0.0,
    )
    if not asks_model:
        score_chunks(store, Contexts(tools), shown, check)
    elif mode.writes_freely and (head := shipped_head("chunk", models.embedder.sha256)) is not None:
        # A model that judges is not asked about what is surely no passage.
        sure = {"chunk": HeadCritic("chunk", encoder, models.languages, head)}
        sifting = replace(tools, critics=sure, states={}, least_score=0.0)
        score_chunks(store, Contexts(sifting), shown, check, below=_SURELY_BAD)
    contexts = store.contexts()
    ordered = [contexts[chunk.chunk_id] for chunk in draw_order(chunks, config.seed)]
    material = Material(ordered, index.near, models.languages, mode)
    demands = _demands(store, recipe, config, material)
    _, agenda, shares = demands[-1]
    size = sum(shares.values())
    store.set_meta("asked", size)
    store.set_meta("shares", dict(shares))
    store.set_meta("agenda", dict(agenda.counts))
    model = models.language_model
    by_role = {GENERATOR: model.lm} | ({CRITIC: models.critic_model.lm} if asks_model else {})
    tools = replace(tools.with_models(by_role), critics={**critics, **compiled.taught(model.lm)})
    program = recipe.program(tools, config.options)
    limits = {} if mode.writes_freely else config.options.limits(size)
    engine = RunEngine(
        store,
        Planner(demands, config.seed, encoder.encode, limits=limits, mix_rounds=mode.mix_rounds),
        Maker(program, model.lm, model.adapter),
        shown,
        stop,
        clock,
    )
    engine.restore()
    return engine


def _demands(store: RunStore, recipe: Recipe, config: RunConfig, material: Material) -> list[Demand]:
    """Return the demands on a run, from which attempts are planned, the earliest first."""
    demands = []
    for asked in stored_requests(store, recipe):
        options = config.options.model_copy(update=asked.options)
        agenda = recipe.agenda(material, options, asked.size or 0)
        size = asked.size or max(1, len(agenda.keys))
        demands.append(Demand(asked.first, agenda, recipe.shares(size, options)))
    return demands
