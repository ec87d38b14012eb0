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


def compiling(server, out, labels, track="--no-track"):
    """Start the command in a process of its own, and return that."""
    options = (
        f"compile judge --optimizer random-search --lm {server.spec} --rows 8 --budget-calls 90"
        f" --quiet {track} --out {out}"
    )
    process = CHILDREN.Process(target=command, args=(options.split(), labels))
    process.start()
    return process


def kill(process, is_time):
    while not is_time():
        assert process.is_alive()
        time.sleep(0.001)
    process.kill()
    process.join()


def finish(process, out):
    """Return what was reported but for times, and what is served."""
    process.join()
    assert process.exitcode == 0
    record = json.loads((out / "records" / "judge.json").read_text("utf-8"))
    del record["figures"]["call_seconds"]
    return record["figures"], record["ending"], (out / "judge.json").read_text("utf-8")


def test_killed_compiles_go_on_where_they_were(tmp_path):
    labels = write(tmp_path / "labels.jsonl", questions(8))
    whole, out = tmp_path / "whole", tmp_path / "out"
    with serving(judging) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        report = finish(compiling(server, whole, labels), whole)
        requests = Counter(map(str, server.bodies))
        assert report[0]["gain_test"] == 0.5
        assert report[0]["calls"] == requests.total() == len(requests)
        server.bodies.clear()
        for number in range(1, KILLS):
            paid = len(requests) * number // KILLS
            kill(compiling(server, out, labels), lambda paid=paid: len(server.bodies) >= paid)
            assert not load_compiled(str(out), "any").states
        # A tracking server that never answers: it is killed after the state was written.
        track = f"--tracking http://127.0.0.1:{silent.getsockname()[1]}"
        kill(compiling(server, out, labels, track), (out / "judge.json").exists)
        assert finish(compiling(server, out, labels), out) == report
        asked = Counter(map(str, server.bodies))
    again = (asked - requests).total()
    assert asked.keys() == requests.keys()
    assert again < KILLS, "more was repeated than was in flight at a kill"
    print(f"{KILLS} kills, {len(requests)} calls, {again} in flight repeated")
