"""Measure the preparation of a large corpus with the local executor and with Ray.

    python benchmarks/corpus_scale.py [--chunks 10000 30000 100000] [--engines local ray] [--quick]

Each row is a process of its own, which does all that comes before the first attempt: it reads the documents, cuts them
into chunks, drops near duplicates, analyses, embeds and scores chunks, and opens the index. Parser, embedder and critic
are real; the language model is scripted. The documents are copies of the sample documents with changed names and
numbers.

- minutes, and chunks by second and core: of the whole, over the cores that it may use;
- core minutes: processor time of all processes;
- driver, all: peak memory of the driver, and of all processes with shared pages counted once, sampled each half second;
- digest: of all chunks, analyses, scores and vectors, which must not depend on the executor.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

_INTERVAL = 0.5  # seconds


class TreeMemory(threading.Thread):
    """Sample the memory of a process and of all its descendants until it ends.

    Attributes:
        driver: its peak in bytes.
        all: the peak of all together, in bytes.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.driver = self.all = 0
        self._root = psutil.Process(pid)
        self._times: dict[tuple[int, float], float] = {}

    @property
    def seconds(self) -> float:
        """Return the processor seconds of all processes, each when it was last sampled."""
        return sum(self._times.values())

    def run(self) -> None:
        """Sample until the process has ended."""
        with suppress(psutil.Error):
            while self._root.is_running() and self._root.status() != psutil.STATUS_ZOMBIE:
                self._sample([self._root, *self._root.children(recursive=True)])
                time.sleep(_INTERVAL)

    def _sample(self, processes: list[psutil.Process]) -> None:
        total = 0
        for process in processes:
            with suppress(psutil.Error):
                used = process.memory_full_info().pss
                spent = process.cpu_times()
                self._times[process.pid, process.create_time()] = spent.user + spent.system
                total += used
                if process == self._root:
                    self.driver = max(self.driver, process.memory_info().rss)
        self.all = max(self.all, total)


class QuickEncoder:
    """Embed texts as pseudo-random vectors of the usual size."""

    sha256 = "0" * 64
    dimension = 384

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector for each text."""
        seeds = [zlib.crc32(text.encode()) for text in texts]
        rows = [np.random.default_rng(seed).standard_normal(self.dimension, np.float32) for seed in seeds]
        vectors = np.asarray(rows, dtype=np.float32).reshape(len(texts), self.dimension)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def encode_corpus(self, texts: Sequence[str], *, on_done: object = None) -> npt.NDArray[np.float32]:
        """Return the same."""
        del on_done
        return self.encode(texts)


def prepare(docs: Path, out: Path, engine: str, is_quick: bool) -> None:
    """Prepare a run, and print the seconds of its phases as JSON."""
    from preparation import FirstCall, Phases, StoppingEngine

    from groundset.engine import assembly
    from groundset.engine.config import make_config
    from groundset.engine.generation import run_generation
    from groundset.engine.models import Openers
    from groundset.runtime.lms import LanguageModel

    progress = Phases()
    assembly.MIN_IN_BACKGROUND = sys.maxsize

    def open_stopping(spec: str, *, journal: Any, **_: object) -> LanguageModel:
        stopping = StoppingEngine(lambda: progress.mark("first call"))
        return LanguageModel(stopping, model="scripted/lm", name=spec, sha256="1" * 64, journal=journal)

    config = make_config({"documents": (docs,), "lm": "scripted"})
    with suppress(FirstCall):
        openers = Openers(open_stopping, QuickEncoder if is_quick else None)
        run_generation(config, out, progress=progress, openers=openers, engine=engine)
    print(json.dumps([(phase.split(" (")[0], end - start) for (phase, start), (_, end) in pairwise(progress.marks)]))


def stored(out: Path) -> tuple[int, str]:
    """Return the number of chunks, and a digest of chunks, analyses, scores and vectors."""
    from groundset.store.run_store import RunStore

    digest = hashlib.sha256()
    with RunStore.read(out) as store:
        contexts = store.contexts()
        for context in contexts.values():
            digest.update(context.model_dump_json().encode())
        digest.update(store.vectors().tobytes())
    return len(contexts), digest.hexdigest()[:12]


def measure(docs: Path, engine: str, is_quick: bool) -> dict[str, Any]:
    """Prepare a run in a process of its own and return its figures."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, __file__, "--prepare", str(docs), f"{name}/run", engine]
        started = time.perf_counter()
        with subprocess.Popen(command + ["--quick"] * is_quick, stdout=subprocess.PIPE, text=True) as process:
            memory = TreeMemory(process.pid)
            memory.start()
            output, _ = process.communicate()
        memory.join()
        if process.returncode:
            sys.exit(process.returncode)
        elapsed = time.perf_counter() - started
        chunks, digest = stored(Path(name, "run"))
        size = sum(file.stat().st_size for file in Path(name).rglob("*") if file.is_file())
    return {
        "phases": json.loads(output.splitlines()[-1]),
        "chunks": chunks,
        "digest": digest,
        "elapsed": elapsed,
        "driver": memory.driver,
        "all": memory.all,
        "core_seconds": memory.seconds,
        "disk": size,
    }


def main() -> None:
    """Print a row for each size and executor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    parser.add_argument("--quick", action="store_true", help="embed with random vectors, and score nothing")
    parser.add_argument("--prepare", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        docs, out, engine = options.prepare
        prepare(Path(docs), Path(out), engine, options.quick)
        return
    from preparation import write_documents

    cores = len(os.sched_getaffinity(0))
    print(
        "| chunks | executor | minutes | chunks/s and core | core minutes | driver, MB | all, MB | disk, MB"
        " | seconds of phases | digest |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for size in options.chunks:
        with tempfile.TemporaryDirectory() as name:
            write_documents(Path(name), size)
            for engine in options.engines:
                row = measure(Path(name), engine, options.quick)
                each = row["chunks"] / row["elapsed"] / cores
                phases = ", ".join(f"{phase} {seconds:.0f}" for phase, seconds in row["phases"])
                memory = " | ".join(f"{row[key] / 1e6:,.0f}" for key in ("driver", "all", "disk"))
                print(
                    f"| {row['chunks']:,} | {engine} | {row['elapsed'] / 60:.1f} | {each:.1f} |"
                    f" {row['core_seconds'] / 60:.1f} | {memory} | {phases} | {row['digest']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
