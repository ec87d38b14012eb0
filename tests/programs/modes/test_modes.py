"""The table of asking modes."""

import pytest

from programs.critics.registry import CRITICS
from programs.evolutions import EVOLUTIONS
from programs.modes import MODES
from programs.steps import STEPS


@pytest.mark.parametrize("name", MODES)
def test_a_mode_names_steps_evolutions_and_a_critic_that_there_are(name: str) -> None:
    mode = MODES[name]
    assert mode.name == name
    assert set(mode.steps) <= set(STEPS)
    assert set(mode.mix) <= set(mode.evolutions) <= set(EVOLUTIONS)
    assert mode.critic in CRITICS
    assert all(weight > 0 for weight in mode.kinds.values())


def test_only_a_mode_that_writes_freely_carries_what_syntax_gives_no_words_for() -> None:
    assert set(MODES["free"].evolutions) == set(EVOLUTIONS)
    for name in ("guided", "sentence"):
        assert all(EVOLUTIONS[each].by_syntax for each in MODES[name].evolutions)


def test_an_evolution_that_a_model_writes_says_what_to_change() -> None:
    for name, row in EVOLUTIONS.items():
        assert bool(row.change) == (name not in ("simple", "multi_context"))
