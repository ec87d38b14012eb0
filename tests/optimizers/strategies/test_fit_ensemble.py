"""Blending a head and a language model."""

from optimizers.labels import LabelledAnswer, QuestionLabel
from optimizers.strategies.fit_ensemble import OUTPUT, demos_of, fit_blend, held_out


def label(number: int, reason: str, passage: str = "The mill burned in 1893.") -> QuestionLabel:
    return QuestionLabel(
        id=f"q{number}",
        document="mill",
        chunk="mill-01",
        topic="Mill",
        passage=passage,
        question=f"What burned, {number}?",
        label="good" if reason == "ok" else "bad",
        reason=reason,
        explanation="It says so.",
        answer=LabelledAnswer(text="the mill", label="correct") if reason == "ok" else None,
        origin="written",
        language="en",
        split="train",
        annotation_pass=1,
    )


def test_informative_side_gets_the_weight() -> None:
    good = [True, False] * 20
    fitted = fit_blend([(0.5, 0.9 if each else 0.1) for each in good], good)
    assert abs(fitted.head) < 1e-6
    assert fitted.model > 0.5


def test_held_out_folds_are_grouped_by_document() -> None:
    # In the first document the model is wrong, which only its own rows could teach.
    good = [True, False] * 10
    groups = [f"d{place // 4}" for place in range(20)]
    odd = [0.9 if each else 0.1 for each in good]
    odd[:4] = [0.1, 0.9, 0.1, 0.9]
    found = held_out([(0.5, model) for model in odd], good, groups)
    assert found[0] < 0.5 < found[1]
    assert found[4] > 0.5 > found[5]


def test_demos_are_pairs_of_unanswerable_and_answerable_questions() -> None:
    rows = [label(1, "ok"), label(2, "vague"), label(3, "unanswerable"), label(4, "ok", "long " * 200), label(5, "ok")]
    demos = demos_of([*rows, label(6, "unanswerable"), label(7, "unanswerable")])
    assert [(demo["question"], demo[OUTPUT]) for demo in demos] == [
        ("What burned, 3?", False),
        ("What burned, 1?", True),
        ("What burned, 6?", False),
        ("What burned, 5?", True),
    ]
    assert {demo["explanation"] for demo in demos} == {"It says so."}
