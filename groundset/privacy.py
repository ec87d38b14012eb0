"""Environment defaults that keep the libraries underneath quiet and off the network.

groundset itself reports nothing to anybody. Some of its dependencies would, unless these variables are set
before they are imported; importing groundset sets them. Whatever the user has set stays as it is.

| variable | what it stops |
|---|---|
| `DO_NOT_TRACK` | usage reports of MLflow, the Hugging Face libraries and whatever else honours it |
| `MLFLOW_DISABLE_TELEMETRY` | usage reports of MLflow |
| `HF_HUB_DISABLE_TELEMETRY` | usage reports of the Hugging Face libraries |
| `HF_HUB_DISABLE_UPDATE_CHECK` | the Hub client asking PyPI whether there is a newer version of it |
| `ORT_DISABLE_TELEMETRY` | usage reports of onnxruntime, which native code sends whether or not it is used |
| `LITELLM_LOCAL_MODEL_COST_MAP` | DSPy and LiteLLM downloading a price list; the one they carry is used |
| `TOKENIZERS_PARALLELISM` | no report, but threads that fight the language model for the cores |
| `OMP_WAIT_POLICY` | threads that spin while they wait, which starve beside another busy process |
| `HF_HUB_OFFLINE` | every request to the Hugging Face Hub, unless the Hub was asked for |

The Hub is asked for with `GROUNDSET_HUB=1`, with `--hub` where a command has it, by `push`, or by a model that is
named `hf/…`, for the time that it is fetched.

Where the environment names a proxy, loopback addresses are added to `NO_PROXY`: what goes to this machine stays on it.
"""

import os
import re
from collections.abc import MutableMapping

_DEFAULTS = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_WAIT_POLICY": "passive",
}
_OFFLINE = "HF_HUB_OFFLINE"
_TRUE = frozenset({"1", "true", "yes", "on"})
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
# As SQLAlchemy reads them: a password may hold a slash, a question mark or an @, and the query may hold another one.
_USER = re.compile(r"(?<=://)[^:/\s]*(?::\S*)?@")
_QUERY = re.compile(r"(://[^\s?]*)\?\S+")
_taken_offline = False


def set_defaults(*, hub: bool = False, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set every variable that is not set yet; ``hub`` says that the Hugging Face Hub was asked for."""
    global _taken_offline
    for name, value in _DEFAULTS.items():
        environment.setdefault(name, value)
    bypass_proxies(*_LOOPBACK, environment=environment)
    if hub or environment.get("GROUNDSET_HUB", "").lower() in _TRUE:
        if _taken_offline and environment is os.environ:
            environment.pop(_OFFLINE, None)  # set here before anybody could ask for the Hub
    elif _OFFLINE not in environment:
        environment[_OFFLINE] = "1"
        _taken_offline = _taken_offline or environment is os.environ


def took_the_hub_offline() -> bool:
    """Return whether nobody but groundset keeps this process from the Hub."""
    return _taken_offline and os.environ.get("TRANSFORMERS_OFFLINE", "").lower() not in _TRUE


def bypass_proxies(*hosts: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Let requests to hosts go to them and not to a proxy that the environment names."""
    lowered = {name.lower(): value for name, value in environment.items() if name.lower() in (*_PROXIES, "no_proxy")}
    if not any(lowered.get(name) for name in _PROXIES):
        return  # a variable more would hide the proxies that the system has
    # Some libraries read the one spelling and some the other.
    known = [host.strip() for name in ("no_proxy", "NO_PROXY") for host in environment.get(name, "").split(",")]
    joined = ",".join(dict.fromkeys(host for host in (*known, *hosts) if host))
    environment["no_proxy"] = environment["NO_PROXY"] = joined


def without_secrets(text: str) -> str:
    """Return a text whose addresses do not tell users, passwords and queries."""
    return _QUERY.sub(r"\1", _USER.sub("", text))
