"""A compile is killed (`kill -9`) and repeated: the same report as of one that nobody killed, and
no finished call is paid twice.

`KILLS=10` kills at ten moments instead of three.
"""

import json
import multiprocessing
import os
import socket
import time
from collections import Counter

from json_lines import write
from labelled import KEPT, REFUSED, command, questions
from model_server import serving

from groundset.run.compiled import load_compiled

KILLS = int(os.environ.get("KILLS", "3"))
# Its children are forked from a process that has imported everything.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["labelled", "groundset.compiling", "mlflow", "scipy.stats"])


def judging(body):
    """Refuse vague questions from four demos on."""
    time.sleep(0.004)
    vague = "Who built it" in body["messages"][-1]["content"]
    return REFUSED if vague and len(body["messages"]) > 8 else KEPT.format(answer="Jonas Alder")


class Compiles:
    """Runs the same command in child processes, in one folder after the other."""

    def __init__(self, server, labels):
        self.server, self.labels = server, labels

    def start(self, out, track="--no-track"):
        options = (
            f"compile judge --optimizer random-search --lm {self.server.spec} --rows 8"
            f" --budget-calls 90 --quiet {track} --out {out}"
        )
        process = CHILDREN.Process(target=command, args=(options.split(), self.labels))
        process.start()
        return process

    def finish(self, out):
        """Compile to the end; return what was reported but for times, and what is served."""
        process = self.start(out)
        process.join()
        assert process.exitcode == 0
        record = json.loads((out / "records" / "judge.json").read_text("utf-8"))
        figures = {
            name: value
            for name, value in record["figures"].items()
            if name not in ("replayed", "call_seconds")
        }
        return figures, record["ending"], (out / "judge.json").read_text("utf-8")

    def kill(self, out, is_time, *track):
        process = self.start(out, *track)
        while not is_time():
            assert process.is_alive()
            time.sleep(0.001)
        process.kill()
        process.join()

    def asked(self):
        return Counter(json.dumps(body, sort_keys=True) for body in self.server.bodies)


def test_killed_compiles_go_on_where_they_were(tmp_path):
    labels = write(tmp_path / "labels.jsonl", questions(8))
    with serving(judging) as server:
        compiles = Compiles(server, labels)
        whole = compiles.finish(tmp_path / "whole" / "out")
        requests = compiles.asked()
        assert whole[0]["gain_test"] == 0.5
        assert whole[0]["calls"] == requests.total() == len(requests)
        server.bodies.clear()
        out = tmp_path / "killed" / "out"
        for number in range(KILLS - 1):
            paid = len(requests) * (number + 1) // KILLS
            compiles.kill(out, lambda paid=paid: len(server.bodies) >= paid)
            assert not load_compiled(str(out), "any").states
        with socket.create_server(("127.0.0.1", 0)) as silent:
            # A tracking server that never answers: it is killed after the state was written.
            track = f"--tracking http://127.0.0.1:{silent.getsockname()[1]}"
            compiles.kill(out, (out / "judge.json").exists, track)
        assert compiles.finish(out) == whole
        again = compiles.asked() - requests
        assert compiles.asked().keys() == requests.keys()
        assert again.total() <= KILLS - 1, "more was repeated than was in flight at a kill"
    print(f"{KILLS} kills, {len(requests)} calls, {again.total()} in flight repeated")
