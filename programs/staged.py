"""Questions made in six small steps: recipe ``staged``.

score → keyphrases → ask about one of them → evolve into the wanted form → as users put it →
judge ⇄ revise → answer: the same as expected? → alternatives → question
"""

from collections.abc import Sequence

import dspy

from groundset.programs.forms import EVOLUTIONS, KINDS, SIMPLE
from groundset.programs.languages import ENGLISH, name_of
from groundset.programs.onechunk import OneChunk
from groundset.programs.outcome import RefusedError, call
from groundset.programs.recipe import Draft, Passage, scored
from groundset.programs.step import step
from groundset.programs.text import has_words, one_line
from groundset.programs.types import Reject

_WANTED = ("reasoning", "conditional", SIMPLE)


class Staged(OneChunk):
    """Ask one question about a keyphrase of a passage, each step with a prompt of its own.

    A question whose evolution is refused stays as it was, and the reject says why. The answer is
    read once more from passage and question alone, and must be the writer's.
    """

    def add_steps(self) -> None:
        """Build the steps of its own."""
        super().add_steps()
        self.keyphrases = step("keyphrases")
        self.evolve = step("evolve")
        self.answer = step("answer")

    def forward(  # type: ignore[override]
        self,
        passage: str,
        topic: str = "",
        before: str = "",
        *,
        wanted: Sequence[str] = _WANTED,
        kinds: Sequence[str] = tuple(KINDS),
        asked: Sequence[str] = (),
        answers: str = "short",
        language: str = "",
        turn: int = 0,
    ) -> dspy.Prediction:
        """Return a question about a passage, or the reasons why there is none.

        ``wanted`` are names of ``EVOLUTIONS``, of which the first that the passage carries is
        taken; ``simple`` leaves the question as it is. ``turn`` is which of the keyphrases is asked
        about. The other inputs and the outputs are those of
        :class:`groundset.programs.onechunk.OneChunk`.
        """
        read = Passage(passage, topic, before)
        rejects: list[Reject] = []
        try:
            scored(self.score_chunk, [read])
            phrase = self._phrase(read, turn)
            draft = self._asked(read, (SIMPLE,), kinds, asked, answers, language, phrase)
            form = next((name for name in wanted if EVOLUTIONS[name].applies(passage)), SIMPLE)
            try:
                if form != SIMPLE:
                    draft = self._evolved(draft, read, form)
            except RefusedError as refused:
                rejects.append(refused.reject)
            self.in_language(draft, language, [passage])
            draft = self.as_users_put_it(draft, read)
            self.in_language(draft, language, [passage])
            draft, _ = self.filtered(draft, read)
            self.confirmed(draft, self._answered(draft, read))
        except RefusedError as refused:
            return refused.outcome(rejects)
        return self.made(draft, [read], [0], rejects)

    def _phrase(self, read: Passage, turn: int) -> str:
        """Return the keyphrase whose turn it is, of those that the passage has."""
        written = call(self.keyphrases, topic=read.topic, passage=read.text).keyphrases
        phrases = list(dict.fromkeys(one_line(each) for each in written))
        stated = [phrase for phrase in phrases if has_words(read.text, phrase)]
        if turn >= len(stated):
            reason = "no further keyphrase" if turn else "no keyphrase of the passage was written"
            raise RefusedError("keyphrases", reason, exhausted=True)
        return stated[turn]

    def _evolved(self, seed: Draft, read: Passage, form: str) -> Draft:
        """Return the question in another form."""
        written = call(
            self.evolve,
            topic=read.topic,
            passage=read.text,
            form=f"{form}: {EVOLUTIONS[form].form}",
            language=name_of("" if seed.language is ENGLISH else seed.language.code),
            plain_question=seed.question,
            plain_answer=seed.answer,
        )
        draft = self.drafted(
            "evolve",
            written,
            [read.text],
            seed.language,
            max_words=EVOLUTIONS[form].max_words,
            stated=True,
        )
        if draft.question.casefold() == seed.question.casefold():
            raise RefusedError("evolve", "it is the same question", question=draft.question)
        return draft._replace(form=form, kind=seed.kind)

    def _answered(self, draft: Draft, read: Passage) -> str:
        """Return the answer that is read from passage and question alone."""
        written = call(
            self.answer, topic=read.topic, passage=read.text, question=draft.question
        ).answer
        found = one_line(written)
        if not draft.language.is_stated(found):
            reason = f"not found in the passage: {draft.answer!r} was expected"
            raise RefusedError(
                "answer", reason, question=draft.question, probability=draft.probability
            )
        return found
