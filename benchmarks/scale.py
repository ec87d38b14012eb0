"""Measure how well a run keeps many workers busy, and what its driver costs, with a server on this machine.

    python benchmarks/scale.py [--workers 1 8 64] [--samples 600] [--latency 0.2]

Server processes wait for the latency and answer every prompt of mode ``free`` with rules, well enough for samples to be
accepted. The embedder is scripted; HTTP, DSPy, recipe, adapter, journal and SQLite store are real. The figures of
``all`` are of the whole run; those of ``wide`` end when the window is less than twice the workers, because the last
samples of any run leave workers idle:

- in flight: calls in flight over workers, by the seconds that calls took;
- served: the same without what the driver and the server took beyond the latency;
- core: processor seconds of the driver by second;
- ms a call: processor time of the driver by call.
"""

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from overhead import InstantEncoder

from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.engine.planner import window_of
from groundset.progress import Progress

_THINGS = ("mill", "bridge", "ferry", "school", "chapel", "market")
_FACT = re.compile(r"The (\w+) of (\w+) was built in (\d+)\.")


def completion(system: str, shown: str) -> str:
    """Return what the scripted model writes for a system text and the last turn of the user."""
    facts = _FACT.findall(shown)
    if system.startswith("Write questions"):
        return "\n\n".join(f"Kind: fact\n{_question('', fact)}" for fact in facts[:2])
    if system.startswith("Change the question"):
        old = shown.rsplit("\nQuestion: ", 1)[1].split("\n", 1)[0]
        fact = next(fact for fact in facts if f"the {fact[0]} of" not in old)
        return _question("New ", fact)
    if system.startswith("Answer the question"):
        thing, place = re.findall(r"the (\w+) of (\w+)", shown.rsplit("\nQuestion: ", 1)[1])[0]
        return next((year for *named, year in facts if named == [thing, place]), "not stated")
    criteria = re.findall(r"^([A-Z][a-z ]+): <reason[^>]*> - <([^>]+)>", system, re.MULTILINE)
    return "\n".join(
        f"{name}: it is so - {'no' if name == 'Same' else scale.split(' or ')[-1].replace('no', 'yes')}, 95"
        for name, scale in criteria
    )


def _question(label: str, fact: Sequence[str]) -> str:
    thing, place, year = fact
    how = (
        f"Since when has the {thing} of {place} stood?" if label else f"In what year was the {thing} of {place} built?"
    )
    names = ("New question", "New answer") if label else ("Question", "Answer")
    return f"{names[0]}: {how}\n{names[1]}: {year}\nEvidence: The {thing} of {place} was built in {year}."


def serve(latency: float, port: Connection) -> None:
    """Answer requests until the process is ended; the port is sent to the parent."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                answer: dict[str, Any] = {"object": "list", "data": [{"id": "m", "object": "model"}]}
                if head.startswith("POST"):
                    await asyncio.sleep(latency)
                    answer = _answer(json.loads(body))
                text = json.dumps(answer).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ")
                writer.write(str(len(text)).encode() + b"\r\n\r\n" + text)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    messages = request["messages"]
    system = messages[0]["content"] if len(messages) > 1 else ""
    message = {"role": "assistant", "content": completion(system, messages[-1]["content"])}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 700, "completion_tokens": 60, "total_tokens": 760}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def write_documents(folder: Path, count: int) -> None:
    """Write a document on each of so many places, with a sentence on each thing there."""
    for number in range(count):
        place = hashlib.sha256(str(number).encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
        place = place[:9].title()
        facts = " ".join(f"The {thing} of {place} was built in {1500 + number % 400}." for thing in _THINGS)
        (folder / f"{number:05}.md").write_text(f"# {place}\n\n{facts} Visitors of {place} come by road.\n", "utf-8")


class Mark(NamedTuple):
    """The state of a run at some moment."""

    wall: float
    cpu: float
    calls: float
    seconds: float

    def until(self, other: "Mark", workers: int, latency: float) -> str:
        """Return the figures of the time between two moments."""
        wall, cpu, calls, seconds = (after - before for before, after in zip(self, other, strict=True))
        total = wall * workers
        return (
            f"{calls / wall:6.1f} calls/s, in flight {seconds / total:5.1%}, served {calls * latency / total:5.1%}, "
            f"core {cpu / wall:.2f}, {1000 * cpu / calls:.2f} ms a call"
        )


class Gauge(Progress):
    """Marks the start of the attempts, and when the window becomes less than twice the workers."""

    def __init__(self, size: int, workers: int) -> None:
        super().__init__(quiet=True)
        self._missing, self._workers = size, workers
        self.marks: list[Mark] = []
        self.wide: Mark | None = None

    def start(self, **state: Any) -> None:
        """Mark the start."""
        super().start(**state)
        self.mark()

    def decided(self, settlement: Any) -> None:
        """Count the missing samples."""
        super().decided(settlement)
        self._missing -= settlement.sample is not None
        if self.wide is None and window_of(self._missing) < 2 * self._workers:
            self.wide = self.mark()

    def mark(self) -> Mark:
        """Add a mark of this moment."""
        usage = self._usage()
        self.marks.append(Mark(time.perf_counter(), time.process_time(), usage["calls"], usage["seconds"]))
        return self.marks[-1]


def measure(docs: Path, out: Path, address: str, workers: int, arguments: argparse.Namespace) -> str:
    """Make a run and print its figures; return the digest of its samples."""
    config = make_config(
        {
            "documents": (docs,), "lm": f"openai/m@{address}", "size": arguments.samples, "workers": workers,
            "mode": "free", "mix": "simple=0.7,reasoning=0.3", "parser": "none", "min_length": 0, "max_rank": 0,
        }
    )  # fmt: skip
    gauge = Gauge(arguments.samples, workers)
    result = run_generation(config, out, progress=gauge, openers=Openers(None, InstantEncoder))
    first, last = gauge.marks[0], gauge.mark()
    print(f"{workers:>4} workers: {result.summary[0]}")
    print(f"     all: {first.until(last, workers, arguments.latency)}")
    if gauge.wide is not None and gauge.wide.calls > first.calls:
        print(f"    wide: {first.until(gauge.wide, workers, arguments.latency)}", flush=True)
    digest = hashlib.sha256(result.files.samples.read_bytes() + result.files.rejects.read_bytes()).hexdigest()
    print(f"          samples and rejects {digest[:16]}", flush=True)
    return digest


def main() -> None:
    """Measure a run with each number of workers, and compare their samples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--latency", type=float, default=0.2)
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(arguments.latency, theirs), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{ours.recv()}/v1"
    with tempfile.TemporaryDirectory() as name:
        docs = Path(name, "docs")
        docs.mkdir()
        write_documents(docs, arguments.samples)
        digests = set()
        for workers in arguments.workers:
            digests.add(measure(docs, Path(name, f"{workers}"), address, workers, arguments))
    server.terminate()
    print("samples and rejects are the same" if len(digests) == 1 else "SAMPLES OR REJECTS DIFFER")


if __name__ == "__main__":
    main()
