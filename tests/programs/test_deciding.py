"""How a decision is read: one output decides where there is one for the whole, else all of them."""

from programs.deciding import Decision


def test_all_must_be_true_and_the_weakest_is_named() -> None:
    decision = Decision(values={"a": True, "b": False}, probabilities={"a": 0.9, "b": 0.2}, levels={})
    assert not decision.good
    assert decision.probability == 0.2
    assert decision.weakest == "b"


def test_the_overall_output_decides_and_the_others_say_why() -> None:
    decision = Decision(
        values={"fit": True, "clear": False}, probabilities={"fit": 0.6, "clear": 0.7, "independent": 0.65}, levels={}
    )
    assert decision.good
    assert decision.probability == 0.6
    assert decision.weakest == "independent"
