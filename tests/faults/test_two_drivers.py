"""Two drivers on one folder: the second is refused, the first goes on; a killed one hinders nobody."""

import json
from pathlib import Path

import pytest
from drivers import Calls, CommandLine, generate_arguments, model_servers, wait_until


@pytest.mark.fault
def test_second_driver_is_refused_and_a_killed_one_hinders_nobody(
    commands: CommandLine, docs: Path, tmp_path: Path
) -> None:
    calls, out = Calls(), tmp_path / "run"
    with model_servers(calls) as servers:
        arguments = generate_arguments(docs, out, servers, size=6)
        killed = commands.start(*arguments)
        assert wait_until(lambda: len(calls.received) > 3)
        killed.kill()
        assert killed.ended() < 0
        first = commands.start(*arguments)
        before = len(calls.received)
        assert wait_until(lambda: len(calls.received) > before)
        calls.seconds = 5.0  # the first shall still be at work
        second = commands.start(*arguments)
        assert second.ended() == 1
        assert second.errors() == [
            f"groundset: error: another process is working on {out}; wait for it or choose another --out"
        ]
        assert not first.has_ended()
        calls.seconds = 0.02
        assert first.ended() == 0, first.text()
    assert json.loads((out / "run.json").read_text())["status"] == "complete"
    assert calls.repeated() <= 3  # those in flight when the first was killed
