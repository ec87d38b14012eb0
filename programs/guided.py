"""Questions of models that are too small to write on their own, about English passages.

questions that the passage states, as frequent questions do → question, without a model; then
score → easy facts (parser) → fact: the model completes the question → judge → sound
(trained weights) → answer: the same as expected? → grounding → question
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dspy
from dspy.lm15 import Message

from groundset.programs.adapter import PLAIN_TEXT, respond, share_of_yes
from groundset.programs.checks import agree, find_quote, tidy_question
from groundset.programs.english import Fact, Parse, easy_facts
from groundset.programs.errors import ModelError
from groundset.programs.faq import STATED, is_asked, stated_questions
from groundset.programs.features import answers_agree
from groundset.programs.forms import SIMPLE
from groundset.programs.languages import ENGLISH, language_of
from groundset.programs.outcome import RefusedError, call, outcome, verdict
from groundset.programs.recipe import Passage, scored
from groundset.programs.step import STEPS, Program, Step, step
from groundset.programs.text import has_words, one_line, plain
from groundset.programs.types import Reject

_MAX_BEFORE, _MAX_BEFORE_SENTENCES = 240, 2
# Threshold on the combined score of sound and judge. The scores are not calibrated, because most
# training questions were good. Of 59 held-out questions (45 good), the judge alone accepts 42 (35
# good), both together 31 (27 good).
_SOUND = 0.6
_CRITERIA = (
    "Are they sound?\nyes: Clear to a stranger, and answered right and whole.\nno: Not so.\n"
    "Answer with one of: yes, no."
)


class Sound(Step):
    """Whether question and answer are right for their fact, by trained weights of the model.

    The weights were trained on this prompt; the probability of its next token decides.
    ``config["adapter"]`` names the
    weights: a compiled state sets it, and without it the step is skipped.
    """

    def __init__(self) -> None:
        """Build the step, without weights."""
        super().__init__("sound", STEPS["sound"].signature)

    def prompt(self, inputs: Mapping[str, str]) -> str:
        """Return the user's turn."""
        return f"{PLAIN_TEXT.shown(self.signature, inputs)}\n\n{_CRITERIA}"

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Return ``sound`` and its ``probability``.

        Raises:
            ModelError: the model returns no log-probabilities.
        """
        lm = inputs.pop("lm", None) or self.lm or dspy.settings.lm
        options = {
            "adapter": self.config["adapter"],
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": 20,
        }
        messages = [Message.user(self.prompt(inputs))]
        response = respond(lm, self.signature.instructions, messages, options)
        if not response.logprobs:
            raise ModelError(
                f"{lm.model} returns no log-probabilities, so it cannot decide the step sound"
            )
        probability = share_of_yes(response)
        return dspy.Prediction(sound=probability >= _SOUND, probability=probability)


class _Candidate(NamedTuple):
    """A question about a fact that the judge keeps, with its probability."""

    fact: Fact
    question: str
    probability: float


class Guided(Program):
    """Ask about the easy facts of a passage, the most promising first, until a question passes
    every check.
    """

    def __init__(
        self,
        parse: Parse,
        judge: dspy.Module | None = None,
        grounding: dspy.Module | None = None,
        score: dspy.Module | None = None,
    ) -> None:
        """Build the steps.

        Args:
            parse: parses English sentences.
            judge: judges questions, such as a ``HeadJudge``; by default the language model.
            grounding: judges whether a passage supports an answer; without one, every answer
                passes.
            score: decides whether a passage can be asked about; by default the language model.
        """
        super().__init__()

        def facts(passage: str, topic: str) -> list[Fact]:
            return easy_facts(passage, topic, parse)

        self.score_chunk: Any = step("score") if score is None else score
        self.facts = (
            facts  # not the parser, because optimizers copy programs with all that they hold
        )
        self.fact = step("fact")
        self.answer = step("answer")
        self.sound = Sound()
        self.judge = step("judge") if judge is None else judge
        self.grounding = grounding

    def forward(
        self,
        passage: str,
        topic: str = "",
        before: str = "",
        *,
        after: str = "",  # the line that follows the passage
        asked: Sequence[str] = (),
        # how many questions are written at a time; the best that passes is kept
        candidates: int = 2,
    ) -> dspy.Prediction:
        """Return a question about a passage; see
        :meth:`groundset.programs.onechunk.OneChunk.forward`.
        """
        for question, answer in stated_questions(passage, topic, after):
            if not is_asked(question, asked):
                return outcome(
                    question=question,
                    answer=answer,
                    evidence=[find_quote(passage, answer) or answer],
                    evolution=SIMPLE,
                    kind=STATED,
                    needed=[0],
                )
        try:
            scored(self.score_chunk, [Passage(passage, topic)])
        except RefusedError as refused:
            return refused.outcome()
        if language_of(passage) != ENGLISH.code:
            reason = "guided models ask about English passages, this one is in another language"
            return outcome(rejects=[Reject(step="fact", reason=reason)], exhausted=True)
        left = self.facts(passage, topic)
        rejects: list[Reject] = []
        while left:
            facts, left = left[:candidates], left[candidates:]
            kept = self._judged(facts, passage, topic, before, asked, rejects)
            while kept:
                best = kept.pop(0)
                try:
                    answer, probability = self._answered(best, passage, topic)
                except RefusedError as refused:
                    rejects.append(refused.reject)
                    continue
                return outcome(
                    question=best.question,
                    answer=answer,
                    evidence=[find_quote(passage, best.fact.sentence) or best.fact.sentence],
                    evolution=SIMPLE,
                    kind=_kind(best),
                    probability=round(probability, 4),
                    needed=[0],
                    rejects=rejects,
                    exhausted=not (left or kept),
                    metadata={"fact": best.fact.sentence},
                )
        if not rejects:
            other = " that was not asked about" if asked else ""
            reason = f"no sentence states an easy fact{other}"
            rejects.append(Reject(step="fact", reason=reason))
        return outcome(rejects=rejects, exhausted=True)

    def _judged(
        self,
        facts: Sequence[Fact],
        passage: str,
        topic: str,
        before: str,
        asked: Sequence[str],
        rejects: list[Reject],
    ) -> list[_Candidate]:
        """Return the questions about facts that the judge keeps, the best first; add the others to
        the rejects.
        """
        kept = []
        for fact in facts:
            try:
                question = self._written(fact, topic)
                if question in asked:
                    continue
                judged = call(
                    self.judge, topic=topic, before=before, passage=passage, question=question
                )
            except RefusedError as refused:
                rejects.append(refused.reject)
                continue
            good, probability, reason = verdict(judged)
            if good:
                kept.append(
                    _Candidate(fact, question, judged.get("probability") or probability or 0.5)
                )
            else:
                rejects.append(
                    Reject(step="judge", reason=reason, question=question, probability=probability)
                )
        return sorted(kept, key=lambda candidate: -candidate.probability)

    def _written(self, fact: Fact, topic: str) -> str:
        """Return the question about a fact; the opening itself where the model gives the answer
        away.
        """
        written = call(
            self.fact, topic=topic, fact=fact.sentence, answer=fact.answer, opening=fact.opening
        )
        question = tidy_question(written.question)
        return f"{fact.opening}?" if has_words(question, fact.answer) else question or "-"

    def _answered(self, candidate: _Candidate, passage: str, topic: str) -> tuple[str, float]:
        """Return the answer of a question, and the probability that both are good.

        Raises:
            RefusedError: a check fails.
        """
        fact, question, probability = candidate
        if self.sound.config.get("adapter"):
            sound = call(
                self.sound,
                topic=topic,
                before=_before(fact.sentence, passage),
                fact=fact.sentence,
                question=question,
                answer=fact.answer,
            )
            combined = _combined(sound.probability, probability)
            if combined < _SOUND:
                reason = "question and answer are not sound"
                raise RefusedError(
                    "sound", reason, question=question, probability=round(combined, 4)
                )
        written = call(self.answer, topic=topic, passage=passage, question=question)
        found = tidy_answer(written.answer, question)
        answer = fact.answer
        if not _confirms(found, question, fact):
            if ENGLISH.is_stated(found):
                reason = f"another answer than expected: {found!r}, not {answer!r}"
            else:
                reason = f"not found in the passage: {answer!r} was expected"
            raise RefusedError("answer", reason, question=question)
        if self.grounding is None:
            return answer, probability
        grounded = verdict(call(self.grounding, passage=passage, question=question, answer=answer))
        if not grounded.good:
            reason = f"answer not supported: {answer!r}"
            raise RefusedError(
                "grounding", reason, question=question, probability=grounded.probability
            )
        return answer, min(probability, grounded.probability or 1.0)


def tidy_answer(text: str, question: str) -> str:
    """Return an answer without markup, or "X is" before it."""
    text = plain(one_line(text))
    if defined := re.fullmatch(r"(?:What|Who) (is|are|was|were) (.+?)\??", question):
        text = re.sub(rf"^{re.escape(defined[2])} {defined[1]} ", "", text, flags=re.IGNORECASE)
    return text


def _confirms(found: str, question: str, fact: Fact) -> bool:
    """Return whether the answer that was found in the passage is the one of the fact."""
    if not ENGLISH.is_stated(found) or agree(fact.answer, found, ENGLISH, question) is False:
        return False
    # For definitions, small models often answer with the name of the thing; the sentence has the
    # definition.
    names = fact.defines and has_words(question, found)
    return names or answers_agree(found, fact.answer, ENGLISH)


def _before(sentence: str, passage: str) -> str:
    """Return one or two sentences before one, which may name what its pronouns refer to."""
    sentences = ENGLISH.sentences(passage)
    before = sentences[: sentences.index(sentence)] if sentence in sentences else []
    kept = [each for each in before if not each.startswith("#")][-_MAX_BEFORE_SENTENCES:]
    while len(kept) > 1 and sum(map(len, kept)) > _MAX_BEFORE:
        del kept[0]
    return " ".join(kept)


def _combined(*probabilities: float) -> float:
    """Return the probability at the mean of the log-odds."""
    bounded = (min(max(probability, 1e-6), 1 - 1e-6) for probability in probabilities)
    odds = [math.log(probability / (1 - probability)) for probability in bounded]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))


def _kind(candidate: _Candidate) -> str:
    if candidate.fact.defines:
        return "definition"
    return "why" if ENGLISH.asked_for(candidate.question) == "reason" else "fact"
