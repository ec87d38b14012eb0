"""Formats that pandoc reads, with the real program."""

import re

import pypandoc
import pytest

from groundset.corpus.parsing import UnparsableError, parse
from groundset.corpus.read import read_document

RST = """.. _weir:

Weir of Tarn
============

.. TODO: secret
   and here

Gates
-----

See :ref:`Locks <locks>` and |it|. It lifts :math:`x^2` [1]_. So::

    .. kept

.. note::

   Close it.

.. toctree::

   secret

===== =====
Gate  Width
===== =====
One   4 m
===== =====

.. |it| replace:: the lock
.. [1] By hand.
"""
ADOC = """= Weir of Tarn
:toc:

// secret
////
secret
////
include::secret.adoc[]
ifdef::secret[]
endif::[]

== Gates
Text.

----
////
kept
////
----

|===
|Gate |Width

|One |4 m
|===
"""
ORG = """#+TITLE: Weir of Tarn
# secret
#+begin_comment
secret
#+end_comment
* Gates
#+begin_src sh
# kept
#+end_src
| Gate | Width |
|------+-------|
| One  | 4 m   |
"""
RTF = r"{\rtf1\ansi {\*\secret x}The gate of Tarn is 4 m wide.\par {\b kept}\par}"


@pytest.mark.parametrize(("text", "suffix"), [(RST, ".rst"), (ADOC, ".adoc"), (ORG, ".org")])
def test_headings_tables_and_code_are_kept_and_comments_dropped(text, suffix):
    found = parse(text.encode(), suffix)
    assert found.title == "Weir of Tarn"
    assert [(each.level, each.text) for each in found.headings] == [
        (1, "Weir of Tarn"),
        (2, "Gates"),
    ]
    assert "| Gate | Width |\n| --- | --- |\n| One | 4 m |" in found.text
    assert re.search(r"```\n[^`]*kept[^`]*```", found.text)
    assert "secret" not in found.text


def test_references_and_notes_of_restructuredtext():
    found = parse(RST.encode(), ".rst").text
    assert "See Locks and the lock. It lifts $x^2$ [1]. So:" in found
    assert "\n\nClose it.\n\n" in found
    assert "Note" not in found


def test_rtf_and_opendocument(tmp_path):
    assert parse(RTF.encode(), ".rtf").text == "The gate of Tarn is 4 m wide.\n\nkept"
    written = tmp_path / "a.odt"
    pypandoc.convert_text("# Gates\n\nkept", "odt", format="markdown", outputfile=str(written))
    assert "Gates\n\nkept" in parse(written.read_bytes(), ".odt").text


def test_what_cannot_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(UnparsableError, match="pandoc cannot read it: "):
        parse(b"no archive", ".odt")
    monkeypatch.setattr("groundset.corpus.parsing.pandoc.find_spec", lambda name: None)
    (tmp_path / "a.rst").write_text(RST)
    request = {
        "path": str(tmp_path / "a.rst"),
        "name": "a.rst",
        "cut": {},
        "readers": {},
    }
    assert read_document(request) == {"reason": "needs pip install 'groundset[pandoc]'"}
