"""How many processors this process may use, and how much memory there is."""

import os


def usable_processors() -> int:
    """Return how many there are; where the system lets a process have some of them, how many of these."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_bytes() -> int:
    """Return the memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
