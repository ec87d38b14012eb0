"""Recipe ``evolved``: seed question, evolution, judgement with rewriting, answer, round trip.

contexts → seed (question → judge ⇄ mend → round trip → answer) → evolution → judge ⇄ mend → compress → same
         → round trip → answer → draft, with the seed to fall back on
"""

from collections.abc import Mapping
from typing import Annotated, Any

import dspy
from pydantic import BeforeValidator, Field, field_validator

from programs.evolutions import EVOLUTIONS
from programs.recipes.base import Agenda, Material, Recipe
from programs.recipes.by_chunk import ByChunk, ByChunkOptions
from programs.recipes.kinds import Mixing
from programs.recipes.mix import parse_mix, quotas
from programs.stages.contexts import Contexts
from programs.stages.evolve import Evolve
from programs.stages.finish import Finish
from programs.stages.judge_and_mend import JudgeAndMend
from programs.stages.seed import Seed
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Focus, Observer, Outcome


class EvolvedOptions(ByChunkOptions):
    """The options of ``evolved``."""

    mix: Annotated[dict[str, float], BeforeValidator(parse_mix)] = Field(
        default={"simple": 1},
        description="How many of each evolution (simple, reasoning, conditional), by weight. Readers sign few of the "
        "last two.",
        json_schema_extra={"metavar": "EVOLUTION=WEIGHT,..."},
    )

    @field_validator("mix")
    @classmethod
    def _check_mix(cls, value: dict[str, float]) -> dict[str, float]:
        if unknown := [name for name in value if name not in EVOLUTIONS]:
            raise ValueError(f"no evolution is called {unknown[0]!r}; there are {', '.join(EVOLUTIONS)}")
        if any(not 0 <= weight < float("inf") for weight in value.values()) or not sum(value.values()):
            raise ValueError("weights must be 0 or more, and one of them above 0")
        return value

    def compared(self) -> dict[str, Any]:
        """Return what two runs are compared by: of the weights only how they stand to each other."""
        total = sum(self.mix.values())
        shares = {name: round(self.mix[name] / total, 6) for name in EVOLUTIONS if self.mix.get(name)}
        return {**super().compared(), "mix": shares}


class Evolved(dspy.Module):
    """Make one sample of a chunk.

    Seed questions about different facts are drawn and judged; the best one that the generator can answer from the
    chunk, with the words that it was asked about, becomes the seed. For an evolution other than ``simple`` the seed
    is evolved, judged, mended if need be, shortened, compared with the seed and answered again.
    """

    def __init__(self, tools: Tools, options: EvolvedOptions) -> None:
        """Compose the stages."""
        super().__init__()
        self.tools = tools
        self.contexts = Contexts(tools)
        self.judging = JudgeAndMend(tools)
        self.finish = Finish(tools, self.judging, options.max_rank)
        self.seed = Seed(tools, self.judging, self.finish, options.candidates)
        self.evolutions: dict[str, Any] = {name: evolution(tools) for name, evolution in EVOLUTIONS.items()}
        self.evolve = Evolve(tools, self.judging, self.finish)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run every stage on one attempt."""
        evolution = self.evolutions[attempt.wanted]
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        context, exhausted = attempt.contexts[0], False
        foci = context.foci
        if not foci:

            def grows(focus: Focus) -> bool:
                return bool(evolution.can_grow(focus, context, self.tools.languages))

            foci, exhausted = self.seed.ask.look_for_foci(trail, grows)
        found = self.seed(trail, foci) if foci else None
        if found is None or attempt.wanted == "simple":
            return trail.outcome(found and found[1], asked=foci, exhausted=exhausted)
        seed, fallback = found
        # What was found may be another answer than the one that was meant; the evolution must keep it.
        seed = seed._replace(focus=seed.focus.model_copy(update={"answer": fallback.answer}))
        return trail.outcome(self.evolve(trail, seed, evolution), fallback, asked=foci, exhausted=exhausted)


def _shares(size: int, options: EvolvedOptions) -> Mapping[str, int]:
    return quotas(size, {name: options.mix.get(name, 0) for name in EVOLUTIONS})


def _agenda(material: Material, options: EvolvedOptions, size: int) -> Agenda:
    kinds = [name for name, share in _shares(size, options).items() if share]
    return ByChunk(
        material.contexts,
        kinds,
        size=options.candidates,
        only_easy=options.ask == "easy",
        mixing=Mixing(options.kinds, material.languages),
    )


RECIPE = Recipe(
    name="evolved",
    about="Seed questions about one chunk, some of them made harder.",
    options=EvolvedOptions,
    program=Evolved,
    shares=_shares,
    agenda=_agenda,
)
