"""Existing vector stores whose search is compared, one file for each kind."""

from collections.abc import Mapping

from groundset.retrieval_eval.existing.base import ExistingStore
from programs.discover import discover

EXISTING_STORES: Mapping[str, ExistingStore] = discover(
    "groundset.retrieval_eval.existing", "EXISTING_STORE", ExistingStore
)
