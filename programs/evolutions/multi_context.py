"""Evolution ``multi_context``: needs two chunks."""

from programs.evolutions.base import Evolution

EVOLUTION = Evolution("multi_context", "Needs two chunks.", chunks=2, rank=3)
