"""Sections as one HTML file that needs nothing else. Whatever is told is escaped, and shown as it is spelt."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from groundset import __version__
from groundset.printing import printable
from groundset.report.blocks import PageSection, Stated

_FOLDER = Path(__file__).parent


def render(title: str, about: str, sections: Sequence[PageSection], main: Sequence[Stated] = ()) -> str:
    """Return a page: its title, a line about it, its main figures, and its sections."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"), autoescape=True, finalize=_shown,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = Markup((_FOLDER / "page.css").read_text(encoding="utf-8"))
    footer = f"Made by groundset {__version__} on this machine. This page loads nothing and sends nothing."
    told = {"title": title, "about": about, "sections": sections, "main": main, "style": style, "footer": footer}
    return environment.get_template("page.html").render(told)


def _shown(value: Any) -> Any:
    """Return a text without characters that nobody sees; what is markup already stays."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value, lines=True)
