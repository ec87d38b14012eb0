"""Retrievers: ways to rank chunks for the questions of a run, one file each."""

from collections.abc import Mapping

from groundset.retrieval_eval.retrievers.base import RetrieverKind
from programs.discover import discover

RETRIEVERS: Mapping[str, RetrieverKind] = discover("groundset.retrieval_eval.retrievers", "RETRIEVER", RetrieverKind)
