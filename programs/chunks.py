"""Questions that need several passages: recipe ``multi``, and ``multi_context`` of ``evolved``.

score (each passage) → combine → is each piece of evidence in a passage? → judge → judge with
each passage left out → question
"""

from collections.abc import Sequence

import dspy

from groundset.programs.forms import MULTI, SIMPLE
from groundset.programs.languages import LANGUAGES, language_of, name_of
from groundset.programs.outcome import RefusedError, Verdict, call, verdict
from groundset.programs.recipe import (
    LENGTHS,
    Draft,
    Passage,
    Recipe,
    joined,
    numbered,
    scored,
)
from groundset.programs.step import step
from groundset.programs.text import one_line


class SeveralChunks(Recipe):
    """Ask one question that needs several passages.

    The judge reads with each passage left out: if the others still settle the question with the
    same answer, that passage is not needed, however the question is worded. A question that needs
    one passage only is returned as a question about that one.
    """

    def add_steps(self) -> None:
        """Build the steps of its own."""
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
        """Return a question about at least two passages, each with its title and headings.

        The other inputs are those of :class:`groundset.programs.onechunk.OneChunk`, the outputs
        those of :func:`groundset.programs.outcome.outcome`.
        """
        titles = list(topics) or [""] * len(passages)
        read = [Passage(text, title) for text, title in zip(passages, titles, strict=True)]
        try:
            scored(self.score_chunk, read)
            draft = self._combined(read, asked, answers, language)
            self.in_language(draft, language, passages)
            topic = " / ".join(filter(None, dict.fromkeys(titles)))
            draft = self.as_users_put_it(draft, joined(read)._replace(topic=topic))
            draft, needed = self.needing(draft, read)
            evidence = [(place, quote) for place, quote in draft.evidence if place in needed]
            if not evidence:
                reason = "its evidence lies in a passage that is not needed"
                raise RefusedError("needed", reason, question=draft.question)
        except RefusedError as refused:
            return refused.outcome()
        form = MULTI if len(needed) > 1 else SIMPLE
        return self.made(draft._replace(evidence=evidence, form=form), read, needed)

    def _combined(
        self, read: Sequence[Passage], asked: Sequence[str], answers: str, language: str
    ) -> Draft:
        """Return what was written over all passages."""
        written = call(
            self.combine,
            about=self.about,
            passages=numbered(read),
            asked_already=list(asked),
            answers=LENGTHS[answers],
            language=name_of(language),
        )
        texts = [passage.text for passage in read]
        code = language or language_of(texts[0])
        draft = self.drafted("combine", written, texts, LANGUAGES[code])
        return draft._replace(kind=one_line(written.kind).casefold())

    def needing(self, draft: Draft, read: Sequence[Passage]) -> tuple[Draft, list[int]]:
        """Return a question that the judge keeps, with the positions of the passages that it needs.

        The judge reads with each passage left out first: what one passage answers need not be read
        with both.
        """
        kept = list(range(len(read)))
        decision: Verdict | None = None
        for place in range(len(read)):
            others = [other for other in kept if other != place]
            if not others:
                break
            said, found = self.said(draft, joined([read[other] for other in others]))
            without = verdict(said)
            is_settled = bool(said.get("answerable", True)) if found else without.good
            if is_settled and (not found or self.agrees(draft, found)):
                kept, decision = others, without
        if decision is None:
            return self.checked(draft, joined(read), rewrite=False), kept
        if not decision.good:
            reason = (
                f"{len(kept)} of {len(read)} passages answer it, and with these: {decision.reason}"
            )
            raise RefusedError(
                "needed", reason, question=draft.question, probability=decision.probability
            )
        return draft._replace(probability=decision.probability), kept
