"""A card that is there already: what a person wrote on it stays.

Ours are the keys of :func:`groundset.sets.hub.card.front_matter` and the text between the two marks. Of tags and
tasks those of a person stay beside ours, of configurations those of other names; a name once given (`pretty_name`)
stays. Where nothing changes, nothing is written anew: not even the comments of the front matter go.
"""

import re
from collections.abc import Mapping
from typing import Any

from groundset.sets.hub.card import BEGIN, END
from programs.errors import InputError

_FRONT = re.compile(r"\A\s*---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OURS = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}\n?", re.DOTALL)
_UNITED = ("task_categories", "tags")


def merged_card(theirs: str, front: Mapping[str, Any], body: str, where: str) -> str:
    """Return a card that holds our front matter and body, and of ``theirs`` what is not ours.

    Args:
        theirs: the card that is there; nothing, if there is none.
        front: our front matter.
        body: our text with its marks.
        where: what to name if it cannot be read.

    Raises:
        InputError: their front matter cannot be read.
    """
    theirs = theirs.replace("\r\n", "\n")
    found = _FRONT.match(theirs)
    before, text = (found[1], theirs[found.end() :]) if found else ("", theirs)
    known = _read(before, where)
    merged = _merged(known, front)
    kept = before if merged == known else _written(merged)
    if _OURS.search(text):
        text = _OURS.sub(lambda _: body, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{body}" if text.strip() else body
    return f"---\n{kept}\n---\n{text if text.startswith(chr(10)) else chr(10) + text}"


def _read(front: str, where: str) -> dict[str, Any]:
    import yaml

    try:
        # A few lines of aliases can stand for more than any memory holds.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front, Loader=yaml.SafeLoader)):
            raise InputError(f"{where}: the front matter holds aliases (*name); write out there what they stand for")
        known = yaml.safe_load(front) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: the front matter is not YAML; mend it there") from error
    if not isinstance(known, dict):
        raise InputError(f"{where}: the front matter is no list of keys and values; mend it there")
    return known


def _written(front: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True)).rstrip("\n")


def _merged(known: Mapping[str, Any], front: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**known, **front}
    for name in _UNITED:
        others = _several(known.get(name))
        merged[name] = [*others, *(each for each in front[name] if each not in others)]
    if known.get("pretty_name"):
        merged["pretty_name"] = known["pretty_name"]
    ours = {config["config_name"] for config in front["configs"]}
    others = [each for each in _several(known.get("configs")) if not _is_named(each, ours)]
    if any(isinstance(each, dict) and each.get("default") for each in others):
        configs = [{name: value for name, value in each.items() if name != "default"} for each in front["configs"]]
    else:
        configs = list(front["configs"])
    merged["configs"] = [*configs, *others]
    return merged


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _is_named(config: Any, names: set[str]) -> bool:
    return isinstance(config, dict) and config.get("config_name") in names
