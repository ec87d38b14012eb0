"""Convert notebooks, records of JSON, e-mails, and tables of values to Markdown."""

import csv
import io
import json
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import chain, islice
from typing import Any

from groundset.corpus.parsing import clean, decode
from groundset.corpus.parsing.html import is_html, parse_html, shown_field
from groundset.corpus.parsing.markdown import table_of
from groundset.programs.text import one_line
from groundset.rows import declared_separator

# Of records, the first of one; the second say nothing without their name.
_TITLES = ("title", "subject", "name", "summary", "question", "headline")
_BARE = ("key", "id")
_CLOSING_BLOCK = re.compile(r"</(?:p|div|ul|ol|table|h[1-6]|pre|blockquote)>", re.IGNORECASE)
_LINES_IN_CELLS = re.compile(r"[\x0b\x0c\x85\u2028\u2029]")  # they end no row
_SNIFFED = 20  # rows
_DEEPEST = 6  # levels of headings


def notebook(data: bytes) -> str:
    """Return the cells of a notebook, and what they have put out as text."""
    content = json.loads(decode(data))
    language = content.get("metadata", {}).get("language_info", {}).get("name", "python")
    parts = []
    for cell in content["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```{language}\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain") or ()
            shown = "".join(text).strip("\n")
            if shown and shown[0] != "<":  # the name of a picture
                parts.append(f"```\n{shown}\n```")
    return "\n\n".join(parts)


def records(data: bytes) -> str:
    """Return records of JSON, or of JSON lines: a heading for each, its fields, and then what is
    nested in it.
    """
    text = decode(data)
    try:
        content = json.loads(text)
    except ValueError:
        content = [json.loads(line) for line in text.split("\n") if line.strip()]
    return "\n\n".join(_blocks(content, 1))


def _blocks(value: Any, level: int, name: str = "") -> Iterator[str]:
    """Yield the blocks of a value below a heading with its name."""
    if isinstance(value, dict):
        yield from _record(value, level, name)
    elif not isinstance(value, list):
        yield shown_field(str(value).strip(), level)
    elif len(value) == 1:
        yield from _blocks(value[0], level, name)
    else:
        if name:
            yield _heading(level, name)
            level += 1
        titled = [isinstance(each, dict) and bool(_title(each)) for each in value]
        is_divided = any(titled) or any(map(_nested, value))
        for number, (each, has_title) in enumerate(zip(value, titled, strict=True), 1):
            counted = f"{name.split(' > ')[-1] or 'record'} {number}"
            yield from _blocks(each, level, counted if is_divided and not has_title else "")


def _record(fields: dict[str, Any], level: int, name: str) -> Iterator[str]:
    title = _title(fields, is_named=bool(name))
    shown = f"{f'{title} ' * (title in _BARE)}{fields[title]}" if title else ""
    heading = ": ".join(filter(None, [name, shown]))
    if heading:
        yield _heading(level, heading)
    lines, blocks = [], []
    nested = _nested(fields)
    for key in [key for key in fields if key != title and key not in nested]:
        texts = [
            json.dumps(part) if isinstance(part, bool) else str(part)
            for part in _listed(fields[key])
            if part not in (None, "")
        ]
        written = ", ".join(texts)
        text = shown_field(written, level).strip()
        if "\n" in text:
            blocks.append("".join([key, ":\n\n" if is_html(written) else ": ", text]))
        elif text:
            lines.append(f"{key}: {text}")
    yield from filter(None, ["\n".join(lines), *blocks])
    for key, each in nested.items():
        below = f"{name.split(': ')[0]} > {key}" if level >= _DEEPEST and name else key
        yield from _blocks(each, level + 1, below)


def _heading(level: int, text: str) -> str:
    return f"{'#' * min(level, _DEEPEST)} {one_line(text)}"


def _title(fields: dict[str, Any], *, is_named: bool = False) -> str:
    """Return which field of a record is its title; ids say nothing more about one with a name."""
    names = _TITLES if is_named else _TITLES + _BARE
    scalars = (name for name in names if isinstance(fields.get(name), str | int))
    return next((name for name in scalars if fields[name] != ""), "")


def _nested(fields: Any) -> dict[str, Any]:
    """Return the fields of a record that hold records."""
    return {
        key: value
        for key, value in (fields.items() if isinstance(fields, dict) else ())
        if any(isinstance(part, dict | list) for part in _listed(value))
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def mail(data: bytes) -> str:
    """Return the subject, the heads and the text of an e-mail, the names of its attachments, and
    the e-mails that it forwards.
    """
    return _mail(message_from_bytes(data, policy=policy.default), 1)


def _mail(message: EmailMessage, level: int) -> str:
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Date") if message[name]]
    forwarded: list[EmailMessage] = []
    for part in message.iter_attachments():
        if part.get_content_type() == "message/rfc822":
            forwarded.append(part.get_content())
        else:
            heads.append(f"Attachment (not read): {part.get_filename() or 'unnamed'}")
    body, text = message.get_body(("plain", "html")), ""
    if body is not None:  # a part without heads is false
        text = decode(bytes(body.get_payload(decode=True)), body.get_content_charset())
        is_page = body.get_content_subtype() == "html"
        text = parse_html(text.encode()).text if is_page else text
    subject = _heading(level, str(message["Subject"] or "E-mail"))
    rest = [_mail(each, level + 1) for each in forwarded]
    return "\n\n".join([subject, "\n".join(heads), text, *rest])


def values(data: bytes) -> str:
    """Return a table of values, or its rows as records if they hold HTML; its separator gives most
    rows the same number of cells.
    """
    text = clean(_LINES_IN_CELLS.sub(" ", decode(data)))
    csv.field_size_limit(len(text) + 1)
    declared, text = declared_separator(text)

    def even_rows(separator: str) -> int:
        rows = csv.reader(io.StringIO(text), delimiter=separator)
        widths = [len(row) for row in islice(rows, _SNIFFED)]
        return max((widths.count(width) for width in widths if width > 1), default=0)

    rows = csv.reader(io.StringIO(text), delimiter=declared or max("\t,;|", key=even_rows))
    head, *rest = [row for row in rows if row]
    shown = [[shown_field(cell, 1).strip() for cell in row] for row in rest]
    has_blocks = any(
        "\n" in text and _CLOSING_BLOCK.search(cell)
        for cell, text in zip(chain(*rest), chain(*shown), strict=True)
    )
    if has_blocks:
        last = len(head) - 1  # has what further cells hold, too
        fields = [
            dict(zip(head, [*row[:last], " ".join(row[last:])], strict=False)) for row in rest
        ]
        return "\n\n".join(_blocks(fields, 1))
    return table_of([[one_line(cell) for cell in row] for row in [head, *shown]])
