"""Sources of documents: local paths, and URLs of storage that fsspec can read; quick to import."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import PlainSerializer, PlainValidator

from groundset.privacy import without_secrets
from programs.errors import InputError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # not a drive of Windows
_HTTP = frozenset({"http", "https"})


class Url(str):
    """The address of a remote file, folder or glob, such as ``s3://bucket/docs``, with some attributes of paths."""

    __slots__ = ()

    @property
    def protocol(self) -> str:
        """Return the part before ``://``."""
        return self.partition("://")[0].lower()

    @property
    def is_http(self) -> bool:
        """Return whether it names a file of a web server, which has no folders."""
        return self.protocol in _HTTP

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return PurePosixPath(self).name

    @property
    def suffix(self) -> str:
        """Return the suffix of the name."""
        return PurePosixPath(self).suffix

    def absolute(self) -> "Url":
        """Return the URL."""
        return self


def is_url(text: str) -> bool:
    """Return whether a text is a URL, not a path."""
    return bool(_SCHEME.match(text))


def source_of(value: Any) -> Path | Url:
    """Return a path or a URL as given; ``file://`` URLs are paths.

    Raises:
        InputError: the URL holds credentials, which would be stored, or joins several URLs.
        ValueError: the value is neither text nor a path.
    """
    if isinstance(value, Path):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a path or a URL")
    if not is_url(value):
        return Path(value)
    shown = without_secrets(value)
    try:
        parts = urlsplit(value)
        has_user = "@" in parts.netloc
    except ValueError as error:
        raise InputError(f"{shown}: not a valid URL ({error})") from error
    if has_user:
        raise InputError(f"{shown}: without user and password; credentials come from the environment")
    if "::" in value:
        raise InputError(f"{shown}: name one URL; URLs joined by :: are not supported")
    url = Url(value)
    if url.is_http and (parts.query or parts.fragment):
        raise InputError(f"{shown}: name a URL without a query or fragment, which can hold credentials")
    if url.protocol in ("file", "local"):
        return Path(url2pathname(value.partition("://")[2]))
    return url


Source = Annotated[Path | Url, PlainValidator(source_of), PlainSerializer(str, when_used="json")]
"""A local path or a URL, as the type of an option."""
