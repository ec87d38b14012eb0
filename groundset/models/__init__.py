"""Language models and embedders: the catalogue, verified downloads and model specifications."""

from groundset.models.catalogue import CATALOGUE, ModelEntry, get_entry
from groundset.models.download import ConsoleProgress, PullProgress, SilentProgress
from groundset.models.hub import HubSpec
from groundset.models.pull import ensure_available, pull
from groundset.models.specs import HostedSpec, LocalSpec, ModelSpec, OpenAISpec, parse_spec

__all__ = [
    "CATALOGUE",
    "ConsoleProgress",
    "HostedSpec",
    "HubSpec",
    "LocalSpec",
    "ModelEntry",
    "ModelSpec",
    "OpenAISpec",
    "PullProgress",
    "SilentProgress",
    "ensure_available",
    "get_entry",
    "parse_spec",
    "pull",
]
