"""The public sets of questions that can be learned from, one file each: whoever has a file of one names it.

``--labels squad:train-v2.0.json`` reads as gold rows what others published. None is shipped or fetched.
"""

from collections.abc import Mapping

from optimizers.public_sets.base import PublicSet
from programs.discover import discover

PUBLIC_SETS: Mapping[str, PublicSet] = discover("optimizers.public_sets", "PUBLIC_SET", PublicSet)

__all__ = ["PUBLIC_SETS", "PublicSet"]
