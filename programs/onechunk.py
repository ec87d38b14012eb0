"""Questions about one passage: recipes ``evolved``, ``single`` and ``roundtrip``.

score → ask → is the evidence in the passage? → judge ⇄ revise → same answer? → alternatives →
question
"""

import re
from collections.abc import Sequence

import dspy

from groundset.programs.checks import tidy_question
from groundset.programs.errors import InputError
from groundset.programs.faq import is_asked, stated_questions
from groundset.programs.forms import (
    AS_PERSONA,
    CONVERSATION,
    EVOLUTIONS,
    FOLLOW_UP,
    FORMS,
    KINDS,
    PERSONA,
    PERSONAS,
    SIMPLE,
    UNANSWERABLE,
    refers_back,
    spoken,
    wording_fault,
)
from groundset.programs.languages import ENGLISH, LANGUAGES, language_of, name_of
from groundset.programs.outcome import (
    PREMISE,
    RESOLVES,
    SAME_QUESTION,
    RefusedError,
    call,
    holds,
    outcome,
)
from groundset.programs.recipe import LENGTHS, Draft, Passage, Recipe, scored
from groundset.programs.step import step
from groundset.programs.text import one_line

_READ = 5  # found passages that must not answer an unanswerable question


class OneChunk(Recipe):
    """Ask one question about a passage.

    The writer chooses: it is told which forms and kinds of question are wanted, and takes what the
    passage carries. The judge reads the question with the passage but without the answer, and
    answers it again.
    """

    def add_steps(self) -> None:
        """Build the steps of its own."""
        self.ask = step("ask")

    def forward(
        self,
        passage: str,
        topic: str = "",
        before: str = "",
        *,
        wanted: Sequence[str] = (SIMPLE,),
        kinds: Sequence[str] = tuple(KINDS),
        asked: Sequence[str] = (),
        answers: str = "short",
        language: str = "",
        persona: str = "",
    ) -> dspy.Prediction:
        """Return a question about a passage, or the reasons why there is none; see
        :func:`groundset.programs.outcome.outcome`.

        Args:
            passage: the text to ask about.
            topic: its title and headings.
            before: what stands just before it.
            wanted: names of ``FORMS``, the most wanted first; the writer chooses among them.
            kinds: names of ``KINDS``, the most wanted first.
            asked: questions that were asked about the passage already.
            answers: a key of ``LENGTHS``.
            language: the code of the language to write in; empty for that of the passage.
            persona: who asks, for the form ``persona``.

        Raises:
            InputError: ``wanted`` or ``answers`` names what does not exist.
        """
        if unknown := [name for name in wanted if name not in FORMS]:
            raise InputError(f"wanted: no form {unknown[0]!r}; choose from {', '.join(FORMS)}")
        if answers not in LENGTHS:
            raise InputError(f"answers: {answers!r}; choose from {', '.join(LENGTHS)}")
        read = Passage(passage, topic, before)
        first = wanted[0] if wanted else SIMPLE
        try:
            scored(self.score_chunk, [read])
            draft = self._asked(read, wanted, kinds, asked, answers, language)
            self.in_language(draft, language, [passage])
            if first not in (CONVERSATION, PERSONA):
                draft = self.as_users_put_it(draft, read)
                self.in_language(draft, language, [passage])
            if draft.form == UNANSWERABLE:
                return self._unanswerable(read, draft)
            draft = self.checked(draft, read)
            if first == CONVERSATION:
                draft = self._continued(read, draft, asked, answers, language)
            elif first == PERSONA:
                draft = self._worded(read, draft, persona)
        except RefusedError as refused:
            return refused.outcome()
        return self.made(draft, [read], [0])

    def _asked(
        self,
        read: Passage,
        wanted: Sequence[str],
        kinds: Sequence[str],
        asked: Sequence[str],
        answers: str,
        language: str,
        subject: str = "",
    ) -> Draft:
        """Return what was written, in the form and of the kind that the writer chose."""
        known = {name for name, row in EVOLUTIONS.items() if row.form} - {UNANSWERABLE}
        forms = [name for name in wanted if name in known] or [SIMPLE]
        if UNANSWERABLE in wanted[:1]:  # it is asked for alone
            forms = [UNANSWERABLE]
        offered = [name for name in forms if EVOLUTIONS[name].applies(read.text)]
        code = language or language_of(read.text)
        if not offered:
            raise RefusedError("ask", f"the passage carries no {' or '.join(forms)}")
        written = call(
            self.ask,
            about=self.about,
            topic=read.topic,
            before=read.before,
            passage=read.text,
            asked_already=list(asked),
            subject=subject or self._subject(read, asked),
            forms=[f"{name}: {EVOLUTIONS[name].form}" for name in offered],
            kinds=", ".join(kinds),
            answers=LENGTHS[answers],
            # Small models fall back into the language of their instructions.
            language=name_of(language or ("" if code == ENGLISH.code else code)),
        )
        form = _named(str(written.get("form", "")), offered)
        most = EVOLUTIONS[form].max_words
        draft = self.drafted(
            "ask", written, [read.text], LANGUAGES[code], max_words=most, stated=True
        )
        kind = _named(str(written.get("kind", "")), list(kinds) or [""])
        return draft._replace(form=form, kind=kind)

    def _subject(self, read: Passage, asked: Sequence[str]) -> str:
        """Return what to ask about: a question that the passage states and that was not asked."""
        stated = (question for question, _ in stated_questions(read.text, read.topic))
        return next((question for question in stated if not is_asked(question, asked)), "")

    def _unanswerable(self, read: Passage, draft: Draft) -> dspy.Prediction:
        """Return a question that no passage answers, its own or a found one, and whose premise its
        own bears out, as a reader put it: of a user's situation it says nothing.
        """
        seed = draft.seed or draft.question
        decision, _ = self.judged(draft, read, unanswerable=True)
        if not decision.good:
            raise decision.refusal(draft.question)
        if not (premise := holds(self.compare, PREMISE, read.text, seed))[0]:
            reason = f"the passage does not bear out its premise: {premise[1]}"
            raise RefusedError("compare", reason, question=draft.question)
        query = f"{draft.question} {draft.seed}".rstrip()
        for hit in self.search(query, _READ) if self.search else ():
            if hit.passage == read.text:
                continue
            found, _ = self.judged(draft, Passage(hit.passage, hit.topic), sure=False)
            if found.good:
                raise RefusedError(
                    "judge", f"another chunk answers it: {hit.chunk_id}", question=draft.question
                )
        return outcome(
            question=draft.question,
            answer=draft.language.unanswered,
            evidence=[quote for _, quote in draft.evidence],
            evolution=UNANSWERABLE,
            kind=draft.kind,
            metadata={"answerable": False, "missing": draft.answer, **draft.facts},
        )

    def _worded(self, read: Passage, draft: Draft, persona: str) -> Draft:
        """Return the question as a persona words it."""
        who = persona or PERSONAS[len(draft.question) % len(PERSONAS)]
        wording = one_line(self._changed(draft, read, AS_PERSONA.format(persona=who)))
        fault = wording_fault(draft.question, wording, draft.answer, draft.language)
        if fault is None:
            same, why = holds(self.compare, SAME_QUESTION, draft.question, wording)
            fault = None if same else f"it asks for something else: {why}"
        if fault is not None:
            raise RefusedError("revise", fault, question=wording or draft.question)
        facts = {"seed_question": draft.question, "persona": who}
        worded = draft._replace(question=wording, seed=draft.question, form=PERSONA, facts=facts)
        decision, *_ = self.judged(worded, read, sure=False)
        if not decision.good:
            raise decision.refusal(wording)
        return worded

    def _changed(self, draft: Draft, read: Passage, change: str) -> str:
        """Return a question, changed without its passage."""
        asked = {"topic": read.topic, "question": draft.question, "answer": draft.answer}
        return str(call(self.revise, **asked, change=change).new_question)

    def _continued(
        self, read: Passage, seed: Draft, asked: Sequence[str], answers: str, language: str
    ) -> Draft:
        """Return a second question with its conversation: the seed question, its answer, and a
        follow-up.
        """
        known = [*asked, seed.question]
        draft = self._asked(read, (SIMPLE,), tuple(KINDS), known, answers, language)
        draft = self.checked(draft, read)
        messages = [
            {"role": "user", "content": seed.question},
            {"role": "assistant", "content": seed.answer},
        ]
        change = FOLLOW_UP.format(conversation=spoken(messages))
        follow_up = tidy_question(self._changed(draft, read, change))
        first_turn = f"{seed.question} {seed.answer} {read.topic}"
        if not follow_up.endswith("?") or not refers_back(
            follow_up, draft.question, first_turn, draft.language
        ):
            reason = "the follow-up leaves nothing out that the first turn tells"
            raise RefusedError("revise", reason, question=follow_up or draft.question)
        messages.append({"role": "user", "content": follow_up})
        same, why = holds(self.compare, RESOLVES, spoken(messages), draft.question)
        if not same:
            raise RefusedError(
                "compare", f"the follow-up asks something else: {why}", question=follow_up
            )
        facts = {"seed_question": seed.question, "conversation": messages}
        return draft._replace(form=CONVERSATION, facts=facts)


def _named(written: str, offered: Sequence[str]) -> str:
    """Return the offered name that was written, else the first one."""
    words = re.findall(r"\w+", written.casefold())
    return next((name for word in words for name in offered if name == word), offered[0])
