"""A whole run whose servers die, lie, hang and answer twice makes the same samples."""

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from drivers import Calls, CommandLine, generate_arguments, model_servers, send


class Faulty(Calls):
    """Does something wrong with every third request, each time something else."""

    def __init__(self) -> None:
        super().__init__(0.02)
        self._rng, self.faults = random.Random(3), list[str]()
        self._guard = threading.Lock()

    def answer(self, handler: Any, answer: bytes) -> None:
        with self._guard:
            fault = self._rng.choice(("dies", "lies", "half", "twice", "hangs", *["none"] * 10))
            self.faults.append(fault)
        if fault == "dies":
            handler.connection.close()
            handler.rfile.close = handler.wfile.close = lambda: None
            return
        if fault == "hangs":
            time.sleep(2.5)
        if fault == "lies":
            answer = b'{"choices": [], "usage": {"prompt_tokens": -1}}'
        if fault == "half":
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(answer)))
            handler.end_headers()
            handler.wfile.write(answer[: len(answer) // 2])
            return
        super().answer(handler, answer)
        if fault == "twice":
            send(handler, answer)


@pytest.mark.fault
def test_servers_with_faults_make_the_same_samples(commands: CommandLine, docs: Path, tmp_path: Path) -> None:
    with model_servers(Calls(0.02)) as servers:
        driver = commands.start(*generate_arguments(docs, tmp_path / "whole", servers, size=6))
        assert driver.ended() == 0, driver.text()
    faulty = Faulty()
    with model_servers(faulty, 3) as servers:
        arguments = generate_arguments(docs, tmp_path / "run", servers, size=6, timeout=2, retries=9)
        for _ in range(9):
            driver = commands.start(*arguments)
            if (status := driver.ended()) != 1:  # all servers were left out at once
                break
        assert status == 0, driver.text()
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert set(faulty.faults) == {"none", "dies", "lies", "half", "twice", "hangs"}
