"""Environment defaults that keep the libraries underneath quiet and off the network.

groundset itself reports nothing to anybody. Some of its dependencies would, unless these variables are set
before they are imported. Whatever the user has set stays as it is.

| variable | what it stops |
|---|---|
| `DO_NOT_TRACK` | usage reports of MLflow, the Hugging Face libraries and whatever else honours it |
| `MLFLOW_DISABLE_TELEMETRY` | usage reports of MLflow |
| `HF_HUB_DISABLE_TELEMETRY` | usage reports of the Hugging Face libraries |
| `HF_HUB_DISABLE_UPDATE_CHECK` | the Hub client asking PyPI whether there is a newer version of it |
| `LITELLM_LOCAL_MODEL_COST_MAP` | DSPy and LiteLLM downloading a price list; the one they carry is used |
| `TOKENIZERS_PARALLELISM` | no report, but threads that fight the language model for the cores |
| `OMP_WAIT_POLICY` | threads that spin while they wait, which starve beside another busy process |
| `HF_HUB_OFFLINE` | every request to the Hugging Face Hub, unless the Hub was asked for |

The Hub is asked for with `GROUNDSET_HUB=1`, or with `--hub` where a command has it.
"""

import os
from collections.abc import MutableMapping

_DEFAULTS = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "passive",
}
_TRUE = frozenset({"1", "true", "yes", "on"})


def set_defaults(*, hub: bool = False, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set every variable that is not set yet; ``hub`` says that the Hugging Face Hub was asked for."""
    for name, value in _DEFAULTS.items():
        environment.setdefault(name, value)
    if not hub and environment.get("GROUNDSET_HUB", "").lower() not in _TRUE:
        environment.setdefault("HF_HUB_OFFLINE", "1")
