"""How many processors this process may use."""

import os


def usable_processors() -> int:
    """Return how many there are; where the system lets a process have some of them, how many of these."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
