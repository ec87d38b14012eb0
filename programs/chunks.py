"""Questions that need several passages: recipe ``multi``, and ``multi_context`` of ``evolved``.

combine → is each piece of evidence in a passage? → judge → judge with each passage left out → question
"""

from collections.abc import Sequence

import dspy

from programs.checks import is_none, located, tidy_question, written_fault
from programs.forms import MULTI, SIMPLE
from programs.judges import Verdict
from programs.languages import LANGUAGES, language_of
from programs.outcome import RefusedError, call, outcome
from programs.recipe import LENGTHS, Draft, Passage, Recipe, Search, joined, language_line, numbered
from programs.step import step


class SeveralChunks(Recipe):
    """Ask one question that needs several passages.

    The judge reads with each passage left out: if it still gives the same answer, that passage is not needed, whatever
    it says of the question. A question that needs one passage only is returned as a question about that one.
    """

    def __init__(self, search: Search | None = None, *, panel: bool = False, about: str = "") -> None:
        """Build the steps; see :class:`programs.recipe.Recipe`."""
        super().__init__(search, panel=panel, about=about)
        self.combine = step("combine")

    def forward(
        self,
        passages: Sequence[str],
        topics: Sequence[str] = (),
        *,
        asked: Sequence[str] = (),
        answers: str = "short",
        language: str = "",
    ) -> dspy.Prediction:
        """Return a question about passages, or the reasons why there is none; see :func:`programs.outcome.outcome`.

        Args:
            passages: the texts to ask about, at least two.
            topics: their titles and headings.
            asked: questions not to repeat.
            answers: a key of ``LENGTHS``.
            language: the code of the language to write in; empty for that of the passages.
        """
        titles = list(topics) or [""] * len(passages)
        read = [Passage(text, title) for text, title in zip(passages, titles, strict=True)]
        code = language or language_of(passages[0])
        try:
            kind, draft, quotes = self._combined(read, asked, answers, language)
            self.in_language(draft, language, passages)
            draft, needed = self.needing(draft, read, code)
            quotes = [(place, quote) for place, quote in quotes if place in needed]
            if not quotes:
                raise RefusedError(
                    "needed", "its evidence lies in a passage that is not needed", question=draft.question
                )
            self.approved(draft, joined([read[place] for place in needed]).text)
        except RefusedError as refused:
            return outcome(rejects=[refused.reject], exhausted=refused.exhausted)
        return outcome(
            question=draft.question,
            answer=draft.answer,
            evidence=[quote for _, quote in quotes],
            evolution=MULTI if len(needed) > 1 else SIMPLE,
            kind=kind,
            probability=draft.probability,
            needed=needed,
            alternatives=self.alternatives(draft, read, needed, code),
        )

    def _combined(
        self, read: Sequence[Passage], asked: Sequence[str], answers: str, language: str
    ) -> tuple[str, Draft, list[tuple[int, str]]]:
        """Return the kind and the draft that was written, and its evidence with the positions of the passages."""
        written = call(
            self.combine,
            about=self.about,
            passages=numbered(read),
            asked_already=list(asked),
            answers=LENGTHS[answers],
            language=language_line(language),
        )
        question, answer = tidy_question(written.question), " ".join(str(written.answer).split())
        if is_none(question):
            raise RefusedError("combine", f"nothing to ask: {answer or 'no reason given'}", exhausted=True)
        if fault := written_fault(question, answer, LANGUAGES[language or language_of(read[0].text)]):
            raise RefusedError("combine", fault, question=question or None)
        quotes = located([passage.text for passage in read], written.evidence)
        if quotes is None:
            reason = f"its evidence is not in the passages: {written.evidence!r:.120}"
            raise RefusedError("combine", reason, question=question)
        return " ".join(str(written.kind).split()).casefold(), Draft(question, answer), quotes

    def needing(self, draft: Draft, read: Sequence[Passage], code: str) -> tuple[Draft, list[int]]:
        """Return a question that the judge keeps, with the positions of the passages that it needs.

        The judge reads with each passage left out first: what one passage answers need not be read with both.

        Raises:
            RefusedError: the judge does not keep it with the passages that it needs.
        """
        kept = list(range(len(read)))
        decision: Verdict | None = None
        for place in range(len(read)):
            others = [other for other in kept if other != place]
            if not others:
                break
            without, found = self.judged(draft, joined([read[other] for other in others]))
            if self.agrees(draft, found, code) if found else without.good:
                kept, decision = others, without
        if decision is None:
            return self.checked(draft, joined(read), code=code, rewrite=False), kept
        if not decision.good:
            reason = f"{len(kept)} of {len(read)} passages answer it, and with these: {decision.reason}"
            raise RefusedError("needed", reason, question=draft.question, probability=decision.probability)
        return draft._replace(probability=decision.probability), kept
