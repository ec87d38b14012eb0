"""Language models and embedders: the catalogue, verified downloads and the ways to name a model."""

from groundset.models.catalogue import CATALOGUE, ModelEntry, get_entry
from groundset.models.hub_names import HubSpec
from groundset.models.progress import ConsoleProgress, PullProgress, SilentProgress
from groundset.models.pull import pull
from groundset.models.specs import (
    HostedSpec,
    LocalSpec,
    ModelSpec,
    OpenAISpec,
    ensure_available,
    parse_spec,
)

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
