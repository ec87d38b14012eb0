"""Step ``profiles``: suggests profiles of questions for some passages."""

import re

from programs.profiles import Profile, ProfileTable
from programs.steps.base import Step
from signatures.profiles import SuggestProfiles

STEP = Step("profiles", SuggestProfiles, limits={"max_tokens": 400, "temperature": 0.0})

_EDGES = " \t*_`\"'“”.,-–•"
_PART = re.compile(r"\s*[|;]\s*")
_NAMED = re.compile(r"\s*[:=]\s*")


def profiles_of(text: str, table: ProfileTable, count: int) -> list[Profile]:
    """Return up to ``count`` distinct profiles in a completion; lines that lack a dimension or name another value
    are left out.
    """
    found: list[Profile] = []
    for line in text.splitlines():
        profile = _profile_in(line, table)
        if profile is not None and profile not in found:
            found.append(profile)
    return found[:count]


def _profile_in(line: str, table: ProfileTable) -> Profile | None:
    written: dict[str, str] = {}
    for part in _PART.split(line):
        name, *rest = _NAMED.split(part, maxsplit=1)
        written[re.sub(r"^\W*\d*\W*", "", name).strip(_EDGES).casefold()] = "".join(rest)
    profile: dict[str, str] = {}
    for name, dimension in table.parameters.items():
        known = {value.strip(_EDGES).casefold(): value for value in dimension.values}
        # A description in brackets may follow a value.
        value = known.get(written.get(name.casefold(), "").split("(")[0].strip(_EDGES).casefold())
        if value is None:
            return None
        profile[name] = value
    return profile
