"""Convert notebooks, records of JSON, e-mails, tables of values, AsciiDoc and Org to Markdown."""

import csv
import io
import json
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from itertools import islice
from typing import Any

from groundset.corpus.parsing import clean, decode
from groundset.corpus.parsing.html import parse_html
from groundset.corpus.parsing.markdown import table_of

_TITLES = (
    "title",
    "subject",
    "name",
    "summary",
    "question",
    "headline",
    "key",
    "id",
)  # of records, the first of one
_BARE = _TITLES[-2:]  # say nothing without their name
# Delimiters of code, and lines that are not shown, in AsciiDoc and Org.
_FENCE = re.compile(
    r"^(?:-{4,}|\.{4,}|#\+(?:begin|end)_(?:src|example)\b.*)(?:\n|\Z)", re.IGNORECASE | re.MULTILINE
)
_SETTING = re.compile(
    r"^(?::[\w-]+:(?: \S+)?|#\+(?!caption)\w+:.*|//.*|[=_*]{4}|"
    r"\[(?!note|tip|important|warning|caution)[\w,=\"% -]*\])(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_SNIFFED = 20  # rows


def notebook(data: bytes) -> str:
    """Return the cells of a notebook, and what they have put out as text."""
    content = json.loads(decode(data))
    language = content.get("metadata", {}).get("language_info", {}).get("name", "python")
    parts = []
    for cell in content["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```{language}\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", ()):
            shown = "".join(
                output.get("text") or output.get("data", {}).get("text/plain") or ()
            ).strip("\n")
            parts += (
                [f"```\n{shown}\n```"] if shown and shown[0] != "<" else []
            )  # the name of a picture
    return "\n\n".join(parts)


def records(data: bytes) -> str:
    """Return records of JSON, or of JSON lines: a heading for each that has a title, and its
    fields.
    """
    text = decode(data)
    try:
        content = json.loads(text)
    except ValueError:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    return "\n\n".join(_fields(content, 1))


def _fields(value: Any, level: int) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _fields(each, level)
    elif isinstance(value, dict):
        title = next(
            (
                name
                for name in _TITLES
                if isinstance(value.get(name), str | int) and value[name] != ""
            ),
            "",
        )
        if title:
            yield (
                f"{'#' * min(level, 6)}"
                f" {f'{title} ' * (title in _BARE)}{' '.join(str(value[title]).split())}"
            )
        for name, each in value.items():
            parts = each if isinstance(each, list) else [each]
            if any(isinstance(part, dict | list) for part in parts):
                yield from _fields(parts, level + 1)
            elif name != title and (
                shown := ", ".join(str(part) for part in parts if part not in (None, ""))
            ):
                yield f"{name}: {shown}"
    else:
        yield str(value).strip()


def mail(data: bytes) -> str:
    """Return the subject, the heads and the text of an e-mail, and the names of its attachments."""
    message = message_from_bytes(data, policy=policy.default)
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Date") if message[name]]
    heads += [
        f"Attachment (not read): {part.get_filename() or 'unnamed'}"
        for part in message.iter_attachments()
    ]
    body = message.get_body(("plain", "html"))
    text = decode(bytes(body.get_payload(decode=True)), body.get_content_charset()) if body else ""
    text = parse_html(text.encode()).text if body and body.get_content_subtype() == "html" else text
    return "\n\n".join(
        [f"# {' '.join(str(message['Subject'] or 'E-mail').split())}", "\n".join(heads), text]
    )


def values(data: bytes) -> str:
    """Return a table of values; its separator gives most rows the same number of cells."""
    first, _, rest = (text := clean(decode(data))).partition("\n")
    declared, text = (first[4:5], rest) if first.startswith("sep=") else ("", text)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))

    def even_rows(separator: str) -> int:
        widths = [
            len(row) for row in islice(csv.reader(io.StringIO(text), delimiter=separator), _SNIFFED)
        ]
        return max((widths.count(width) for width in widths if width > 1), default=0)

    rows = csv.reader(io.StringIO(text), delimiter=declared or max("\t,;|", key=even_rows))
    return table_of([[" ".join(cell.split()) for cell in row] for row in rows if row])


def outline(data: bytes, sign: str) -> str:
    """Return AsciiDoc or Org, whose headings begin with ``=`` or ``*``, with headings and code as
    in Markdown.
    """
    parts = _FENCE.split(clean(decode(data)))  # text and code by turns
    heading = re.compile(
        rf"^({re.escape(sign)}+|#\+title:)[ \t]+(\S.*)$", re.IGNORECASE | re.MULTILINE
    )
    for n in range(0, len(parts), 2):
        prose = heading.sub(
            lambda found: (
                f"\n{'#' * (1 if found[1][0] == '#' else min(len(found[1]), 6))} {found[2]}\n"
            ),
            parts[n],
        )
        parts[n] = _SETTING.sub("", prose)
    return "```\n".join(parts)
