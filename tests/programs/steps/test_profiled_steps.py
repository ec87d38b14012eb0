"""Completions of the steps of the recipe ``profiled``."""

import pytest

from groundset.data_files import data_path
from programs.profiles import read_profiles
from programs.steps.ask_profiled import options_of, options_problem, with_options
from programs.steps.clues import query_of, question_of, tidy_clues
from programs.steps.distil import missing_of, needed_of
from programs.steps.profiles import profiles_of
from signatures.clues import Clue

TABLE = read_profiles(data_path("profiles", "default.json"))
SHORT = {"Type": "short", "Persona": "newcomer", "Scope": "one statement", "Difficulty": "easy"}
LINE = "Type: short | Persona: newcomer | Scope: one statement | Difficulty: easy"
DETAILED = "**Type** = Short (a few words) ; persona: “Newcomer”. ; scope: one statement ; difficulty: Easy"


def test_tidy_clues_drops_empty_and_repeated_ones() -> None:
    clues = [
        Clue(clue=" Why\nso? ", example="So."),
        Clue(),
        Clue(clue="why so?"),
        Clue(clue="Who?"),
        Clue(clue="When?"),
    ]
    assert tidy_clues(clues, 2) == [Clue(clue="Why so?", example="So."), Clue(clue="Who?")]
    assert tidy_clues([], 2) == []


def test_clue_as_query_and_as_question() -> None:
    full = Clue(clue="Why?", example="Because.", description="A reason.")
    assert (query_of(full), question_of(full)) == ("Why? Because. A reason.", "Why? (A reason.)")
    assert (query_of(Clue(clue="Why?")), question_of(Clue(clue="Why?"))) == ("Why?", "Why?")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1, 3", [1, 3]), ("[3] and [1], 3", [1, 3]), ("none", []), ("0, 4, 12", []), ("1.5; A2", []), ("", [])],
)
def test_needed_passages(text: str, numbers: list[int]) -> None:
    assert needed_of(text, 3) == numbers


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        *((text, "") for text in ("nothing", "Nothing.", "none", '"nothing" is missing', "")),
        ("what the check costs.", "what the check costs"),
        (
            "nothing on what the check costs, nor on who pays for it",
            "nothing on what the check costs, nor on who pays for it",
        ),
    ],
)
def test_missing_part(text: str, missing: str) -> None:
    assert missing_of(text) == missing


@pytest.mark.parametrize("line", [LINE, f"1. {LINE}", f"- {LINE}.", DETAILED, f"{LINE} | Colour: red"])
def test_profile_in_a_line(line: str) -> None:
    assert profiles_of(line, TABLE, 3) == [SHORT]


@pytest.mark.parametrize(
    "line", ["", "short, newcomer", LINE.replace("easy", "simple"), LINE.replace(" | Difficulty: easy", ""), "Type | |"]
)
def test_line_without_a_whole_profile_is_left_out(line: str) -> None:
    assert profiles_of(f"{line}\n{LINE}\n{LINE}", TABLE, 3) == [SHORT]
    assert profiles_of(line, TABLE, 3) == []


def test_profiles_are_limited_in_number() -> None:
    text = "\n".join(LINE.replace("easy", level) for level in ("hard", "easy", "medium"))
    assert [each["Difficulty"] for each in profiles_of(text, TABLE, 2)] == ["hard", "easy"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a mill | a bridge | a ferry", ["a mill", "a bridge", "a ferry"]),
        ("A) a mill | (B) a bridge. | 3. a ferry", ["a mill", "a bridge", "a ferry"]),
        ("A) a mill\nB) a bridge", ["a mill", "a bridge"]),
        ("none", []),
        ("None.", []),
        ("", []),
        ("12 metres | 4.5 metres", ["12 metres", "4.5 metres"]),
    ],
)
def test_options(text: str, options: list[str]) -> None:
    assert options_of(text) == options


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["a mill", "a bridge", "A Ferry"], None),
        (["a ferry", "a bridge"], "it has 2 options"),
        (["a ferry", "a mill", "a ferry"], "an option is repeated"),
        (["a mill", "a bridge", "a school"], "the answer is not among the options"),
    ],
)
def test_problem_of_options(options: list[str], problem: str | None) -> None:
    found = options_problem(options, "a ferry.")
    assert found == problem or (problem and found and found.startswith(problem))


def test_options_are_lettered_in_an_order_that_the_seed_fixes() -> None:
    options = ["12", "14", "19", "30"]
    question, answer = with_options("How many?", "14", options, seed=1)
    assert with_options("How many?", "14", options, seed=1) == (question, answer)
    assert question.startswith("How many? A) ")
    assert answer in question
    assert answer[1:] == ") 14"
    assert len({with_options("How many?", "14", options, seed=seed)[1] for seed in range(20)}) > 1
