"""Recipe ``evolved``: seed questions about one chunk, and evolutions of them.

contexts → seed (question → judge ⇄ rewrite → round trip → answer) → evolution → judge ⇄ rewrite → compress → same
         → round trip → answer → draft, with the seed as fallback
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import dspy
from pydantic import BeforeValidator, Field, field_validator

from programs.evolutions import EVOLUTIONS
from programs.modes import MODES, Mode
from programs.modes.base import AskOptions
from programs.recipes.base import Agenda, Material, Recipe
from programs.recipes.by_chunk import ByChunk, ByChunkOptions
from programs.recipes.by_passage import ByPassage
from programs.recipes.kinds import KindPlan
from programs.recipes.mix import parse_mix, quotas
from programs.stages.combine import Combine
from programs.stages.contexts import Contexts
from programs.stages.evolve import Evolve
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.restyle import Restyle
from programs.stages.seed import Seed
from programs.steps.ask import LENGTHS
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Draft, Focus, Observer, Outcome

MULTI = "multi_context"


class EvolvedOptions(ByChunkOptions):
    """The options of ``evolved``."""

    mix: Annotated[dict[str, float], BeforeValidator(parse_mix)] = Field(
        default={},
        description=f"Evolutions, by weight: {', '.join(EVOLUTIONS)}. Available evolutions and the default depend on "
        "the mode.",
        json_schema_extra={"metavar": "EVOLUTION=WEIGHT,..."},
    )

    @field_validator("mix")
    @classmethod
    def _check_mix(cls, value: dict[str, float]) -> dict[str, float]:
        if unknown := [name for name in value if name not in EVOLUTIONS]:
            raise ValueError(f"no evolution is called {unknown[0]!r}; there are {', '.join(EVOLUTIONS)}")
        if any(not 0 <= weight < float("inf") for weight in value.values()) or (value and not sum(value.values())):
            raise ValueError("weights must be 0 or more, and one of them above 0")
        return value

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with the default mix of a mode; see :meth:`Options.in_mode`."""
        if missing := [name for name, weight in self.mix.items() if weight and name not in mode.evolutions]:
            raise ValueError(f"--mix: mode {mode.name} has no {missing[0]}; it has {', '.join(mode.evolutions)}")
        return super().in_mode(mode).model_copy(update={"mix": self.mix or dict(mode.mix)})

    def compared(self) -> dict[str, Any]:
        """Return the options that must stay the same; of the mix, only the ratios."""
        total = sum(self.mix.values()) or 1
        shares = {name: round(self.mix[name] / total, 6) for name in EVOLUTIONS if self.mix.get(name)}
        return {**super().compared(), "mix": shares}


class Evolved(dspy.Module):
    """Make one sample from a chunk.

    Candidates about different facts are written and judged; the best one that the generator answers as expected
    becomes the seed. For an evolution other than ``simple``, the seed is evolved and the result checked again.
    """

    def __init__(self, tools: Tools, options: EvolvedOptions) -> None:
        """Compose the stages."""
        super().__init__()
        self.tools = tools
        self.mode = MODES[tools.mode]
        resolved = options.in_mode(self.mode)
        max_rank = resolved.max_rank or 0
        asking = AskOptions(options.candidates, options.answers)
        self.contexts = Contexts(tools)
        self.judging = JudgeAndRewrite(tools)
        self.finish = Finish(tools, self.judging, self.mode.answer(tools), max_rank, options.answer_variants)
        self.seed = Seed(self.mode.asker(tools, self.judging, asking), self.finish)
        wanted = {**resolved.mix, "simple": 1}
        self.evolutions: dict[str, Any] = {
            name: self.mode.evolver(tools, EVOLUTIONS[name], asking)
            for name in self.mode.evolutions
            if EVOLUTIONS[name].chunks == 1
            and EVOLUTIONS[name].restyle is None
            and EVOLUTIONS[name].own_checks is None
            and (wanted.get(name) or not self.mode.writes_freely)
        }
        self.own_checks: dict[str, Any] = {
            name: own_checks(tools, self.judging, self.finish, LENGTHS[options.answers])
            for name in self.mode.evolutions
            if (own_checks := EVOLUTIONS[name].own_checks) is not None and wanted.get(name)
        }
        self.restyle = Restyle(tools, max_rank)
        self.evolve = Evolve(tools, self.judging, self.finish, limited=self.mode.writes_freely)
        if MULTI in self.mode.evolutions:
            self.combine = Combine(
                tools, self.judging, self.finish, candidates=options.candidates, answers=options.answers
            )

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        if EVOLUTIONS[attempt.wanted].chunks > 1:
            return trail.outcome(self.combine(trail))
        context, exhausted = attempt.contexts[0], False
        foci = context.foci
        if not foci:

            def can_evolve(focus: Focus) -> bool:
                by_syntax = EVOLUTIONS[attempt.wanted].by_syntax
                return by_syntax is None or by_syntax.can_evolve(focus, context, self.tools.languages)

            foci, exhausted = self.seed.ask.look_for_foci(trail, can_evolve)
        if self.mode.writes_freely:
            return trail.outcome(*self._write_freely(trail, foci))
        found = self.seed(trail, foci) if foci else None
        if found is None or attempt.wanted == "simple":
            return trail.outcome(found and found[1], used_foci=foci, exhausted=exhausted)
        seed, fallback = found
        if EVOLUTIONS[attempt.wanted].restyle:
            restyled = self.restyle(trail, fallback, EVOLUTIONS[attempt.wanted])
            return trail.outcome(restyled, fallback, used_foci=foci, exhausted=exhausted)
        # The answer found may differ from the one of the focus; the evolved question must keep it.
        seed = seed._replace(focus=seed.focus.model_copy(update={"answer": fallback.answer}))
        evolved = self._evolve(trail, seed, attempt.wanted)
        return trail.outcome(evolved, fallback, used_foci=foci, exhausted=exhausted)

    def _write_freely(self, trail: Trail, foci: tuple[Focus, ...]) -> tuple[Draft | None, ...]:
        """Return the wanted draft; if the evolution fails, one other evolution is tried, then ``simple``.

        The seed is answered only in the last case, because evolved questions have their own answers.
        """
        wanted = trail.attempt.wanted
        if wanted == "simple" or EVOLUTIONS[wanted].restyle or EVOLUTIONS[wanted].answers_seed:
            found = self.seed(trail, foci)
            if found is None or wanted == "simple":
                return (found and found[1],)
            seed, draft = found
            is_restyled = EVOLUTIONS[wanted].restyle is not None
            evolved = (
                self.restyle(trail, draft, EVOLUTIONS[wanted]) if is_restyled else self._evolve(trail, seed, wanted)
            )
            return (evolved, draft)
        good = next(iter(self.seed.ask.good(trail, foci)), None)
        if good is None:
            return ()
        others = [name for name in self.evolutions if name not in ("simple", wanted)]
        applicable = [name for name in others if EVOLUTIONS[name].applies_to(trail.contexts[0])]
        for name in (wanted, *applicable[:1]):
            if (draft := self._evolve(trail, good, name)) is not None:
                return (draft,)
        return (self.finish(trail, good, "simple"),)

    def _evolve(self, trail: Trail, seed: Judged, name: str) -> Draft | None:
        draft: Draft | None
        if name in self.own_checks:
            draft = self.own_checks[name](trail, seed)
        else:
            draft = self.evolve(trail, seed, EVOLUTIONS[name], self.evolutions[name])
        return draft


def _shares(size: int, options: EvolvedOptions) -> Mapping[str, int]:
    mix = options.mix or {"simple": 1}
    return quotas(size, {name: mix.get(name, 0) for name in EVOLUTIONS})


def _agenda(material: Material, options: EvolvedOptions, size: int) -> Agenda:
    evolutions = [name for name, share in _shares(size, options).items() if share]
    if material.mode.writes_freely:
        return ByPassage(material, evolutions, weights=options.kinds, candidates=options.candidates)
    return ByChunk(
        material.contexts,
        evolutions,
        size=options.candidates,
        only_easy=options.ask == "easy",
        kind_plan=KindPlan(options.kinds, material.languages),
    )


RECIPE = Recipe(
    name="evolved",
    about="Questions about one chunk, some of them made harder.",
    options=EvolvedOptions,
    program=Evolved,
    shares=_shares,
    agenda=_agenda,
)
