"""Stage ``restyle``: reword a finished question, by rule or by the model, and search for it again."""

import random
from collections.abc import Iterable, Sequence

import dspy

from programs.deciding import Decision, with_reason
from programs.evolutions import EVOLUTIONS
from programs.evolutions.base import Evolution
from programs.evolutions.persona import PERSONAS
from programs.stages.contexts import is_llm_judge
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.language import is_in_language
from programs.stages.round_trip import rank_refusal
from programs.steps.question import tidy_question
from programs.steps.reword import PERSONA, Style, copied_words, wording_fault
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft

_EXAMPLES = 4  # queries of the user that the model is shown


class Restyle(dspy.Module):
    """Reword the question of a draft and keep its answer and chunks.

    A rule keeps what a question asks for. The wording of a model is checked: by rules, by the step ``same``, and by the
    step ``judge`` where the style asks for a full question.
    """

    def __init__(
        self,
        tools: Tools,
        judging: JudgeAndRewrite,
        max_rank: int,
        evolutions: Iterable[str],
        *,
        personas: Sequence[str] = (),
        queries: Sequence[str] = (),
    ) -> None:
        """Compose the checks.

        Args:
            tools: the tools of the run.
            judging: judges wordings.
            max_rank: the highest accepted rank; 0 records ranks and refuses none.
            evolutions: the wanted evolutions; the predictors of rewording exist only if one of them needs the model.
            personas: the persons of the evolution ``persona``.
            queries: queries of the user, as examples of style.
        """
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.max_rank = max_rank
        self.personas = tuple(personas) or PERSONAS
        self.queries = tuple(queries)
        if any(EVOLUTIONS[name].style for name in evolutions):
            self.reword = tools.predictor("reword")
            self.same = tools.predictor("same")

    def forward(self, trail: Trail, draft: Draft | None) -> tuple[Draft | None, ...]:
        """Return the drafts of an attempt in order of preference: in the wanted style, if it wants one, then as is."""
        row = EVOLUTIONS[trail.attempt.wanted]
        return (self._restyled(trail, draft, row), draft) if draft is not None and row.rewords else (draft,)

    def _restyled(self, trail: Trail, draft: Draft, row: Evolution) -> Draft | None:
        """Return the reworded draft; None if there is no good wording or its chunk is ranked too low."""
        candidate, persona = draft.trail[-1].candidate, self._persona(trail, row.style)
        if row.style is None:
            worded = self._by_rule(trail, draft, row)
        else:
            worded = self._by_model(trail, draft, row.name, row.style, persona)
        if worded is None:
            return None
        question, probability = worded
        retrieval = self.tools.retriever.rank(question, draft.relevant)
        reason = rank_refusal(retrieval.rank, self.max_rank)
        trail.record(row.name, candidate, {"question": question, "rank": retrieval.rank}, good=reason is None)
        if reason is not None:
            trail.refuse("retrieval", reason, question=question)
            return None
        return draft.model_copy(
            update={
                "question": question,
                "evolution": row.name,
                "retrieval": retrieval,
                "probability": probability,
                "trail": trail.records_of(candidate),
                "metadata": {
                    **draft.metadata,
                    "seed_question": draft.question,
                    **({"persona": persona} if persona else {}),
                },
            }
        )

    def _by_rule(self, trail: Trail, draft: Draft, row: Evolution) -> tuple[str, float] | None:
        if row.restyle is None:
            raise ValueError(f"{row.name} has no rule")
        question = row.restyle(
            draft.question, self.tools.question_language(trail.language), random.Random(trail.attempt.seed)
        )
        if question is None or question == draft.question:
            trail.refuse(row.name, "the rule has no other wording", question=draft.question)
            return None
        return question, draft.probability

    def _persona(self, trail: Trail, style: Style | None) -> str:
        return self.personas[trail.attempt.seed % len(self.personas)] if style and style.has_persona else ""

    def _by_model(self, trail: Trail, draft: Draft, name: str, style: Style, persona: str) -> tuple[str, float] | None:
        """Return the model's wording, and the probability that it is good; None if a check refuses it."""
        contexts = tuple(context for context in trail.contexts if context.chunk in draft.contexts)
        wording, reason = self._write(trail, draft, style, persona, contexts)
        trail.record("reword", draft.trail[-1].candidate, {"question": wording}, good=reason is None, reason=reason)
        if reason is not None:
            trail.refuse(name, reason, question=wording or None)
            return None
        if not is_in_language(self.tools, trail, wording, ""):
            return None
        seen = self._seen_by("same", wording, trail)
        same = self.tools.decide("same", self.same, first=draft.question, second=seen)
        refusal = with_reason("it asks for something else", same.reason)
        if not self._passes(trail, draft, "same", same, refusal, wording):
            return None
        if not style.is_question:
            return wording, draft.probability
        judged = self.judging.decide(self._seen_by("judge", wording, trail), contexts)
        if not self._passes(trail, draft, "judge", judged, judged.refusal, wording):
            return None
        return wording, round(min(draft.probability, judged.probability), 4)

    def _write(
        self, trail: Trail, draft: Draft, style: Style, persona: str, contexts: Sequence[Context]
    ) -> tuple[str, str | None]:
        """Return the model's wording, and why simple checks refuse it (None if they accept it)."""
        language, question = self.tools.question_language(trail.language), draft.question
        topic = " | ".join(dict.fromkeys(context.topic for context in contexts))
        passage = " ".join(context.passage for context in contexts)
        examples: list[str] = []
        if style.shows_examples:
            count = min(_EXAMPLES, len(self.queries))
            examples = random.Random(trail.attempt.seed).sample(self.queries, count)
        inputs = {"topic": topic, "question": question, "style": style.text.replace(PERSONA, persona)}
        written = self.tools.write("reword", self.reword, trail.language, **inputs, examples=examples)
        wording = tidy_question(written.wording)
        fault = wording_fault(
            style, language, question, wording, draft.answer, topic=topic, passage=passage, persona=persona
        )
        if fault is not None:
            return wording, fault
        known = f"{question} {topic} {passage}"
        if copied := copied_words(language, wording, examples, self.queries, known):
            return wording, f"it copies words of the examples: {', '.join(copied)}"
        demos = self.tools.shown("reword", self.reword, trail.language)
        shown = {sentence for demo in demos for sentence in language.sentences(demo.get("wording", ""))}
        if not shown.isdisjoint(language.sentences(wording)):
            return wording, "it copies a sentence of a demo"
        return wording, None

    def _seen_by(self, step: str, wording: str, trail: Trail) -> str:
        """Return the part of a wording that a critic sees.

        Heads are fitted to single questions, so they see only the last sentence: a situation before the question made
        them refuse 14 of 14 good gold wordings.
        """
        if is_llm_judge(self.tools.critics[step]):
            return wording
        return self.tools.question_language(trail.language).sentences(wording)[-1]

    def _passes(self, trail: Trail, draft: Draft, step: str, decision: Decision, refusal: str, wording: str) -> bool:
        """Record a critic's decision on a wording, and a reject if it is refused."""
        candidate, output = draft.trail[-1].candidate, {"question": wording, **decision.as_output()}
        reason = None if decision.good else refusal
        return trail.check(step, candidate, output, reason, probability=decision.probability, question=wording)
