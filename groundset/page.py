"""The samples of a run as HTML: a page for a browser and a table for a notebook, with all text escaped."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment

from groundset.files import encodable, write_text

if TYPE_CHECKING:
    from groundset.public_run import OpenedRun

NAME = "samples.html"
_FIRST = 5
_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
_SAMPLES = _ENVIRONMENT.from_string(
    """<p><strong>{{ run.folder }}</strong>: {{ run | length }} of {{ run.record.asked }} samples, {{ run.status }}.</p>
<table>
<tr><th>Question</th><th>Answer</th><th>Kind</th><th>Score</th></tr>
{% for sample in run[:first] %}
<tr><td>{{ sample.question }}</td><td>{{ sample.answer }}</td><td>{{ sample.evolution }}</td>\
<td>{{ "%.2f" | format(sample.probability) }}</td></tr>
{% endfor %}
</table>
{% if run | length > first %}
<p>{{ run | length - first }} more.</p>
{% endif %}
"""
)
_PAGE = _ENVIRONMENT.from_string(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ run.folder.name }}</title>
<style>
body { font: 1rem/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; }
</style>
</head>
<body>
<h1>{{ run.folder }}</h1>
<pre>{{ run.summary }}</pre>
{% for sample in run %}
<h2>{{ sample.question }}</h2>
<p>{{ sample.answer }}</p>
<p><small>{{ sample.evolution }}, {{ sample.language }}, score {{ "%.2f" | format(sample.probability) }}, \
{% if not sample.answerable %}unanswerable{% elif sample.retrieval.rank %}\
{{ "rank %d" | format(sample.retrieval.rank) }}{% else %}not retrieved{% endif %}</small></p>
{% for chunk in sample.contexts %}
<details><summary>{{ chunk.topic }} ({{ chunk.path }})</summary><pre>{{ chunk.text }}</pre></details>
{% endfor %}
{% endfor %}
</body>
</html>
"""
)


def first_samples(run: "OpenedRun") -> str:
    """Render the status and first samples of a run as an HTML fragment."""
    return _SAMPLES.render(run=run, first=_FIRST)


def show_page(run: "OpenedRun") -> Path:
    """Write a page of all samples into the run folder, open it in a browser and return its path.

    A link in its place is replaced, not followed.

    Raises:
        InputError: the folder cannot be written.
    """
    page = run.folder.absolute() / NAME
    if page.is_symlink():
        page.unlink()
    write_text(page, encodable(_PAGE.render(run=run)))
    webbrowser.open(page.as_uri())
    return page
