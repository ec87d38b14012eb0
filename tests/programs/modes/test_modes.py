"""The table of asking modes."""

import pytest

from programs.critics.registry import CRITICS
from programs.evolutions import EVOLUTIONS
from programs.modes import MODES
from programs.steps import STEPS


@pytest.mark.parametrize("name", MODES)
def test_mode_refers_to_known_steps_evolutions_and_critics(name: str) -> None:
    mode = MODES[name]
    assert mode.name == name
    assert set(mode.steps) <= set(STEPS)
    assert set(mode.mix) <= set(mode.evolutions) <= set(EVOLUTIONS)
    assert mode.critic in CRITICS
    assert all(weight > 0 for weight in mode.kinds.values())


def test_modes_by_syntax_support_evolutions_by_syntax() -> None:
    assert set(MODES["free"].evolutions) == set(EVOLUTIONS)
    for mode in ("guided", "sentence"):
        rows = [EVOLUTIONS[name] for name in MODES[mode].evolutions]
        assert all(row.by_syntax or row.rewords for row in rows)


def test_free_evolutions_have_a_change() -> None:
    for name, row in EVOLUTIONS.items():
        is_asked = name not in ("simple", "multi_context") and not row.rewords and row.own_checks is None
        assert bool(row.change) == is_asked
