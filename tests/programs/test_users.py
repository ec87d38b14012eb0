"""How questions are put: kinds of users, drawn and measured."""

from statistics import median

from groundset.programs.users import USERS, measured

QUERIES = ("boiler pressure low", "why is it cold", "My tap drips. It began on Monday. What now?")


def test_wordings_are_spread_as_a_kind_of_users_asks_and_repeat_themselves():
    for users in USERS.values():
        drawn = [users.drawn(f"question {seed}") for seed in range(400)]
        assert drawn == [users.drawn(f"question {seed}") for seed in range(400)]
        assert abs(median(each.words for each in drawn) - users.words) <= users.words / 10
        assert abs(median(each.shared for each in drawn) - users.shared) <= 0.05
        assert abs(sum(each.bare for each in drawn) / 400 - users.bare) <= 0.06
        assert not any(each.bare and (each.mark or each.several) for each in drawn)
        assert not any(each.several and each.words < 10 for each in drawn)


def test_own_queries_are_measured_and_shown():
    users = measured(QUERIES)
    assert round(users.words) == 4
    assert (users.several, users.mark, users.bare) == (1 / 3, 1 / 3, 2 / 3)
    assert set(users.drawn("1").examples) == set(QUERIES)
    assert str(USERS["staff"].drawn("3")) != str(USERS["forum"].drawn("3"))
