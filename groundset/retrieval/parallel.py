"""Batches of a model on all cores, each worker with one thread.

Threads that share a batch spin while they wait.
"""

import copy
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from groundset.processors import usable_processors


class Replicas:
    """A model and copies that share its weights, because fast tokenizers are not thread-safe."""

    def __init__(self, model: Any) -> None:
        """Start with the model alone."""
        self._models = [model]

    def run(
        self, work: Callable[[Any, list[int]], None], batches: Sequence[list[int]], workers: int | None = None
    ) -> None:
        """Call ``work`` with a model and each batch; the first error stops all.

        ``workers`` is the number of concurrent batches, by default that of the cores.
        """
        first = self._models[0]
        requested = 1 if first.device.type != "cpu" else (workers or usable_processors())
        count = max(1, min(requested, len(batches)))
        shared = {id(tensor): tensor for tensor in (*first.parameters(), *first.buffers())}
        self._models += [copy.deepcopy(first, dict(shared)) for _ in range(count - len(self._models))]
        _run_parallel(work, batches, self._models[:count])


def _run_parallel(work: Callable[[Any, list[int]], None], batches: Sequence[list[int]], models: Sequence[Any]) -> None:
    import torch

    idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for model in models:
        idle.put(model)

    def run(batch: list[int]) -> None:
        model = idle.get()
        try:
            work(model, batch)
        finally:
            idle.put(model)

    with torch_threads(1), ThreadPoolExecutor(len(models), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for _ in pool.map(run, batches):
            pass


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Use this many threads of torch in the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
