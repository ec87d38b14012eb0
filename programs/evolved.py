"""Recipe ``evolved``: seed question, evolution, judgement with rewriting, answer, round trip."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dspy

from programs.conditions import condition_in
from programs.critics import Critic
from programs.deciding import Decision, decide
from programs.evidence import agreement, lost_words
from programs.focus import choose_foci, is_whole, likely_question
from programs.languages.base import Condition, Link
from programs.languages.table import Languages
from programs.nearest import Select
from programs.steps import STEPS
from programs.steps.answer import ground_truth, tidy_answer
from programs.steps.compress import SHORT_WORDS
from programs.steps.demos import Demos, in_language
from programs.steps.feedback import OBJECTIONS
from programs.steps.question import seed_question, tidy_question
from programs.steps.rewrite import MENDABLE, REWRITE_ROUNDS
from programs.text import tokens
from programs.types import Attempt, Draft, Focus, Observer, Outcome, Retrieval, Retriever
from programs.work import Work

EASY_PAGES = 2  # so many rounds of a chunk ask only what is easy
EVOLVED = 1000  # the candidate number of the evolution; seeds count from 0


class Candidate(NamedTuple):
    """A judged question about a focus; ``number`` is its place in the attempt."""

    number: int
    focus: Focus
    question: str
    decision: Decision
    retrieval: Retrieval


class Evolved(dspy.Module):
    """Make one sample of a chunk.

    Several seed questions about different facts are drawn and judged; the best one that the generator can
    answer from the chunk, with the words that it was asked about, becomes the seed. For an evolution other
    than ``simple`` the seed is evolved, judged, mended if need be, shortened, compared with the seed and
    answered again. Each step is a bare predictor, an attribute named as the step.
    """

    def __init__(
        self,
        *,
        critics: Mapping[str, Critic],
        retriever: Retriever,
        languages: Languages,
        candidates: int = 2,
        max_rank: int = 5,
        demos: Demos | None = None,
        selects: Mapping[str, Select] | None = None,
        only_easy: bool = False,
    ) -> None:
        """Compose the steps.

        Args:
            critics: serve the steps which decide, by step.
            retriever: searches all chunks of the run.
            languages: what is known of the languages of passages, with their syntax.
            candidates: seed questions drawn for each attempt.
            max_rank: worst accepted rank of the source chunk; 0 records ranks and refuses none.
            demos: the turns that each step starts from, by the step's name.
            selects: what chooses among the demos of a step for each of its inputs, by the step's name.
            only_easy: whether to ask nothing else than what is easy, where the language can be parsed.
        """
        super().__init__()
        self.critics = critics
        self.retriever = retriever
        self.candidates = candidates
        self.max_rank = max_rank
        self.selects = dict(selects or {})
        self.languages = languages
        self.only_easy = only_easy
        for name, step in STEPS.items():
            setattr(self, name, step.predictor((demos or {}).get(name, ())))

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run every step on one attempt."""
        work = Work(attempt, self.languages, observer)
        if not self._score(work):
            return work.outcome(exhausted=True)
        drawn, left = self._draw(work)
        exhausted = work.attempt.evolution == "simple" and not left
        if not drawn:
            reason = f"no further sentence can carry a {work.attempt.evolution} question"
            work.refuse("keyphrases", "for a later round: nothing is easy to ask" if left else reason)
            return work.outcome(exhausted=exhausted)
        seed = self._seed(work, drawn)
        if seed is None or attempt.evolution == "simple":
            return work.outcome(seed[1] if seed else None, exhausted=exhausted)
        candidate, fallback = seed
        # What was found may be another answer than the one that was meant; the evolution must keep it.
        answered = candidate.focus.model_copy(update={"answer": fallback.answer})
        candidate = candidate._replace(focus=answered)
        return work.outcome(self._evolve(work, candidate), fallback=fallback, exhausted=exhausted)

    def _write(self, step: str, work: Work, **inputs: Any) -> Any:
        """Run a generator step, with the demos that are in the passage's language."""
        predict = getattr(self, step)
        demos = in_language(predict.demos, work.language.code)
        if step in self.selects:
            demos = self.selects[step](demos, inputs)
        return predict(demos=demos, **inputs)

    def _score(self, work: Work) -> bool:
        decision = decide(self.chunk, self.critics["chunk"], topic=work.topic, passage=work.passage)
        reason = None if decision.good else f"not {decision.weakest.replace('_', '-')}"
        work.say("chunk", 0, decision.as_output(), probability=decision.probability, good=decision.good, reason=reason)
        if reason:
            work.refuse("chunk", reason, probability=decision.probability)
        return decision.good

    def _draw(self, work: Work) -> tuple[list[Focus], bool]:
        """Return the foci of this round, and whether later rounds have more.

        The first pages hold only what is easy, so that every chunk is asked what is easy before any is asked what
        is hard, and no call is spent on key phrases before.
        """
        # The second round asks simply about what the first one wanted evolved, so it starts at the front again.
        page, size = max(0, work.attempt.round - 1), self.candidates
        found = self._growing(work, self._foci(work))
        if self.only_easy and self.languages.syntax_of(work.language):
            found = [focus for focus in found if focus.easy]
        elif page >= EASY_PAGES and found:
            phrases = self._write("keyphrases", work, topic=work.topic, passage=work.passage).keyphrases
            kept = [phrase for phrase in phrases if phrase in work.passage]
            found = self._growing(work, self._foci(work, kept))
            work.say("keyphrases", 0, {"keyphrases": kept, "dropped": len(phrases) - len(kept), "foci": len(found)})
        easy = [focus for focus in found if focus.easy][: EASY_PAGES * size]
        if page < EASY_PAGES:
            asked = easy[: (page + 1) * size]
            return asked[page * size :], len(found) > len(asked)
        others = [focus for focus in found if focus not in easy][(page - EASY_PAGES) * size :]
        return others[:size], len(others) > size

    def _foci(self, work: Work, keyphrases: Sequence[str] = ()) -> list[Focus]:
        syntax, parses = self.languages.syntax_of(work.language), self.languages.parse is not None
        return choose_foci(work.passage, work.topic, work.language, keyphrases, syntax=syntax, easy_forms=not parses)

    def _growing(self, work: Work, foci: list[Focus]) -> list[Focus]:
        match work.attempt.evolution:
            case "conditional":
                return [focus for focus in foci if self._stated(work, focus, focus.opening)]
            case "reasoning":
                return [focus for focus in foci if self._link(work, focus, likely_question(focus))]
            case _:
                return foci

    def _seed(self, work: Work, drawn: list[Focus]) -> tuple[Candidate, Draft] | None:
        """Return the best seed question that passes every step, with its draft."""
        judged: list[Candidate] = []
        for number, focus in enumerate(drawn):
            written = self._write(
                "question",
                work,
                topic=work.topic,
                fact=focus.fact,
                answer=focus.answer,
                opening=focus.opening,
            )
            question = seed_question(written.question, focus, work.language)
            work.say("question", number, {"question": question, **focus.model_dump()})
            judged.append(self._judge(work, number, focus, question))
        if not any(candidate.decision.good for candidate in judged):
            best = max(judged, key=lambda candidate: candidate.decision.probability)
            judged[judged.index(best)] = self._mend(work, best)
        for candidate in judged:
            self._refuse_judged(work, candidate)
        good = [candidate for candidate in judged if candidate.decision.good]
        good.sort(key=lambda c: (-c.decision.probability, c.retrieval.rank or 10**6, c.number))
        for candidate in good:
            if (draft := self._finish(work, candidate)) is not None:
                return candidate, draft.model_copy(update={"evolution": "simple"})
        return None

    def _judge(self, work: Work, number: int, focus: Focus, question: str) -> Candidate:
        question = question or "-"
        decision = decide(self.judge, self.critics["judge"], passage=work.passage, question=question)
        work.say(
            "judge",
            number,
            {"question": question, **decision.as_output()},
            probability=decision.probability,
            good=decision.good,
            reason=None if decision.good else f"not {decision.weakest}",
        )
        retrieval = self.retriever.rank(question, (work.chunk.chunk_id,))
        return Candidate(number, focus, question, decision, retrieval)

    def _refuse_judged(self, work: Work, candidate: Candidate) -> None:
        decision = candidate.decision
        if not decision.good:
            work.refuse(
                "judge", f"not {decision.weakest}", probability=decision.probability, question=candidate.question
            )

    def _mend(self, work: Work, refused: Candidate) -> Candidate:
        """Rewrite a refused question with feedback, a bounded number of rounds, unless it is too far from good."""
        candidate = refused
        for _ in range(REWRITE_ROUNDS):
            if candidate.decision.probability < MENDABLE or is_whole(candidate.focus):
                break  # a question in the sentence's own words is not mended by a small model: 0 of 13
            common = {"topic": work.topic, "fact": candidate.focus.fact, "question": candidate.question}
            objection = OBJECTIONS[candidate.decision.weakest]
            feedback = self._write("feedback", work, **common, objection=objection).feedback
            written = self._write("rewrite", work, **common, answer=candidate.focus.answer, feedback=feedback)
            question = seed_question(written.better_question, candidate.focus, work.language)
            work.say("rewrite", candidate.number, {"feedback": feedback, "question": question})
            if question == candidate.question:
                break
            candidate = self._judge(work, candidate.number, candidate.focus, question)
            if candidate.decision.good:
                break
        return candidate

    def _finish(self, work: Work, candidate: Candidate) -> Draft | None:
        """Check the round trip, answer the question, check the answer, and return the draft that passed."""
        question, number, rank = candidate.question, candidate.number, candidate.retrieval.rank
        if self.max_rank and (rank is None or rank > self.max_rank):
            place = "not found" if rank is None else f"too far: rank {rank}"
            work.refuse("retrieval", f"source chunk {place}", question=question)
            return None
        answer = self._answer(work, candidate)
        if answer is None:
            return None
        grounding = decide(
            self.grounding, self.critics["grounding"], passage=work.passage, question=question, answer=answer
        )
        work.say("grounding", number, {"answer": answer}, probability=grounding.probability, good=grounding.good)
        if not grounding.good:
            work.refuse(
                "grounding",
                f"answer not supported: {answer!r}",
                probability=grounding.probability,
                question=question,
            )
            return None
        return Draft(
            question=question,
            answer=answer,
            evolution=work.attempt.evolution,
            contexts=(work.chunk,),
            retrieval=candidate.retrieval,
            probability=round(min(candidate.decision.probability, grounding.probability), 4),
            trail=work.of(number),
            metadata={"focus": candidate.focus.sentence},
        )

    def _answer(self, work: Work, candidate: Candidate) -> str | None:
        """Return the ground truth if the generator finds in the passage what the question asks about."""
        written = self._write("answer", work, topic=work.topic, passage=work.passage, question=candidate.question)
        meant = candidate.focus.answer
        found = tidy_answer(written.answer, candidate.question)
        kept = ground_truth(candidate.question, found, candidate.focus, work.passage, work.language)
        reason = None
        if not work.language.is_stated(found):
            reason = f"not stated: {meant!r} was meant"
        elif kept is None:
            reason = f"another answer than the one meant: {found!r}, not {meant!r}"
        output = {"answer": found, "meant": meant, "agreement": round(agreement(found, meant), 3)}
        work.say("answer", candidate.number, output, good=reason is None, reason=reason)
        if reason:
            work.refuse("answer", reason, question=candidate.question)
        return kept

    def _evolve(self, work: Work, seed: Candidate) -> Draft | None:
        step = work.attempt.evolution
        question = self._deepen(work, seed) if step == "reasoning" else self._condition(work, seed)
        if question is None:
            return None
        candidate = self._judge(work, EVOLVED, seed.focus, question)
        if not candidate.decision.good:
            candidate = self._mend(work, candidate)
        if not candidate.decision.good:
            self._refuse_judged(work, candidate)
            return None
        candidate = self._compress(work, candidate)
        if not self._changed(work, seed, candidate):
            return None
        evolved = self._finish(work, candidate)
        if evolved is None:
            return None
        metadata = {**evolved.metadata, "seed_question": seed.question}
        return evolved.model_copy(update={"trail": work.of(seed.number, EVOLVED), "metadata": metadata})

    def _deepen(self, work: Work, seed: Candidate) -> str | None:
        """Return the seed question with a name replaced by what another sentence says of it."""
        linked = self._link(work, seed.focus, seed.question)
        if linked is None:
            work.refuse("reasoning", "nothing in the passage describes what the question names", question=seed.question)
            return None
        kind, known = linked.kind, True
        if not kind:
            kind = self._write("reasoning", work, topic=work.topic, fact=linked.sentence, name=linked.name).kind
            # A kind that the text does not speak of is a guess, and small models guess badly.
            spoken = set(work.language.content_words(f"{work.topic} {work.passage}"))
            known = bool(set(work.language.content_words(kind)) & spoken)
        question = self._described(work, seed.question, linked, kind) if known else None
        work.say("reasoning", EVOLVED, {**linked._asdict(), "kind": kind, "question": question})
        if question is None:
            work.refuse("reasoning", f"{kind!r} is no kind of {linked.name!r}", question=seed.question)
        return question

    def _link(self, work: Work, focus: Focus, question: str) -> Link | None:
        syntax = self.languages.syntax_of(work.language)
        return syntax.link(work.passage, work.topic, focus, question) if syntax else None

    def _described(self, work: Work, question: str, linked: Link, kind: str) -> str | None:
        syntax = self.languages.syntax_of(work.language)
        return syntax.describe(question, linked, kind) if syntax else None

    def _stated(self, work: Work, focus: Focus, question: str) -> Condition | None:
        return condition_in(focus, question, work.language, self.languages.syntax_of(work.language))

    def _condition(self, work: Work, seed: Candidate) -> str | None:
        """Return the seed question under a condition that its sentence states."""
        condition = self._stated(work, seed.focus, seed.question)
        if condition is None:
            work.refuse("conditional", "the sentence states no condition", question=seed.question)
            return None
        question = condition.composed
        if not question:
            asked = {"topic": work.topic, "question": seed.question, "condition": condition.text}
            question = tidy_question(self._write("conditional", work, **asked).conditional_question)
        work.say("conditional", EVOLVED, {"condition": condition.text, "question": question})
        return question

    def _compress(self, work: Work, candidate: Candidate) -> Candidate:
        """Return the shorter question if the critic lets it pass, else the longer one."""
        if len(tokens(candidate.question)) <= SHORT_WORDS:
            return candidate
        shorter = tidy_question(self._write("compress", work, question=candidate.question).short_question)
        work.say("compress", candidate.number, {"question": shorter})
        if not shorter or len(shorter) >= len(candidate.question):
            return candidate
        if lost_words(candidate.question, shorter, work.language):
            return candidate  # it asks something else: what told the thing that is meant from others is gone
        judged = self._judge(work, candidate.number, candidate.focus, shorter)
        return judged if judged.decision.good else candidate

    def _changed(self, work: Work, seed: Candidate, candidate: Candidate) -> bool:
        decision = decide(self.same, self.critics["same"], first=seed.question, second=candidate.question)
        changed = not decision.values["same"]
        probability = 1 - decision.probabilities["same"]
        reason = None if changed else "the evolution changed nothing"
        work.say("same", candidate.number, decision.as_output(), probability=probability, good=changed, reason=reason)
        if reason:
            work.refuse("same", reason, probability=probability, question=candidate.question)
        return changed
