"""Readers of public question sets, one file each.

``--labels squad:train-v2.0.json`` reads the user's copy of a public set as gold rows. None is shipped or downloaded.
"""

from collections.abc import Mapping

from optimizers.public_sets.base import PublicSet
from programs.discover import discover

PUBLIC_SETS: Mapping[str, PublicSet] = discover("optimizers.public_sets", "PUBLIC_SET", PublicSet)

__all__ = ["PUBLIC_SETS", "PublicSet"]
