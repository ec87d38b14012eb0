"""The hand-set head critic orders the good before the bad, and always answers."""

import zlib
from collections.abc import Sequence

import dspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs.critics import CRITICS, Critic, open_critics
from programs.critics.heads import HeadCritic
from programs.critics.remembering import CachingEncoder
from programs.deciding import decide
from programs.errors import InputError
from programs.judging import judge_chunks, judge_questions
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from signatures.chunk import ScoreChunk
from signatures.grounding import GroundAnswer
from signatures.same import CompareQuestions

KNOWN = Languages(LANGUAGES)
PASSAGE = (
    "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria Kolb. "
    "The bridge replaced a ferry that had carried up to 400 people a day. It is painted with a green enamel, and "
    "the town of Lowen has repainted it every twelve years since then."
)
REFERENCES = (
    "1. Kolb, M. (1931). The bridge. Journal of Harbours, vol. 3, pp. 4-9. doi:10.1/x\n"
    "2. Reuss, J. (1932). Retrieved 3 May 2001 from https://example.org\n3. Lowen Press, ISBN 1-23."
)


class WordEncoder:
    """Embeds a text as its words, so that similarity is shared words."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 1024), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode("utf-8", "surrogatepass")) % 1024] = 1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms, norms, 1)

    def encode_corpus(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode(texts)


@pytest.fixture
def critics() -> dict[str, Critic]:
    return open_critics("head", languages=KNOWN, embedder=WordEncoder())


def test_prose_passes_and_references_do_not(critics: dict[str, Critic]) -> None:
    good, bad = judge_chunks([PASSAGE, REFERENCES], critics["chunk"])
    assert good.probability > 0.5 > bad.probability
    assert good.good
    assert not bad.good
    assert "fit" not in bad.parts()
    assert bad.parts()[bad.weakest] == min(bad.parts()[name] for name in ("self_contained", "content"))


@pytest.mark.parametrize(
    "worse",
    [
        "Which engineer is mentioned in the passage?",
        "Who led it?",
        "The Lowen harbour bridge was opened in 1931.",
        "Which engineer led the work on the Lowen harbour bridge? And when?",
        "Which architect of Paris signed the treaty of 1648?",
    ],
)
def test_good_question_scores_above_bad_ones(critics: dict[str, Critic], worse: str) -> None:
    good = "Which engineer led the work on the Lowen harbour bridge?"
    better, lower = judge_questions([(good, PASSAGE), (worse, PASSAGE)], critics["judge"])
    assert better.probability > lower.probability
    assert better.good
    assert not lower.good


def test_grounding_needs_answer_in_passage_with_fitting_form(critics: dict[str, Critic]) -> None:
    question = "Which engineer led the work on the Lowen harbour bridge?"
    predict = dspy.Predict(GroundAnswer)
    decisions = {
        answer: decide(predict, critics["grounding"], passage=PASSAGE, question=question, answer=answer)
        for answer in ("Maria Kolb", "Jakob Reuss", "the Lowen harbour bridge", "")
    }
    assert [answer for answer, decision in decisions.items() if decision.good] == ["Maria Kolb"]


def test_questions_with_different_numbers_are_not_the_same(critics: dict[str, Critic]) -> None:
    predict = dspy.Predict(CompareQuestions)
    first = "How many people did the ferry carry in 1930?"
    assert decide(predict, critics["same"], first=first, second=first).values["same"]
    assert not decide(predict, critics["same"], first=first, second=first.replace("1930", "1931")).values["same"]


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_any_text_gets_a_probability(passage: str, topic: str) -> None:
    decision = decide(dspy.Predict(ScoreChunk), HeadCritic("chunk", WordEncoder(), KNOWN), passage=passage, topic=topic)
    assert not decision.levels, "nobody judged those"
    assert all(0 <= p <= 1 for p in decision.probabilities.values())


def test_unknown_output_raises_key_error(critics: dict[str, Critic]) -> None:
    with pytest.raises(KeyError):
        critics["chunk"]({"inputs": {"passage": PASSAGE, "topic": ""}}, {"colour": {"type": "noul"}})


def test_every_deciding_step_has_hand_set_weights(critics: dict[str, Critic]) -> None:
    assert (
        set(critics)
        == {name for name, step in STEPS.items() if step.hand_set}
        == {name for name, step in STEPS.items() if step.any_critic}
    )


def test_open_critics_checks_its_arguments() -> None:
    for spec in (*CRITICS, "oracle"):
        with pytest.raises(InputError, match=f"--critic {spec}"):
            open_critics(spec, languages=KNOWN)


def test_critics_share_the_embedding_cache() -> None:
    class Counting(WordEncoder):
        def __init__(self) -> None:
            self.texts: list[str] = []

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            self.texts += texts
            return super().encode(texts)

    counting = Counting()
    opened = open_critics("head", languages=KNOWN, embedder=counting)
    question = "Which engineer led the work on the Lowen harbour bridge?"
    judge_questions([(question, PASSAGE)], opened["judge"])
    decide(dspy.Predict(CompareQuestions), opened["same"], first=question, second=question)
    assert len(counting.texts) == len(set(counting.texts)) > 0


def test_permanent_vectors_are_not_embedded() -> None:
    plain = WordEncoder()
    given = plain.encode(["The mill burned."])[0] + 1
    encoder = CachingEncoder(plain, {"The mill burned.": given})
    for encode in (encoder.encode, encoder.encode_corpus):
        rows = encode(["The mill burned.", "It was built again."])
        assert (rows == np.stack([given, plain.encode(["It was built again."])[0]])).all()


def test_full_cache_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("programs.critics.remembering._MAX_VECTORS", 3)
    encoder, plain = CachingEncoder(WordEncoder()), WordEncoder()
    for texts in (["a", "b"], ["b", "c", "c"], ["d", "a", "e", "f"]):
        assert (encoder.encode(texts) == plain.encode(texts)).all()
