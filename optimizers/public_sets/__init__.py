"""The public sets of questions that can be learned from, one file each: whoever has a file of one names it.

``--labels squad:train-v2.0.json`` reads as gold rows what others published. None is shipped or fetched.
"""

from collections.abc import Mapping

from optimizers.public_sets import squad
from optimizers.public_sets.base import PublicSet

_MODULES = (squad,)

PUBLIC_SETS: Mapping[str, PublicSet] = {module.PUBLIC_SET.name: module.PUBLIC_SET for module in _MODULES}

__all__ = ["PUBLIC_SETS", "PublicSet"]
