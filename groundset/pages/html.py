"""HTML pages that load nothing and run no text: everything is escaped, invisible characters are spelt out."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from groundset.files import encodable
from groundset.printing import printable
from groundset.progress import counted

_FOLDER = Path(__file__).parent / "templates"


def render(template: str, **values: Any) -> str:
    """Render a template as HTML."""
    return encodable(_environment().get_template(template).render(values))


@cache
def asset(name: str) -> Markup:
    """Return a style or script of ours, to be set into a page as it is."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def policy(style: str, script: str | None = None) -> str:
    """Return the content security policy of a page whose only style and script are these of ours."""
    allowed = f"default-src 'none'; img-src data:; style-src {_digest(style)}; base-uri 'none'; form-action 'self'"
    return allowed + (f"; script-src {_digest(script)}" if script else "")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"), autoescape=True, finalize=_visible,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals.update(asset=asset, policy=policy)
    environment.filters.update(percent=lambda share: f"{100 * share:.0f} %", counted=counted)
    return environment


def _digest(name: str) -> str:
    digest = hashlib.sha256(asset(name).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _visible(value: Any) -> Any:
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value, lines=True)
