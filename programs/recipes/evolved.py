"""Recipe ``evolved``: seed question, evolution, judgement with rewriting, answer, round trip.

contexts → seed (question → judge ⇄ mend → round trip → answer) → evolution → judge ⇄ mend → compress → same
         → round trip → answer → draft, with the seed to fall back on
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import dspy
from pydantic import BeforeValidator, Field, field_validator

from programs.evidence import lost_words
from programs.evolutions import EVOLUTIONS
from programs.evolutions.base import EVOLVED
from programs.recipes.base import Agenda, Material, Options, Recipe
from programs.recipes.by_chunk import ByChunk
from programs.recipes.mix import parse_mix, quotas
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_mend import JudgeAndMend, Judged
from programs.stages.seed import Seed
from programs.steps.compress import SHORT_WORDS
from programs.steps.question import tidy_question
from programs.text import tokens
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Draft, Focus, Observer, Outcome


class EvolvedOptions(Options):
    """The options of ``evolved``."""

    mix: Annotated[dict[str, float], BeforeValidator(parse_mix)] = Field(
        default={"simple": 50, "reasoning": 25, "conditional": 25},
        description="How many of each kind, by weight.",
        json_schema_extra={"metavar": "EVOLUTION=WEIGHT,..."},
    )
    ask: Literal["easy", "all"] = Field(
        default="easy",
        description="easy asks English text only what the syntax of a sentence begins a question for; all goes on to "
        "what is hard, where about one question in two is good.",
    )
    candidates: int = Field(default=2, ge=1, le=100, description="Questions drawn for each attempt; the best is kept.")
    max_rank: int = Field(
        default=5, ge=0, description="A question must find its chunk at this rank or better, 0 only records it."
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
        self.finish = Finish(tools, options.max_rank)
        self.seed = Seed(tools, self.judging, self.finish, options.candidates)
        self.evolutions: dict[str, Any] = {name: evolution(tools) for name, evolution in EVOLUTIONS.items()}
        self.compress = tools.predictor("compress")
        self.same = tools.predictor("same")

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
        return trail.outcome(self._evolve(trail, seed, evolution), fallback, asked=foci, exhausted=exhausted)

    def _evolve(self, trail: Trail, seed: Judged, evolution: Any) -> Draft | None:
        question = evolution.evolve(trail, seed)
        if question is None:
            return None
        judged = self.judging(trail, EVOLVED, seed.focus, question)
        if not judged.decision.good:
            judged = self.judging.mend(trail, judged)
        if not judged.decision.good:
            self.judging.refuse(trail, judged)
            return None
        judged = self._shorten(trail, judged)
        if not self._changed(trail, seed, judged):
            return None
        draft: Draft | None = self.finish(trail, judged, trail.attempt.wanted)
        if draft is None:
            return None
        metadata = {**draft.metadata, "seed_question": seed.question}
        return draft.model_copy(update={"trail": trail.of(seed.number, EVOLVED), "metadata": metadata})

    def _shorten(self, trail: Trail, judged: Judged) -> Judged:
        """Return the shorter question if the critic lets it pass, else the longer one."""
        if len(tokens(judged.question)) <= SHORT_WORDS:
            return judged
        written = self.tools.write("compress", self.compress, trail.language, question=judged.question)
        shorter = tidy_question(written.short_question)
        trail.say("compress", judged.number, {"question": shorter})
        if not shorter or len(shorter) >= len(judged.question):
            return judged
        if lost_words(judged.question, shorter, self.tools.languages[trail.language]):
            return judged  # it asks something else: what told the thing that is meant from others is gone
        again = self.judging(trail, judged.number, judged.focus, shorter)
        return again if again.decision.good else judged

    def _changed(self, trail: Trail, seed: Judged, judged: Judged) -> bool:
        decision = self.tools.decide("same", self.same, first=seed.question, second=judged.question)
        changed = not decision.values["same"]
        probability = 1 - decision.probabilities["same"]
        reason = None if changed else "the evolution changed nothing"
        trail.say("same", judged.number, decision.as_output(), probability=probability, good=changed, reason=reason)
        if reason:
            trail.refuse("same", reason, probability=probability, question=judged.question)
        return changed


def _shares(size: int, options: EvolvedOptions) -> Mapping[str, int]:
    return quotas(size, {name: options.mix.get(name, 0) for name in EVOLUTIONS})


def _agenda(material: Material, options: EvolvedOptions, size: int) -> Agenda:
    kinds = [name for name, share in _shares(size, options).items() if share]
    only_easy = options.ask == "easy"
    return ByChunk(material.contexts, kinds, size=options.candidates, only_easy=only_easy)


RECIPE = Recipe(
    name="evolved",
    about="Seed questions about one chunk, some of them made harder.",
    options=EvolvedOptions,
    program=Evolved,
    shares=_shares,
    agenda=_agenda,
)
