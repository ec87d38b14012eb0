"""Read reStructuredText as plain text, without what no reader sees of it."""

import re

from groundset.corpus.parsing import Parsed
from groundset.corpus.parsing.plain import parse_plain

# A block that begins with two dots is a comment, but for directives and footnotes; texts and
# names that are put in elsewhere are not shown here either.
_UNSEEN = re.compile(r"\.\.(?:\s+(?!\[|[\w:+.-]+ ?::)|$)")
_LITERAL = re.compile(r"(?:^\.\. (?:code|code-block|sourcecode|parsed-literal|raw)::|::$)")


def parse_rst(text: str) -> Parsed:
    """Parse reStructuredText; comments and names of targets are dropped, but not in code."""
    kept: list[str] = []
    previous = ""
    unseen = literal = -1  # how far the comment, or the line above code, is indented
    for line in text.split("\n"):
        shown = line.strip()
        indent = len(line) - len(line.lstrip())
        # Two dots alone hide nothing below an empty line.
        if (shown and indent <= unseen) or (not shown and previous == ".."):
            unseen = -1
        if shown and indent <= literal:
            literal = -1
        if literal < 0 and unseen < 0 and _UNSEEN.match(shown) and not (kept and kept[-1].strip()):
            unseen = indent
        if unseen < 0:
            kept.append(line)
            literal = indent if literal < 0 and _LITERAL.search(shown) else literal
        previous = shown
    return parse_plain("\n".join(kept).strip("\n"))
