"""Executors: where the work on a corpus runs, on processes of this machine or on Ray; one module each.

A module with a row ``EXECUTOR`` is an executor. All give the same results in the same order.
"""

from contextlib import AbstractContextManager

from groundset.executors.base import Executor, ExecutorKind, Operator
from groundset.executors.local import LOCAL
from programs.discover import discover
from programs.errors import InputError

__all__ = ["LOCAL", "Executor", "Operator", "open_executor"]


def open_executor(spec: str) -> AbstractContextManager[Executor]:
    """Return an executor as a context manager, named `local`, `ray` or `ray=ADDRESS` as in `--engine`.

    Raises:
        InputError: there is no such executor, its package is missing, or the address is wrong.
    """
    kinds = discover(__name__, "EXECUTOR", ExecutorKind)
    name, equals, address = spec.partition("=")
    kind = kinds.get(name)
    if kind is None:
        raise InputError(f"--engine {spec}: choose one of {', '.join(kinds)}")
    if equals and not (address and kind.takes_address):
        hint = "name the address, such as ray=HOST:6379" if kind.takes_address else "it takes no address"
        raise InputError(f"--engine {spec}: {hint}")
    return kind.open(address or None)
