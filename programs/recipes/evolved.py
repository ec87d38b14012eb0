"""Recipe ``evolved``: seed questions about one chunk, and evolutions of them.

contexts → seed (question → judge ⇄ rewrite → round trip → answer) → evolution → judge ⇄ rewrite → compress → same
         → round trip → answer → draft, with the seed as fallback
"""

from collections.abc import Mapping
from typing import Any

import dspy

from programs.evolutions import EVOLUTIONS
from programs.modes import MODES
from programs.modes.base import AskOptions
from programs.recipes.base import Agenda, Material, Recipe
from programs.recipes.by_chunk import ByChunk, ByChunkOptions
from programs.recipes.by_passage import ByPassage
from programs.recipes.kinds import KindPlan
from programs.recipes.mix import quotas
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
            and not EVOLUTIONS[name].rewords
            and EVOLUTIONS[name].own_checks is None
            and (wanted.get(name) or not self.mode.writes_freely)
        }
        self.own_checks: dict[str, Any] = {
            name: own_checks(tools, self.judging, self.finish, LENGTHS[options.answers])
            for name in self.mode.evolutions
            if (own_checks := EVOLUTIONS[name].own_checks) is not None and wanted.get(name)
        }
        self.restyle = Restyle(
            tools, self.judging, max_rank, resolved.wanted, personas=options.personas, queries=options.like or ()
        )
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
        if EVOLUTIONS[attempt.wanted].rewords:
            return trail.outcome(*self.restyle(trail, fallback), used_foci=foci, exhausted=exhausted)
        # The answer found may differ from the one of the focus; the evolved question must keep it.
        seed = seed._replace(focus=seed.focus.model_copy(update={"answer": fallback.answer}))
        evolved = self._evolve(trail, seed, attempt.wanted)
        return trail.outcome(evolved, fallback, used_foci=foci, exhausted=exhausted)

    def _write_freely(self, trail: Trail, foci: tuple[Focus, ...]) -> tuple[Draft | None, ...]:
        """Return the wanted draft; if the evolution fails, one other missing evolution is tried, then ``simple``.

        The seed is answered only in the last case, because evolved questions have their own answers.
        """
        wanted = trail.attempt.wanted
        row = EVOLUTIONS[wanted]
        if wanted == "simple" or row.rewords or row.answers_seed:
            found = self.seed(trail, foci)
            if found is None:
                return ()
            seed, draft = found
            if row.answers_seed:
                return (self._evolve(trail, seed, wanted), draft)
            drafts: tuple[Draft | None, ...] = self.restyle(trail, draft)
            return drafts
        good = next(iter(self.seed.ask.good(trail, foci)), None)
        if good is None:
            return ()
        others = [name for name in trail.attempt.others if name in self.evolutions and name != "simple"]
        for name in (wanted, *others[:1]):
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
