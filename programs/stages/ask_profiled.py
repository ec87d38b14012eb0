"""Stage ``ask_profiled``: questions about some chunks for suggested profiles, each checked against its profile."""

import random
from collections.abc import Mapping, Sequence

import dspy

from programs.deciding import Decision
from programs.profiles import Profile, ProfileTable
from programs.stages.combine import quotes_by_chunk
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.need import NeedByReading, evidence_of
from programs.steps.ask_profiled import long_pieces, options_of, options_problem, with_options
from programs.steps.clues import question_of
from programs.steps.combine import numbered
from programs.steps.profiles import profiles_of
from programs.steps.question import is_none, tidy_question
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Draft, Focus
from signatures.clues import Clue

PROFILED = "profiled"  # the evolution of the samples
_STEP = "ask_profiled"


class AskProfiled(dspy.Module):
    """Write a question for each suggested profile in turn; keep the first one that passes every check.

    The options of a multiple-choice question are part of the sample, but judge, search and answer check see only the
    question: it must be clear and answerable without them.
    """

    def __init__(
        self, tools: Tools, judging: JudgeAndRewrite, finish: Finish, *, table: ProfileTable, profiles: int
    ) -> None:
        """Compose the stages.

        Args:
            tools: the tools of the run.
            judging: judges the questions.
            finish: runs the remaining checks; its answer stage must be ``AnswerByReading``.
            table: the dimensions of profiles.
            profiles: how many profiles to try.
        """
        super().__init__()
        self.tools = tools
        self.judging = judging
        self.finish = finish
        self.table = table
        self.count = profiles
        self.profiles = tools.predictor("profiles")
        self.ask_profiled = tools.predictor(_STEP)
        self.fits = tools.predictor("fits")
        self.need = NeedByReading(judging, finish.answer, min_chunks=1)

    def forward(self, trail: Trail, clue: Clue, contexts: tuple[Context, ...]) -> Draft | None:
        """Return the draft of the first good question; None if no question is good."""
        for number, profile in enumerate(self._suggest(trail, clue, contexts)):
            if (draft := self._ask(trail, number, clue, profile, contexts)) is not None:
                return draft
        return None

    def _suggest(self, trail: Trail, clue: Clue, contexts: tuple[Context, ...]) -> Sequence[Profile]:
        """Return the suggested profiles in a random order, so that the ones named first do not prevail."""
        written = self.tools.write(
            "profiles",
            self.profiles,
            trail.language,
            dimensions=self.table.as_text(),
            question=question_of(clue),
            passages=numbered(contexts),
            count=str(self.count),
            form=self.table.form(),
        )
        found = profiles_of(written.profiles, self.table, self.count)
        if len(contexts) == 1:
            corrected = [self.table.for_passages(profile, 1) for profile in found]
            found = [profile for place, profile in enumerate(corrected) if profile not in corrected[:place]]
        reason = None if found else "no profile can be read from what was written"
        trail.record("profiles", 0, {"profiles": found}, good=bool(found), reason=reason)
        if reason:
            trail.refuse("profiles", reason, question=clue.clue)
        return random.Random(trail.attempt.seed).sample(found, len(found))

    def _ask(
        self, trail: Trail, number: int, clue: Clue, profile: Profile, contexts: tuple[Context, ...]
    ) -> Draft | None:
        """Return the draft of the question for one profile; None if a check fails.

        How many passages an answer needs is known only when they were left out one by one, so the profile is corrected
        then, in dimensions that declare it.
        """
        written = self._write(trail, number, clue, profile, contexts)
        if written is None:
            return None
        focus, options, contexts, quotes = written
        judged: Judged = self.judging(trail, number, focus, focus.wording, contexts)
        self.judging.refuse(trail, judged)
        needed: Judged | None = self.need(trail, judged, quotes) if judged.decision.good else None
        if needed is None:
            return None
        profile = self.table.for_passages(profile, len(needed.contexts))
        question, answer = focus.wording, needed.focus.answer
        if options:
            needed = needed._replace(focus=needed.focus.model_copy(update={"answer": focus.answer}))
            question, answer = with_options(question, focus.answer, options, trail.attempt.seed)
        fit = self._fits(trail, needed, profile, question, answer)
        draft: Draft | None = self.finish(trail, needed, PROFILED) if fit.good else None
        if draft is None:
            return None
        return draft.model_copy(
            update={
                "question": question,
                "answer": answer,
                "probability": round(min(draft.probability, fit.probability), 4),
                "metadata": {**draft.metadata, "profile": dict(profile), "clue": clue.clue},
            }
        )

    def _write(
        self, trail: Trail, number: int, clue: Clue, profile: Profile, contexts: tuple[Context, ...]
    ) -> tuple[Focus, list[str], tuple[Context, ...], Mapping[str, Sequence[str]]] | None:
        """Return a written question with its options, the chunks of its evidence and the evidence by chunk id.

        Return None if simple checks fail.
        """
        written = self.tools.write(
            _STEP,
            self.ask_profiled,
            trail.language,
            clue=clue.clue,
            passages=numbered(contexts),
            asked_already=trail.earlier_questions,
            profile=self.table.describe(profile),
        )
        question, answer = tidy_question(written.question), " ".join(written.answer.split())
        options, quotes = options_of(written.options), quotes_by_chunk(contexts, long_pieces(written.evidence))
        reason = None
        if is_none(question):
            reason = "the passages have nothing that fits the profile"
        elif not question or not answer:
            reason = "no question with an answer was written"
        elif quotes is None:
            reason = f"its evidence is not in the passages: {written.evidence!r:.80}"
        elif options:
            reason = options_problem(options, answer)
        output = {"profile": dict(profile), "question": question, "options": options, "answer": answer}
        trail.record(_STEP, number, {**output, "evidence": written.evidence}, good=reason is None, reason=reason)
        if reason is not None or quotes is None:
            trail.refuse(_STEP, str(reason), question=question or None)
            return None
        kept = tuple(context for context in contexts if context.chunk.chunk_id in quotes)
        focus = Focus(sentence=evidence_of(kept, quotes), answer=answer, wording=question)
        trail.add_focus(focus)
        return focus, options, kept, quotes

    def _fits(self, trail: Trail, judged: Judged, profile: Profile, question: str, answer: str) -> Decision:
        """Let the critic decide whether a question fits its profile; refuse it if it does not."""
        decision = self.tools.decide(
            "fits",
            self.fits,
            profile=self.table.describe(profile),
            passages=numbered(judged.contexts),
            question=question,
            answer=answer,
        )
        reason = None if decision.good else decision.refusal
        trail.record(
            "fits", judged.number, {"question": question}, probability=decision.probability, good=decision.good,
            reason=reason,
        )  # fmt: skip
        if reason:
            trail.refuse("fits", reason, probability=decision.probability, question=question)
        return decision
