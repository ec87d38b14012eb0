"""A file of the Hugging Face Hub as a model: its name, its place in the cache, and its record."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from groundset.files import write_text
from groundset.models.cache import SHA256, cache_home
from programs.errors import InputError, ModelError, UnknownModelError
from programs.untrusted import small_text

PREFIX = "hf/"
FORM = "hf/<owner>/<repo>/<file>.gguf"
MAIN = "main"
_FORBIDDEN = r'\\@:*?"<>|'  # in names of files, on one system or another
_NAME = re.compile(
    rf"hf/(?P<repo>\w[\w.-]*/\w[\w.-]*)/(?P<file>[^{_FORBIDDEN}]+\.gguf)(?:@(?P<revision>[^{_FORBIDDEN}\s]+))?",
    re.ASCII | re.IGNORECASE,
)
_ONE_OF_SEVERAL = re.compile(r"-\d+-of-\d+\.gguf$", re.IGNORECASE)
_LONGEST_NAME = 500  # characters; the Hub's names of owners and repositories have 96 at most
_RECORD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A GGUF file of the Hugging Face Hub, fetched or not: its hash is known once it has been fetched.

    Attributes:
        repo: ``owner/name``.
        file: its path in the repository.
        revision: a branch, a tag or a commit.
    """

    repo: str
    file: str
    revision: str = MAIN

    @property
    def name(self) -> str:
        """Return the text that names this file."""
        return f"{PREFIX}{self.repo}/{self.file}" + ("" if self.revision == MAIN else f"@{self.revision}")

    @property
    def folder(self) -> Path:
        """Return the folder that holds what was fetched of this revision, as the repository arranges it."""
        revision = "" if self.revision == MAIN else f"@{quote(self.revision, safe='')}"
        return _home() / f"{self.repo}{revision}"

    @property
    def path(self) -> Path:
        """Return the path of its copy."""
        return self.folder / self.file

    @property
    def key(self) -> str:
        """Return a short name for its lock and its unfinished pieces."""
        return f"hf-{hashlib.sha256(self.name.encode()).hexdigest()[:32]}"


class HubRecord(NamedTuple):
    """The record of a file's first fetch, which pins later ones.

    Attributes:
        commit: of the repository, or the revision where a mirror names none.
        size: in bytes.
        sha256: of its bytes; empty only before the first fetch, for a file whose hash the Hub does not tell.
    """

    commit: str
    size: int
    sha256: str


def parse_hub_name(text: str) -> HubSpec | None:
    """Return the file of the Hub that a text names, None if it does not begin with ``hf/``.

    Raises:
        UnknownModelError: it begins so, and names no file that can be used.
    """
    if not text.startswith(PREFIX):
        return None
    found = _NAME.fullmatch(text) if len(text) <= _LONGEST_NAME and text.isprintable() else None
    spec = HubSpec(found["repo"], found["file"], found["revision"] or MAIN) if found else None
    if spec is None or not _is_plain(spec.file) or not _is_plain(spec.revision):
        raise UnknownModelError(
            f"{text[:_LONGEST_NAME]!r} names no file of the Hugging Face Hub: {FORM} does, or the same with "
            "@<revision>; ./hf/… is a file of this machine"
        )
    if _ONE_OF_SEVERAL.search(spec.file):
        raise UnknownModelError(f"{text} is one part of a model in several files; name one that is a single file")
    return spec


def read_record(spec: HubSpec) -> HubRecord | None:
    """Return the record of a file, None if it was never fetched.

    Raises:
        ModelError: the record cannot be read.
    """
    file = record_file(spec)
    try:
        data = json.loads(small_text(file, _RECORD_BYTES))
        record = HubRecord(data["commit"], data["size"], data["sha256"])
        if isinstance(record.commit, str) and type(record.size) is int and SHA256.fullmatch(record.sha256):
            return record
    except FileNotFoundError:
        return None
    except (OSError, InputError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ModelError(f"{file} is damaged, so nobody knows which {spec.name} was fetched; delete it to fetch anew")


def write_record(spec: HubSpec, record: HubRecord) -> None:
    """Record what was fetched, beside it.

    Raises:
        InputError: it cannot be written.
    """
    write_text(record_file(spec), json.dumps({"name": spec.name, **record._asdict()}, indent=2) + "\n")


def fetched_files() -> Iterator[tuple[HubSpec, HubRecord]]:
    """Yield what was fetched from the Hub by name, in the order of names, except where the record is damaged."""
    for file in sorted(_home().rglob("*.json")):
        try:
            spec = parse_hub_name(str(json.loads(small_text(file, _RECORD_BYTES))["name"]))
            record = read_record(spec) if spec is not None and record_file(spec) == file else None
        except (OSError, InputError, ModelError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if spec is not None and record is not None:
            yield spec, record


def record_file(spec: HubSpec) -> Path:
    """Return the file that holds the record of a file."""
    return spec.path.with_name(f"{spec.path.name}.json")


def _is_plain(path: str) -> bool:
    """Return whether no part of a path is empty or means another folder."""
    return all(part and part == part.strip(" .") for part in path.split("/"))


def _home() -> Path:
    return cache_home() / "models" / "hf"
