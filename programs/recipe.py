"""What the recipes share: scoring passages, judging a question, rewriting a refused one,
alternatives.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import dspy

from groundset.programs.answers import states
from groundset.programs.checks import (
    agree,
    is_none,
    language_fault,
    located,
    stating,
    tidy_question,
    written_fault,
)
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import (
    AGREE,
    RefusedError,
    Verdict,
    call,
    holds,
    outcome,
    verdict,
)
from groundset.programs.step import Program, step
from groundset.programs.text import one_line
from groundset.programs.types import Hit, Reject
from groundset.programs.users import Users
from groundset.programs.words import Language

Search = Callable[[str, int], Sequence[Hit]]

LENGTHS: Mapping[str, str] = {
    "short": (
        "as few words as answer the question, copied where they say enough without the passage"
    ),
    "open": "one to three whole sentences",
}
# A change for the step `revise`.
MEND = (
    "Mend this fault, which a reader found: {fault}. Ask for one thing, and call what it is about"
    " by its full name, unless title and headings make it plain. If the fault is that hardly"
    " anybody would ask this, ask for something else that the passage tells."
)
# Search results that may serve as well as the passage, and how many in a row that do not answer end
# the judging; chosen on questions about pages of governments, so what they reach there proves
# nothing.
_HITS = 20
_MISSES = 3
_SURPLUS = 0.2  # share of words that a message has beyond the wanted one, from which it is put anew


class Passage(NamedTuple):
    """What a judge reads: a passage, what stands before it, and its title and headings."""

    text: str
    topic: str = ""
    before: str = ""


class Draft(NamedTuple):
    """A question that a program works on, with its answer and what is known of both."""

    question: str
    answer: str
    language: Language
    evidence: Sequence[tuple[int, str]] = ()  # each with the position of its passage
    form: str = ""
    kind: str = ""
    probability: float | None = None  # to be kept
    wording: str = ""  # how it is put, if it is a message of users and not one full question
    seed: str = ""  # the question before it was put so
    facts: Mapping[str, Any] = {}  # for the metadata


class Recipe(Program):
    """The base of the recipes: a score of passages, a judge that reads and answers, a comparison of
    answers, a reviser.

    Steps are attributes: a fitted head may take the place of ``score_chunk`` or ``judge``, and
    without a ``score_chunk`` (None) every passage is asked about. Methods that return or check a
    question raise ``RefusedError`` where it is refused.
    """

    def __init__(
        self,
        search: Search | None = None,
        *,
        about: str = "",
        users: Users | None = None,
    ) -> None:
        """Build the steps.

        Args:
            search: finds passages for a query; without one, there are no alternatives.
            about: one sentence on what the documents are and who asks, for writer and judge.
            users: whose wording questions get; without, that of a reader of the documents.
        """
        super().__init__()
        self.users = users
        self.search = search
        self.about = about
        self.score_chunk: Any = step("score")
        self.judge = step("judge")
        self.compare = step("compare")
        self.revise = step("revise")
        if users:
            self.reword = step("reword")
        self.add_steps()

    def add_steps(self) -> None:
        """Build the steps that a recipe has beside these; by default none."""

    def judged(
        self, draft: Draft, passage: Passage, *, unanswerable: bool = False, sure: bool = True
    ) -> tuple[Verdict, str]:
        """Return the judge's decision on a question, and the judge's own answer; empty from a
        fitted head.
        """
        said, found = self.said(draft, passage)
        return verdict(said, unanswerable=unanswerable, sure=sure), found

    def said(self, draft: Draft, passage: Passage) -> tuple[dspy.Prediction, str]:
        """Return what the judge says of a question, and its own answer; empty if there is none."""
        said = call(
            self.judge,
            about=self.about,
            topic=passage.topic,
            before=passage.before,
            passage=passage.text,
            question=draft.question,
        )
        found = one_line(said.get("answer", ""))
        return said, "" if is_none(found) else found

    @staticmethod
    def drafted(
        name: str,
        written: dspy.Prediction,
        texts: Sequence[str],
        language: Language,
        *,
        max_words: int = 0,
        # whether words of the first text that state the answer can be the evidence
        stated: bool = False,
    ) -> Draft:
        """Return what a step wrote about texts."""
        question, answer = tidy_question(written.question), one_line(written.answer)
        if not question:
            raise RefusedError(name, "no question was written")
        if is_none(question):
            raise RefusedError(
                name, f"nothing to ask: {answer or 'no reason given'}", exhausted=True
            )
        if fault := written_fault(question, answer, language, max_words):
            raise RefusedError(name, fault, question=question or None)
        quotes = located(texts, written.evidence)
        if quotes is None and stated and (found := stating(texts[0], answer, language)):
            quotes = [(0, found)]
        if quotes is None:
            where = "the passage" if len(texts) == 1 else "the passages"
            reason = f"its evidence is not in {where}: {written.evidence!r:.120}"
            raise RefusedError(name, reason, question=question)
        return Draft(question, answer, language, quotes)

    def checked(self, draft: Draft, passage: Passage, *, rewrite: bool = True) -> Draft:
        """Return a question that the judge keeps and answers as expected; one with a fault may be
        rewritten once.
        """
        draft, found = self.filtered(draft, passage, rewrite=rewrite)
        self.confirmed(draft, found)
        return draft

    def filtered(
        self, draft: Draft, passage: Passage, *, rewrite: bool = True
    ) -> tuple[Draft, str]:
        """Return a question that the judge keeps, perhaps rewritten once, and the judge's own
        answer.
        """
        decision, found = self.judged(draft, passage)
        if rewrite and decision.fault and not decision.fault.startswith("not answerable"):
            draft = self.rewritten(draft, passage, decision)
            decision, found = self.judged(draft, passage)
        if not decision.good:
            raise decision.refusal(draft.question)
        return draft._replace(probability=decision.probability), found

    def confirmed(self, draft: Draft, found: str) -> None:
        """Refuse a question whose found answer, if there is one, says something else than the
        expected one.
        """
        if found and not self.agrees(draft, found):
            reason = f"another answer than expected: {found!r}, not {draft.answer!r}"
            raise RefusedError(
                "answer", reason, question=draft.question, probability=draft.probability
            )

    def agrees(self, draft: Draft, found: str) -> bool:
        """Return whether a found answer says what the expected one does; a model decides what words
        do not tell.
        """
        told = agree(draft.answer, found, draft.language, draft.question)
        return (
            told
            if told is not None
            else holds(self.compare, AGREE, draft.answer, found, draft.question)[0]
        )

    def rewritten(self, draft: Draft, passage: Passage, decision: Verdict) -> Draft:
        """Return a refused question, rewritten with its fault."""
        revised = call(
            self.revise,
            topic=passage.topic,
            before=passage.before,
            passage=passage.text,
            question=draft.question,
            answer=draft.answer,
            change=MEND.format(fault=decision.fault.rstrip("."))
            + (f" It is put like this: {draft.wording}." if draft.wording else ""),
        )
        tidy, limit = (one_line, None) if draft.wording else (tidy_question, 0)
        question = tidy(revised.new_question)
        answer = one_line(revised.new_answer) or draft.answer
        kept = draft._replace(question=question, answer=answer)
        fault = written_fault(question, answer, draft.language, limit)
        if fault or is_none(question) or question == draft.question:
            raise decision.refusal(draft.question)
        return kept

    def as_users_put_it(self, draft: Draft, passage: Passage) -> Draft:
        """Return a question as users would put it who have not seen the passage, with their
        situation and the question as it was; without users, the question itself.

        Writers keep more words of the documents than they are told; then they are told once more.
        """
        if self.users is None:
            return draft
        wording = self.users.drawn(draft.question)
        reword = partial(
            call,
            self.reword,
            about=self.about,
            topic=passage.topic,
            question=draft.question,
            answer=draft.answer,
            examples=list(wording.examples),
        )

        def shared(written: dspy.Prediction) -> float:
            known = f"{passage.topic} {passage.text}"
            return draft.language.shared_words(written.message, known)

        written = reword(wording=str(wording))
        if shared(written) > wording.shared + _SURPLUS:
            again = reword(wording=f"{wording}, so fewer than here: {one_line(written.message)}")
            if not is_none(again.message) and shared(again) < shared(written):
                written = again
        message = one_line(written.message)
        fault = written_fault(message, draft.answer, draft.language, None)
        if fault or is_none(message):
            reason = fault or "nobody would be in need of its answer"
            raise RefusedError("reword", reason, question=draft.question)
        facts = {"situation": one_line(written.situation), "seed_question": draft.question}
        return draft._replace(
            question=message, wording=str(wording), seed=draft.question, facts=facts
        )

    def in_language(self, draft: Draft, language: str, passages: Sequence[str]) -> None:
        """Refuse a question in another language than the requested one, else than the known one of
        its passages.
        """
        codes = {language_of(passage) for passage in passages}
        wanted = language or (next(iter(codes)) if len(codes) == 1 else "")
        if wanted in LANGUAGES and (
            fault := language_fault(draft.question, draft.answer, wanted, codes)
        ):
            raise RefusedError("language", fault, question=draft.question)

    def made(
        self,
        draft: Draft,
        read: Sequence[Passage],
        needed: Sequence[int],
        rejects: Sequence[Reject] = (),
    ) -> dspy.Prediction:
        """Return a question that passed, with the found passages that serve as well."""
        groups, facts = self.alternatives(draft, read, needed)
        return outcome(
            question=draft.question,
            answer=draft.answer,
            evidence=[quote for _, quote in draft.evidence],
            evolution=draft.form,
            kind=draft.kind,
            probability=draft.probability,
            needed=needed,
            alternatives=groups,
            rejects=rejects,
            metadata={**draft.facts, **facts},
        )

    def alternatives(
        self, draft: Draft, passages: Sequence[Passage], needed: Sequence[int]
    ) -> tuple[list[list[str]], dict[str, Any]]:
        """Return for each needed passage the ids of found ones that serve as well, and as facts the
        answers that contradict.

        Those nearest to question and answer are judged first, until some in a row do not answer. A
        passage must have all words of the question that only the needed one has, or three quarters
        of those of the answer. One serves if the judge reads the same answer with it; a judge that
        writes none lets those serve that state the answer as the needed one does.
        """
        groups: list[list[str]] = [[] for _ in needed]
        variants: list[dict[str, Any]] = []
        if self.search is None:
            return groups, {}
        words = draft.language.content_words
        known = {passage.text for passage in passages}
        query = f"{draft.question} {draft.seed} {draft.answer}"
        hits = [hit for hit in self.search(query, _HITS) if hit.passage not in known]
        for group, place in zip(groups, needed, strict=True):
            others = [passages[other] for other in needed if other != place]
            elsewhere = {word for other in others for word in words(other.text)}
            own = set(words(passages[place].text)) - elsewhere
            asked = own & set(words(draft.seed or draft.question))
            said = own & set(words(draft.answer))
            stated = states(passages[place].text, draft.answer, draft.language)
            misses = 0
            for hit in hits:
                here = set(words(hit.passage))
                if here <= set(words(hit.topic)):
                    continue  # a title alone says nothing
                is_about = asked and asked <= here
                may_answer = said and 4 * len(said & here) >= 3 * len(said)
                if not is_about and not may_answer:
                    continue
                if misses == _MISSES:
                    break
                misses += 1
                read = joined([*others, Passage(hit.passage, hit.topic)])
                try:
                    decision, answer = self.judged(draft, read, sure=False)
                except RefusedError:  # what cannot be read says nothing
                    continue
                if not decision.good:
                    continue
                misses = 0
                states_it = stated and states(hit.passage, draft.answer, draft.language)
                if self.agrees(draft, answer) if answer else states_it:
                    group.append(hit.chunk_id)
                elif draft.language.is_stated(answer):
                    said_here = {"answer": answer, "chunk_id": hit.chunk_id}
                    variants.append(said_here | {"place": needed.index(place)})
        return groups, {"variants": variants} if variants else {}


def scored(score: Any, passages: Sequence[Passage]) -> None:
    """Refuse passages of which one has nothing to ask about, as a step or a fitted head decides;
    None lets all pass.

    Raises:
        RefusedError: one is refused; its ``place`` says which.
    """
    for place, passage in enumerate(passages if score is not None else ()):
        try:
            decision = verdict(call(score, topic=passage.topic, passage=passage.text))
        except RefusedError as unread:
            decision = Verdict(False, None, unread.reject.reason)
        if not decision.good:
            facts = {"probability": decision.probability}
            raise RefusedError("score", decision.reason, exhausted=True, place=place, **facts)


def joined(passages: Sequence[Passage]) -> Passage:
    """Return passages as one; several are numbered, each under its title and headings."""
    return passages[0] if len(passages) == 1 else Passage(numbered(passages))


def numbered(passages: Sequence[Passage]) -> str:
    """Return passages as one text, each with its number, title and headings."""
    return "\n\n".join(
        f"[{number}] {each.topic}\n{each.text}" for number, each in enumerate(passages, start=1)
    )
