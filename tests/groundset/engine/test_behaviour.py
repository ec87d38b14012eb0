"""Changes of prompts and of the order of work require a new ``BEHAVIOUR`` version."""

import json

import pytest
from behaviour import EXPECTED, behaviour

from groundset.engine.identity import BEHAVIOUR


@pytest.mark.model
def test_digests_change_only_with_behaviour_version():
    expected = json.loads(EXPECTED.read_text("utf-8"))
    assert expected["version"] == BEHAVIOUR, "renew: python tests/groundset/engine/behaviour.py"
    found = behaviour()
    changed = [name for name, digest in expected["digests"].items() if found.get(name) != digest]
    assert not changed, "raise BEHAVIOUR in groundset/engine/identity.py, then run tests/groundset/engine/behaviour.py"
    assert found.keys() == expected["digests"].keys(), "new steps: run tests/groundset/engine/behaviour.py"
