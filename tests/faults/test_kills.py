"""The driver is killed at random moments and continued: the same samples, nothing paid twice, nothing left behind."""

import getpass
import json
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drivers import PHASES, SHARED_MEMORY, Calls, CommandLine, Driver, generate_arguments, model_servers, wait_until

KEPT = {f"torchinductor_{getpass.getuser()}"}  # PyTorch's own cache, which processes share and keep
FILES = {"run.json", "run.sqlite", "samples.jsonl", "rejects.jsonl", ".lock"}
WORKERS, SMALL = 3, 6
MOMENTS = ("starting", *PHASES, "attempts", "attempts", "ending")


@dataclass
class Undisturbed:
    """A run that nothing disturbed.

    Attributes:
        size: the number of its samples.
        samples, rejects: its files.
        calls: how many calls it took.
        began: the seconds from its start to each phase, and to its end.
    """

    size: int
    samples: bytes
    rejects: bytes
    calls: int
    began: dict[str, float]


@dataclass
class Kills:
    """Counts of kills.

    Attributes:
        phases: kills by phase.
        open: calls without an answer at the kills.
        most: the most calls that may have been running at the kills.
    """

    phases: Counter[str] = field(default_factory=Counter)
    open: int = 0
    most: int = 0


class Room:
    """A run's folder, the servers and the driver that is killed and continued."""

    def __init__(self, commands: CommandLine, docs: Path, folder: Path, calls: Calls, servers: list) -> None:
        self.commands, self.docs, self.folder, self.calls, self.servers = commands, docs, folder, calls, servers

    def start(self, out: Path, size: int, preloaded: bool = True) -> Driver:
        arguments = generate_arguments(self.docs, out, self.servers, workers=WORKERS, size=size)
        return self.commands.start(*arguments, preloaded=preloaded)

    def undisturbed(self, size: int) -> Undisturbed:
        out, began, started = self.folder / f"whole{size}", dict[str, float](), time.monotonic()
        self.calls.received.clear()
        driver = self.start(out, size)
        while not driver.has_ended():
            began.setdefault(driver.phase(), time.monotonic() - started)
            time.sleep(0.005)
        assert "Kept " in driver.text(), driver.text()
        began["end"] = time.monotonic() - started
        samples, rejects = ((out / name).read_bytes() for name in ("samples.jsonl", "rejects.jsonl"))
        return Undisturbed(size, samples, rejects, len(self.calls.received), began)

    def kill(self, driver: Driver, moment: str, rng: random.Random, whole: Undisturbed, kills: Kills) -> bool:
        """Kill a driver at a moment; return False if it ended before."""
        before = len(self.calls.received)
        names = [*whole.began]
        if moment == "attempts":
            target = before + rng.randint(1, 6)
            wait_until(lambda: len(self.calls.received) >= target or driver.has_ended())
            length = 0.1
        else:
            reached = names.index(moment)
            wait_until(lambda: names.index(driver.phase()) >= reached or driver.has_ended())
            length = whole.began[names[reached + 1]] - whole.began[moment]
        time.sleep(rng.random() * length)
        driver.kill()
        unanswered = self.calls.open.total()
        if driver.ended() != -signal.SIGKILL:
            return False
        kills.phases[driver.phase()] += 1
        kills.open += unanswered
        kills.most += min(WORKERS, len(self.calls.received) - before)
        assert unanswered <= WORKERS
        return True

    def check(self, out: Path, driver: Driver, whole: Undisturbed, allowed: int) -> int:
        """Check a run that was continued to its end; return how many requests were sent again."""
        assert driver.ended() == 0, driver.text()
        assert (out / "samples.jsonl").read_bytes() == whole.samples
        assert (out / "rejects.jsonl").read_bytes() == whole.rejects
        record = json.loads((out / "run.json").read_text())
        assert (record["status"], record["asked"]) == ("complete", whole.size)
        assert {path.name for path in out.iterdir()} == FILES
        assert self.calls.repeated() <= allowed
        assert wait_until(lambda: not self.commands.strays(), 30), self.commands.strays()
        assert {path.name for path in self.commands.temporary.iterdir()} <= KEPT
        return self.calls.repeated()


@pytest.fixture(scope="module")
def room(commands: CommandLine, docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    calls = Calls()
    before = set(SHARED_MEMORY.iterdir())
    with model_servers(calls) as servers:
        yield Room(commands, docs, tmp_path_factory.mktemp("room"), calls, servers)
    left = {path.name for path in set(SHARED_MEMORY.iterdir()) - before}
    assert not {name for name in left if name.startswith(("joblib", "loky", "sem.", "psm_")) and not is_of_others(name)}


def is_of_others(name: str) -> bool:
    """Return whether a name in shared memory holds the id of a running process; none of ours runs any more."""
    return any(Path("/proc", number).exists() for number in re.findall(r"-(\d+)-", name))


@pytest.mark.fault
@pytest.mark.timeout(7200)
def test_one_run_is_killed_again_and_again(room: Room, kills: int) -> None:
    whole = room.undisturbed(SMALL + kills // 7)
    rng, out, counts = random.Random(28), room.folder / "chain", Kills()
    moments = [moment for moment in MOMENTS[:3] for _ in range(max(1, kills // 12))]
    room.calls.received.clear()
    driver = room.start(out, whole.size)
    while counts.phases.total() < kills // 2:
        moment = moments.pop(0) if moments else "attempts"
        if not room.kill(driver, moment, rng, whole, counts):
            break
        driver = room.start(out, whole.size)
    repeated = room.check(out, driver, whole, counts.most)
    tell("one run", whole, counts, len(room.calls.received), repeated)


@pytest.mark.fault
@pytest.mark.timeout(7200)
def test_many_runs_are_killed_once(room: Room, kills: int) -> None:
    whole = room.undisturbed(SMALL)
    rng, counts, received, repeated = random.Random(kills), Kills(), 0, 0
    for number in range(kills - kills // 2):
        out = room.folder / f"run{number}"
        room.calls.received.clear()
        most = counts.most
        # Every tenth is started as anybody would start it.
        driver = room.start(out, SMALL, preloaded=number % 10 != 9)
        if room.kill(driver, MOMENTS[number % len(MOMENTS)], rng, whole, counts):
            driver = room.start(out, SMALL)
        repeated += room.check(out, driver, whole, counts.most - most)
        received += len(room.calls.received)
        shutil.rmtree(out)
    tell(f"{kills - kills // 2} runs", whole, counts, received, repeated)


def tell(name: str, whole: Undisturbed, kills: Kills, received: int, repeated: int) -> None:
    phases = ", ".join(f"{phase.lower()} {count}" for phase, count in sorted(kills.phases.items()))
    print(
        f"\n{name}: {kills.phases.total()} kills ({phases}); {received} requests (undisturbed {whole.calls} a run), "
        f"{repeated} of them again; {kills.open} were not answered at the kills",
        flush=True,
    )  # fmt: skip
