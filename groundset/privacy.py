"""Environment defaults that keep dependencies quiet and off the network.

groundset has no telemetry, but some of its dependencies have. A command, or the first call of a
function from Python, sets these variables before those dependencies are imported; importing
groundset sets none. Variables set by the user are not changed.

A command also sets `HF_HUB_OFFLINE`, which disables every request to the Hugging Face Hub, unless
the Hub is enabled: by `GROUNDSET_HUB=1`, by `push`, and while a model is downloaded. From Python it
is never set, because the rest of the process may need the Hub.

If the environment names a proxy, loopback addresses are added to `NO_PROXY`.
"""

import os
import re
from collections.abc import Mapping

_DEFAULTS = {
    # telemetry of MLflow, the Hugging Face libraries and other tools that honour it
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",  # the Hub client's version check on PyPI
    "ORT_DISABLE_TELEMETRY": "1",  # of onnxruntime's native code
    "RAY_USAGE_STATS_ENABLED": "0",
    "LITELLM_MODE": "PRODUCTION",  # LiteLLM reads no keys or addresses from .env files
    # DSPy and LiteLLM use the bundled price list and download none
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_OF_COMMANDS = {
    "TOKENIZERS_PARALLELISM": "false",  # its threads compete with the language model for cores
    # threads that spin while waiting starve beside another busy process
    "OMP_WAIT_POLICY": "passive",
}
_OFFLINE = "HF_HUB_OFFLINE"
_TRUE = frozenset({"1", "true", "yes", "on"})
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
# As SQLAlchemy parses them: a password may contain a slash, a question mark or an @, and the query
# may contain one too.
_USER = re.compile(r"(?<=://)[^:/\s]*(?::\S*)?@|(?:(?<=[@=])|(?<=:/))[^:/@\s]+:\S*@")
_QUERY = re.compile(r"(://[^\s?]*)\?\S+")
_taken_offline = False


def set_defaults() -> None:
    """Set every variable of a dependency's telemetry that is not set yet, for the rest of the
    process.
    """
    _set_missing(_DEFAULTS)
    bypass_proxies(*LOOPBACK)


def own_process() -> None:
    """Set also what only a process of groundset's own may have, that of a command."""
    global _taken_offline
    set_defaults()
    _set_missing(_OF_COMMANDS)
    if os.environ.get("GROUNDSET_HUB", "").lower() not in _TRUE and _OFFLINE not in os.environ:
        os.environ[_OFFLINE], _taken_offline = "1", True


def _set_missing(defaults: Mapping[str, str]) -> None:
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def took_the_hub_offline() -> bool:
    """Return whether only groundset's own default keeps this process offline."""
    return _taken_offline and os.environ.get("TRANSFORMERS_OFFLINE", "").lower() not in _TRUE


def bypass_proxies(*hosts: str) -> None:
    """Add hosts to ``NO_PROXY`` if the environment names a proxy."""
    if not any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        return  # setting NO_PROXY would hide the system's proxies
    # Libraries differ in the spelling that they read.
    known = [
        host.strip()
        for name in ("no_proxy", "NO_PROXY")
        for host in os.environ.get(name, "").split(",")
    ]
    joined = ",".join(dict.fromkeys(host for host in (*known, *hosts) if host))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = joined


def without_secrets(text: str) -> str:
    """Return a text with users, passwords and queries removed from its URLs."""
    return _QUERY.sub(r"\1", _USER.sub("", text))
