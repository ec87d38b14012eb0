"""Documents that unpack to gigabytes, and reports that would leave this machine while documents are read."""

import zlib
from pathlib import Path

from attacks.target import Target

_CAP_MIB = 1_000


def pdf_with_an_image_in_its_stream(target: Target, folder: Path) -> str:
    """Hide a bomb from a search for pictures: the word stands in the data before the stream."""
    body = zlib.compress(b"\0" * (1 << 30), 9)
    objects = b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    objects += b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>endobj\n"
    objects += b"4 0 obj<</X/Image/Filter/FlateDecode/Length %d>>stream\n%s\nendstream endobj\n" % (len(body), body)
    (folder / "docs").mkdir()
    (folder / "docs" / "bomb.pdf").write_bytes(b"%PDF-1.4\n" + objects + b"trailer<</Root 1 0 R>>\n%%EOF")
    (folder / "docs" / "good.txt").write_text("The ferry leaves Brannock pier at seven each morning. " * 20)
    outcome = target.run("chunk", folder / "docs", "--out", folder / "out.jsonl", memory_mib=_CAP_MIB)
    return outcome.fault(0, says="bomb.pdf")


ATTACKS = (pdf_with_an_image_in_its_stream,)
