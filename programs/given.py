"""The user's own questions: recipe ``given``.

is it a question? → search → judge reads the passages one by one → none answers: the best few
together, then with each left out → evidence → question; or no passage answers it; or it is unsure
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dspy

from groundset.programs.checks import evidence_in
from groundset.programs.forms import MULTI, SIMPLE, UNANSWERABLE, UNSURE
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.outcome import RefusedError, fault_in, outcome
from groundset.programs.recipe import Draft, Passage, Recipe, Search, joined
from groundset.programs.text import MAX_QUESTION, one_line, tokens
from groundset.programs.types import Hit, Reject
from groundset.programs.words import word_list

NEAREST = 5  # passages that are read first; all are, since more than one may answer
_TOGETHER = 3  # passages that are read as one
# At most, the confidence in a passage that is said not to answer; one that is said to has more.
_SURE = 0.25
# The same of log-probabilities. The 1.5B judge said no of five passages that answer posts of users,
# with 0.13, 0.21 and more.
_SURE_SHARE = 0.05
_COURTESIES = word_list(
    "hello hi hey there good morning evening afternoon day thanks thank you very much ok okay"
    " please bye goodbye hallo guten tag morgen abend danke schön vielen dank tschüss bonjour"
    " bonsoir salut merci beaucoup hola buenos buenas días tardes noches gracias"
)


class _Reading(NamedTuple):
    """What the judge read in a passage."""

    hit: Hit
    found: str  # what was written as the answer
    answers: bool
    lacks: bool  # the answer, for sure
    probability: float | None
    reason: str

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "chunk_id": self.hit.chunk_id,
            "answer": self.found,
            "probability": self.probability,
            "reason": self.reason,
        }


class Given(Recipe):
    """Answer a question of the user's own from the passages that a search finds, or find that they
    do not answer it. However it is worded, it is not refused.

    The judge must write answers. A fitted head cannot serve: what it does not let pass is often
    answered all the same.
    """

    def __init__(self, search: Search, *, about: str = "", read: int = 10) -> None:
        """Build the steps, which read so many passages at most; see
        :class:`groundset.programs.recipe.Recipe`.
        """
        super().__init__(search, about=about)
        self.score_chunk = None  # all that is found is read
        self.most = read
        # How much a passage counts, by its id, where several give different answers.
        self.counts: Callable[[str], float] = lambda _: 0.0

    def forward(self, question: str) -> dspy.Prediction:
        """Return the question with its answer, or why it is none; see
        :func:`groundset.programs.outcome.outcome`.

        ``alternatives`` are other passages that give the same answer; those that give another one
        are ``variants`` in the metadata. If nothing answers, ``needed`` is empty, and the answer
        says so; if that is not sure, the answer is empty. ``readings`` in the metadata then are
        what the judge said of each passage.
        """
        asked = one_line(question)[:MAX_QUESTION]
        draft = Draft(asked, "", LANGUAGES[language_of(asked)])
        if fault := no_question(draft.question):
            return outcome(
                rejects=[Reject(step="question", reason=fault, question=draft.question or None)]
            )
        readings: list[_Reading] = []
        for hit in self.search(draft.question, self.most) if self.search else []:
            if len(readings) >= NEAREST and any(reading.answers for reading in readings):
                break
            readings.append(self._read(draft, hit))
        answering = [reading for reading in readings if reading.answers]
        return self._answered(draft, answering) if answering else self._together(draft, readings)

    def _read(self, draft: Draft, hit: Hit) -> _Reading:
        """Return what the judge reads in a passage. How the question is worded does not count, and
        what stands between a sure yes and a sure no is neither.
        """
        try:
            said, found = self.said(draft, Passage(hit.passage, hit.topic))
        except RefusedError as refused:
            return _Reading(hit, "", False, False, None, refused.reject.reason)
        likely, most = said.get("shares", {}).get("answerable"), _SURE_SHARE
        if likely is None and "confidence" in said:
            likely, most = min(100, max(0, int(said.confidence))) / 100, _SURE
        stated = LANGUAGES[language_of(hit.passage)].is_stated(found)
        is_sure = likely is not None and likely <= most
        return _Reading(
            hit,
            found,
            bool(said.get("answerable")) and stated and not is_sure,
            is_sure and not (said.get("answerable") or stated),
            likely,
            fault_in(said),
        )

    def _answered(self, draft: Draft, answering: Sequence[_Reading]) -> dspy.Prediction:
        """Return a question that single passages answer: the surest answer, who agrees with it, and
        the others.
        """
        best = max(
            answering,
            key=lambda each: (self.counts(each.hit.chunk_id), each.probability or 0.0),
        )
        language = LANGUAGES[language_of(best.hit.passage)]
        draft = draft._replace(answer=best.found, probability=best.probability, language=language)
        same, variants = [], []
        for reading in answering:
            if reading is best:
                continue
            if self.agrees(draft, reading.found):
                same.append(reading.hit.chunk_id)
            else:
                variants.append(reading.facts)
        return self._made(
            draft, SIMPLE, [best.hit], [same], {"variants": variants} if variants else {}
        )

    def _together(self, draft: Draft, readings: Sequence[_Reading]) -> dspy.Prediction:
        """Return a question that only several passages answer, or that nothing answers.

        It is unsure if one reading leaves open whether there is an answer: "the documents do not
        say" must be sure.
        """
        likely = sorted(readings, key=lambda reading: reading.lacks)
        hits = [reading.hit for reading in likely[:_TOGETHER]]
        read, needed = [Passage(hit.passage, hit.topic) for hit in hits], list(range(len(hits)))
        if read:
            draft = draft._replace(language=LANGUAGES[language_of(read[0].text)])

        def of(places: Sequence[int]) -> _Reading:
            return self._read(draft, Hit("", joined([read[each] for each in places]).text, "", 0.0))

        together = [of(needed)] if len(read) > 1 else []
        if not any(reading.answers for reading in together):
            facts: dict[str, Any] = {"readings": [reading.facts for reading in readings]}
            if unsure := [each for each in (*readings, *together) if not each.lacks]:
                return _unsure(draft, unsure, facts)
            draft = draft._replace(answer=draft.language.unanswered)
            return self._made(draft, UNANSWERABLE, [], [], {"answerable": False, **facts})
        draft = draft._replace(answer=together[0].found, probability=together[0].probability)
        for place in range(len(read)):
            others = [other for other in needed if other != place]
            if len(others) > 1:  # no passage answers alone
                left = of(others)
                is_same = left.answers and self.agrees(draft, left.found)
                needed = others if is_same else needed
        groups, facts = self.alternatives(draft, read, needed)
        return self._made(draft, MULTI, [hits[place] for place in needed], groups, facts)

    def _made(
        self,
        draft: Draft,
        form: str,
        hits: Sequence[Hit],
        groups: Sequence[Sequence[str]],
        facts: dict[str, Any],
    ) -> dspy.Prediction:
        said = [evidence_in(hit.passage, draft.question, draft.answer) for hit in hits]
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


def _unsure(draft: Draft, unsure: Sequence[_Reading], facts: dict[str, Any]) -> dspy.Prediction:
    """Return a question that is kept for a person, with what speaks most for an answer."""
    best = max(unsure, key=lambda reading: reading.probability or 0.0)
    reject = Reject(
        step=UNSURE,
        reason=f"a passage may answer it: {best.reason or best.found or 'nothing was written'}",
        question=draft.question,
        probability=best.probability,
        chunk_id=best.hit.chunk_id,
    )
    return outcome(question=draft.question, evolution=UNSURE, metadata=facts, rejects=[reject])


def no_question(text: str) -> str | None:
    """Return why a text cannot be a question, None if it may be one."""
    if not any(map(str.isalpha, text)):
        return "it has no letters"
    if set(tokens(text)) <= _COURTESIES:
        return "it is a greeting or thanks"
    return None
