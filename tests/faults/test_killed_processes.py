"""The processes that a driver starts are killed while documents are read and chunks are analysed: the same run."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from drivers import PHASES, Calls, CommandLine, generate_arguments, model_servers, wait_until, write_documents

PLACES = 270  # more chunks than are read in the process of the driver


@pytest.mark.fault
@pytest.mark.timeout(1800)
def test_killed_processes_change_no_samples(commands: CommandLine, tmp_path: Path) -> None:
    rng, docs, calls = random.Random(5), write_documents(tmp_path / "docs", PLACES), Calls(0.01)
    with model_servers(calls) as servers:
        whole = commands.start(*generate_arguments(docs, tmp_path / "whole", servers, size=4))
        assert whole.ended() == 0, whole.text()
        driver = commands.start(*generate_arguments(docs, tmp_path / "run", servers, size=4))
        killed = dict.fromkeys(PHASES, 0)
        for phase in killed:
            assert wait_until(lambda phase=phase: phase in driver.text() or driver.has_ended())
            # Many chunks are also prepared beside the attempts.
            while (driver.phase() == phase or phase == PHASES[-1]) and killed[phase] < 2 and not driver.has_ended():
                if children := commands.strays():
                    os.kill(rng.choice(children), signal.SIGKILL)
                    killed[phase] += 1
                    # An item whose process is killed twice is an error that names it.
                    wait_until(lambda phase=phase: driver.phase() != phase, 6.0)
                time.sleep(rng.random() * 0.2)
        assert driver.ended() == 0, driver.text()
    print(f"\nprocesses killed: {killed}")
    assert killed["Preparing chunks"]
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
