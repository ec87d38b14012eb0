"""The processors and memory of this machine."""

import os

_is_one_of_many = False


def usable_processors() -> int:
    """Return how many processors this process may use."""
    if _is_one_of_many:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_one_processor() -> None:
    """Use one processor from now on, because other processes share the work."""
    global _is_one_of_many
    _is_one_of_many = True


def machine_bytes() -> int:
    """Return the size of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
