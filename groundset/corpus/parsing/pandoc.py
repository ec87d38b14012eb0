"""Convert reStructuredText, Org, AsciiDoc, OpenDocument and RTF with pandoc, an extra, to Markdown.

The program comes with its package, in one version: ids of documents are hashes of their texts.
"""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

from bs4 import BeautifulSoup

from groundset.corpus.parsing import Parsed, UnparsableError, clean, decode
from groundset.corpus.parsing.html import to_markdown
from groundset.corpus.parsing.markdown import parse_converted

_COMMAND = ["--sandbox", "--to=html", "--wrap=none", "--mathml", "--syntax-highlighting=none"]
# The title stands apart from the headings, but in reStructuredText, whose first one it is.
_TITLED = ["--standalone", "--shift-heading-level-by=1"]
_SECONDS = 60
# Comments and directives of AsciiDoc, which pandoc shows or stumbles over; not in code.
_UNSEEN = re.compile(
    r"(?P<code>^(-{4,}|\.{4,})\n.*?^\2$)|^(/{4,})\n.*?^\3$\n?|"
    r"^(?://(?!/)|(?:include|ifn?def|ifeval|endif|toc)::)[^\n]*\n?",
    re.DOTALL | re.MULTILINE,
)
_TARGET = re.compile(r"\s*<[^<>]*>$")  # of a reference


def parse_pandoc(data: bytes, suffix: str) -> Parsed:
    """Parse a document of a format that pandoc reads.

    Raises:
        UnparsableError: the extra is not installed, or pandoc cannot read the document.
    """
    format = "asciidoc" if suffix == ".adoc" else suffix[1:]
    found = find_spec("pypandoc")
    program = Path(str(found and found.origin)).with_name("files") / "pandoc"
    if not program.is_file():
        raise UnparsableError("needs pip install 'groundset[pandoc]'")
    if format not in ("odt", "rtf"):
        text = clean(decode(data))
        if format == "asciidoc":
            text = _UNSEEN.sub(lambda each: each["code"] or "", text)
        data = text.encode()
    try:
        done = subprocess.run(
            [program, f"--from={format}", *_COMMAND, *(_TITLED if format != "rst" else ())],
            input=data,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        reason = (error.stderr or b"it takes too long").decode(errors="replace").strip()
        raise UnparsableError(f"pandoc cannot read it: {reason.splitlines()[0][:100]}") from None
    page = BeautifulSoup(done.stdout.decode(), "html.parser")
    for unseen in page.select("head, .toctree, .index, .contents, .footnote-back"):
        unseen.decompose()
    for title in page.select("div.title"):  # of a note; "Note" says nothing
        if title.parent and title.get_text(strip=True).casefold() in title.parent["class"]:
            title.decompose()
    for reference in page.select("code.interpreted-text"):
        reference.replace_with(_TARGET.sub("", reference.get_text()))
    markdown, captions = to_markdown(page)
    return parse_converted(clean(markdown))._replace(captions=captions)
