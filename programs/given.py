"""The user's own questions: recipe ``given``.

is it a question? → search → judge reads the passages one by one → none answers: the best few
together, then with each left out → evidence → question; or no passage answers it
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import dspy

from groundset.programs.checks import find_quote, stating
from groundset.programs.forms import MULTI, SIMPLE, UNANSWERABLE
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import RefusedError, Verdict, outcome
from groundset.programs.recipe import Draft, Passage, Recipe, Search, joined
from groundset.programs.text import MAX_QUESTION, tokens
from groundset.programs.types import Hit
from groundset.programs.words import word_list

NEAREST = 5  # passages that are read first; all are, since more than one may answer
_MOST = 10  # passages that are read before a question is called unanswerable
_TOGETHER = 3  # passages that are read as one
_FAULTS = ("not independent", "not clear")  # of the question itself, whatever the passage says
_COURTESIES = word_list(
    "hello hi hey there good morning evening afternoon day thanks thank you very much ok okay"
    " please bye goodbye hallo guten tag morgen abend danke schön vielen dank tschüss bonjour"
    " bonsoir salut merci beaucoup hola buenos buenas días tardes noches gracias"
)


class _Reading(NamedTuple):
    """What came of reading a passage: the judge's decision, and the answer; empty if the passage
    does not answer.
    """

    hit: Hit
    decision: Verdict
    answer: str


class Given(Recipe):
    """Answer a question of the user's own from the passages that a search finds, or find that they
    do not answer it.

    The judge must write answers. A fitted head cannot serve: what it does not let pass is often
    answered all the same.
    """

    def __init__(self, search: Search, *, about: str = "") -> None:
        """Build the steps; see :class:`groundset.programs.recipe.Recipe`."""
        super().__init__(search, about=about)

    def forward(self, question: str) -> dspy.Prediction:
        """Return the question with its answer, or why it is refused; see
        :func:`groundset.programs.outcome.outcome`.

        ``alternatives`` are other passages that give the same answer; those that give another one
        are ``variants`` in the metadata. If nothing answers, ``needed`` is empty, and the answer
        says so.
        """
        draft = Draft(" ".join(question.split()), "")
        try:
            if fault := no_question(draft.question):
                raise RefusedError("question", fault, question=draft.question or None)
            hits = self.search(draft.question, _MOST) if self.search else []
            readings = self._readings(draft, hits[:NEAREST])
            if not any(reading.answer for reading in readings):
                readings += self._readings(draft, hits[NEAREST:])
            answering = [reading for reading in readings if reading.answer]
            return (
                self._answered(draft, answering) if answering else self._together(draft, readings)
            )
        except RefusedError as refused:
            return outcome(rejects=[refused.reject])

    def _readings(self, draft: Draft, hits: Sequence[Hit]) -> list[_Reading]:
        """Return what the judge read in passages; a question is refused if most readings find a
        fault in it.
        """
        readings = [
            _Reading(hit, *self._read(draft, Passage(hit.passage, hit.topic))) for hit in hits
        ]
        faults = [reading for reading in readings if reading.decision.reason.startswith(_FAULTS)]
        if 2 * len(faults) > len(readings):
            raise _refused(draft, faults[0])
        return readings

    def _read(self, draft: Draft, passage: Passage) -> tuple[Verdict, str]:
        """Return the judge's decision on a question with a passage, and the answer, empty if the
        passage has none.
        """
        decision, found = self.judged(draft, passage)
        stated = decision.good and LANGUAGES[language_of(passage.text)].is_stated(found)
        return decision, found if stated else ""

    def _answered(self, draft: Draft, answering: Sequence[_Reading]) -> dspy.Prediction:
        """Return a question that single passages answer: the surest answer, who agrees with it, and
        the others.
        """
        best = max(answering, key=lambda reading: reading.decision.probability or 0.0)
        draft = draft._replace(answer=best.answer, probability=best.decision.probability)
        same, variants = [], []
        for hit, decision, answer in (reading for reading in answering if reading is not best):
            if self.agrees(draft, answer, language_of(best.hit.passage)):
                same.append(hit.chunk_id)
            else:
                variants.append(
                    {
                        "answer": answer,
                        "chunk_id": hit.chunk_id,
                        "probability": decision.probability,
                    }
                )
        return self._made(
            draft, SIMPLE, [best.hit], [same], {"variants": variants} if variants else {}
        )

    def _together(self, draft: Draft, readings: Sequence[_Reading]) -> dspy.Prediction:
        """Return a question that only several passages answer, or that nothing answers.

        It is refused if one reading leaves open whether there is an answer: "the documents do not
        say" must be sure.
        """
        hits = [reading.hit for reading in readings[:_TOGETHER]]
        read, needed = [Passage(hit.passage, hit.topic) for hit in hits], list(range(len(hits)))
        code = language_of(read[0].text if read else draft.question)
        together = (
            self._readings(draft, [Hit("", joined(read).text, "", 0.0)]) if len(read) > 1 else []
        )
        if not together or not together[0].answer:
            for reading in (*together, *readings):
                if not reading.decision.reason.startswith("not answerable"):
                    raise _refused(draft, reading)
            draft = draft._replace(answer=LANGUAGES[code].unanswered)
            return self._made(draft, UNANSWERABLE, [], [], {"answerable": False})
        draft = draft._replace(
            answer=together[0].answer, probability=together[0].decision.probability
        )
        for place in range(len(read)):
            others = [other for other in needed if other != place]
            if len(others) > 1:  # no passage answers alone
                _, found = self._read(draft, joined([read[other] for other in others]))
                needed = others if found and self.agrees(draft, found, code) else needed
        told = self.alternatives(draft, read, needed, code)
        return self._made(draft, MULTI, [hits[place] for place in needed], told.groups, told.facts)

    def _made(
        self,
        draft: Draft,
        form: str,
        hits: Sequence[Hit],
        groups: Sequence[Sequence[str]],
        facts: dict[str, Any],
    ) -> dspy.Prediction:
        said = [_evidence(hit.passage, draft) for hit in hits]
        return outcome(
            question=draft.question,
            answer=draft.answer,
            evidence=[quote for quote in said if quote],
            evolution=form,
            probability=draft.probability,
            needed=range(len(hits)),
            context_ids=[hit.chunk_id for hit in hits],
            alternatives=groups,
            metadata=facts,
        )


def _refused(draft: Draft, reading: _Reading) -> RefusedError:
    hit, (_, probability, reason), _ = reading
    reason = reason or "not certain: no answer was written"
    return RefusedError(
        "judge", reason, question=draft.question, probability=probability, chunk_id=hit.chunk_id
    )


def no_question(text: str) -> str | None:
    """Return why a text cannot be a question, None if it may be one."""
    if not text.strip():
        return "it is empty"
    if not any(map(str.isalpha, text)):
        return "it has no letters"
    if set(tokens(text)) <= _COURTESIES:
        return "it is a greeting or thanks"
    return f"it is longer than {MAX_QUESTION:,} characters" if len(text) > MAX_QUESTION else None


def _evidence(passage: str, draft: Draft) -> str | None:
    """Return the words of a passage that state an answer, else its sentence with most words of
    question and answer.
    """
    language = LANGUAGES[language_of(passage)]
    wanted = set(language.content_words(f"{draft.question} {draft.answer}"))
    sentences = language.sentences(passage)
    best = max(
        sentences, key=lambda each: len(wanted & set(language.content_words(each))), default=""
    )
    return stating(passage, draft.answer, language) or find_quote(passage, best)
