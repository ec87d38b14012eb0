"""How questions are put: kinds of users, drawn and measured."""

from statistics import median

import pytest

from groundset.programs.users import USERS, measured

QUERIES = ("boiler pressure low", "Why is it cold?", "My tap drips. It began on Monday. What now?")
ASKED = [f"When does valve {number} open?" for number in range(400)]


@pytest.mark.parametrize(("kind", "words"), [("staff", 9), ("consumers", 21), ("forum", 46)])
def test_wordings_are_spread_as_a_kind_of_users_asks_and_repeat_themselves(kind, words):
    users = USERS[kind]
    drawn = [users.drawn(question) for question in ASKED]
    assert drawn == [users.drawn(question) for question in ASKED]
    assert abs(median(each.words for each in drawn) - words) <= words / 8
    assert abs(median(each.shared for each in drawn) - users.shared) <= 0.1
    plain = users.manners[0]
    count = sum(each.manner == plain.text for each in drawn)
    assert abs(count / len(ASKED) - plain.share) <= 0.06
    assert all(each.shared >= 0.5 for each in drawn if each.words < 8), "no riddles"
    assert not any(each.words < 12 and "sentences" in each.manner for each in drawn)
    conditions = " ".join(["and if it rains"] * 9)
    assert min(users.drawn(f"{asked} {conditions}").words for asked in ASKED) >= 12


def test_own_queries_are_measured_and_shown():
    users = measured(QUERIES)
    drawn = [users.drawn(question) for question in ASKED]
    assert {each.manner for each in drawn} == {
        "no question mark, no punctuation, in small letters",
        "a sentence that asks",
        "in several sentences",
    }
    lengths = [each.words for each in drawn if each.manner == "in several sentences"]
    assert median(lengths) == 9
    assert set(drawn[0].examples) == set(QUERIES)
