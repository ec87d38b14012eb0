"""Default environment variables."""

import json
import os
import subprocess
import sys

import pytest

from groundset import privacy

HEAVY = ("dspy", "torch", "httpx", "pydantic", "typer", "mlflow", "numpy", "litellm", "huggingface_hub")


def test_user_settings_are_kept():
    environment = {"DO_NOT_TRACK": "0", "HF_HUB_OFFLINE": "0"}
    privacy.set_defaults(environment=environment)
    assert environment["DO_NOT_TRACK"] == "0"
    assert environment["HF_HUB_OFFLINE"] == "0"
    assert environment["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_hub_is_offline_unless_requested():
    for hub, given, expected in (
        (False, {}, True),
        (False, {"GROUNDSET_HUB": "0"}, True),
        (False, {"GROUNDSET_HUB": "1"}, False),
        (True, {}, False),
    ):
        environment = dict(given)
        privacy.set_defaults(hub=hub, environment=environment)
        assert ("HF_HUB_OFFLINE" in environment) is expected


def test_docstring_explains_every_variable():
    environment: dict[str, str] = {}
    privacy.set_defaults(environment=environment)
    for name in (*environment, "NO_PROXY"):
        assert f"`{name}`" in str(privacy.__doc__)


def import_groundset(then: str = "", **environment: str) -> tuple[dict[str, str], list[str]]:
    """Import groundset in a new process; return its environment and the heavy libraries that were loaded."""
    unset = {
        *(name for name in os.environ if "proxy" in name.lower()),
        "HF_HUB_OFFLINE",
        "GROUNDSET_HUB",
        "DO_NOT_TRACK",
    }
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    script = f"import groundset, json, os, sys\n{then}\nprint(json.dumps([dict(os.environ), sorted(sys.modules)]))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**inherited, **environment})
    found, modules = json.loads(done.stdout)
    return found, [name for name in HEAVY if name in modules]


def test_import_sets_defaults_and_loads_no_heavy_modules():
    found, heavy = import_groundset()
    assert found["DO_NOT_TRACK"] == "true"
    assert found["HF_HUB_OFFLINE"] == "1"
    assert heavy == []
    assert import_groundset(DO_NOT_TRACK="0")[0]["DO_NOT_TRACK"] == "0"
    assert "HF_HUB_OFFLINE" not in import_groundset(GROUNDSET_HUB="1")[0]


def test_hub_can_be_enabled_after_import():
    script = "groundset.privacy.set_defaults(hub=True)"
    assert "HF_HUB_OFFLINE" not in import_groundset(script)[0]
    assert import_groundset(script, HF_HUB_OFFLINE="1")[0]["HF_HUB_OFFLINE"] == "1", "set by the user"


@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_localhost_bypasses_proxies(proxy):
    environment = {proxy: "http://proxy:3128", "NO_PROXY": "internal", "no_proxy": "other, localhost"}
    privacy.set_defaults(environment=environment)
    assert environment["NO_PROXY"] == environment["no_proxy"] == "other,localhost,internal,127.0.0.1,::1"


def test_no_proxy_is_unset_without_proxy_variables():
    environment: dict[str, str] = {"http_proxy": ""}
    privacy.set_defaults(environment=environment)
    assert not {"NO_PROXY", "no_proxy"} & environment.keys()
