"""Compiled states as text."""

import json

from programs.critics.states import CompiledState


def state_text(state: CompiledState) -> str:
    """Return a state as the JSON of its file; the same state gives the same text."""
    told = json.loads(state.model_dump_json(exclude_none=True))
    return json.dumps(told, ensure_ascii=False, sort_keys=True, indent=1) + "\n"
