"""A run is killed at random moments and continued: nothing is paid twice, nothing is lost, and it
ends the same.

`KILLS=100 make test-faults` kills more often than twenty times; most of the time is spent on
starting.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from model_server import serving
from scripted import step_of

from groundset.run.folder import DATABASE
from groundset.run.run import open_run

sys.path.append(str(Path(__file__).parent / "groundset" / "run"))

from scripted_run import ANSWERS, PLACES, write_chunks

SIZE = 14
ROOT = Path(__file__).parents[1]


def answer(body):
    """Answer as the script says, slowly enough that a process can be killed meanwhile."""
    first, last = (body["messages"][place]["content"] for place in (0, -1))
    found = ANSWERS.get(step_of(first), "Hello")
    time.sleep(0.03)
    return found if isinstance(found, str) else found(last)


class Runs:
    """Starts and kills runs on one server: with questions about chunks, or with questions of the
    user's own.
    """

    def __init__(self, server, folder, *, given):
        self.server, self.folder = server, folder
        chunks, questions = write_chunks(folder / "mills.jsonl"), folder / "questions.txt"
        questions.write_text(
            "".join(f"When was the mill of {place} built?\n" for place in PLACES[:SIZE])
        )
        about = f"--questions {questions}" if given else f"--chunk-critic lm --size {SIZE}"
        self.options = f"--chunks {chunks} --lm {server.spec} --workers 1 --no-track {about}"

    def start(self, out):
        """Begin a run, or go on with it; the command is always the same."""
        command = f"-m groundset generate {self.options} --out {out}"
        return subprocess.Popen(
            [sys.executable, *command.split()],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def asked(self):
        """Return the requests that came, in order."""
        return [json.dumps(body, sort_keys=True) for body in self.server.bodies]

    def finish(self, out):
        """Make a run, or go on with it, to its end; return its files."""
        process = self.start(out)
        said = process.communicate()[0]
        assert process.returncode == 0, said
        return {name: (out / name).read_bytes() for name in ("samples.jsonl", "rejects.jsonl")}

    def kill(self, process, rng, seconds):
        """Kill a process while it starts or works; return False if it ended before."""
        if rng.random() < 0.3:
            time.sleep(rng.random() * seconds)
        else:
            target = len(self.server.bodies) + rng.randint(1, 5)
            while len(self.server.bodies) < target and process.poll() is None:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.08)
        process.kill()
        process.communicate()
        time.sleep(0.1)  # the server may still be reading a request
        return process.returncode == -signal.SIGKILL


def samples(out):
    return (
        {sample.model_dump_json() for sample in open_run(out).samples}
        if (out / DATABASE).exists()
        else set()
    )


@pytest.mark.fault
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("given", [False, True])
def test_killed_runs_go_on_where_they_were(tmp_path, given):
    with serving(answer) as server:
        check_kills(Runs(server, tmp_path, given=given))


def check_kills(runs):
    kills, began = int(os.environ.get("KILLS", "20")), time.monotonic()
    files = runs.finish(runs.folder / "whole")
    seconds, requests = time.monotonic() - began, Counter(runs.asked())
    rng, killed, finished, received, repeated = random.Random(28), 0, 0, 0, 0
    while killed < kills:
        out = runs.folder / f"run{finished}"
        in_flight = Counter()
        kept = set()
        runs.server.bodies.clear()
        while killed < kills:
            before = len(runs.server.bodies)
            if not runs.kill(runs.start(out), rng, seconds):
                break
            killed += 1
            in_flight.update(runs.asked()[before:][-1:])
            now = samples(out)
            assert kept <= now, "an accepted sample is gone"
            kept = now
        assert runs.finish(out) == files
        assert kept <= samples(out)
        again = Counter(runs.asked()) - requests
        assert Counter(runs.asked()).keys() == requests.keys(), (
            "other requests than those of a run that nobody killed"
        )
        assert again <= in_flight, "a request was repeated that was not in flight at a kill"
        finished, received, repeated = (
            finished + 1,
            received + len(runs.asked()),
            repeated + again.total(),
        )
    print(
        f"\n{killed} kills in {finished} runs: {received} requests ({requests.total()} in a run"
        f" that nobody killed), {repeated} of them repeated; {time.monotonic() - began:.0f} s, of"
        f" which a whole run takes {seconds:.0f} s"
    )
