"""Spreadsheets and presentations that exhaust memory when they are read.

They need ``pip install 'markitdown[xlsx,pptx]'``. Without it groundset skips each file with a hint, and the attack
counts as repelled.
"""

import struct
import zipfile
from pathlib import Path

from attacks.target import Target

_CAP_MIB = 1_500
_SECONDS = 90
_GOOD = "The ferry leaves Brannock pier at seven each morning. " * 20
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument"
_ENTITIES = "".join(f"<!ENTITY a{level} '{f'&a{level - 1};' * 10}'>" for level in range(1, 8))
_LAUGHS = f"<!DOCTYPE x [<!ENTITY a0 '{'ha' * 500}'>{_ENTITIES}]>"


def xlsx_with_one_text_in_all_cells(target: Target, folder: Path) -> str:
    """Refer to one long shared text in very many cells."""
    text = "ferry " * 20_000
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 100_001))
    return _chunk(target, folder, "xlsx", _workbook(rows, strings=f"<si><t>{text}</t></si>"))


def xlsx_with_a_cell_far_out(target: Target, folder: Path) -> str:
    """Fill the last cell of a sheet, in XML that a search for such cells does not match."""
    return _chunk(target, folder, "xlsx", _workbook("<row r='1048576'><c r='XFD1048576' ><v >1</v></c></row>"))


def xlsx_with_rows_a_million_columns_wide(target: Target, folder: Path) -> str:
    """Write a row of a million cells without addresses."""
    row = "<c><v>1</v></c>" * 1_000_000
    return _chunk(target, folder, "xlsx", _workbook(f"<row>{row}</row>"))


def xlsx_with_merged_cells(target: Target, folder: Path) -> str:
    """Merge all cells of a sheet."""
    rows = '<row r="1"><c r="A1"><v>1</v></c></row>'
    merged = '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    return _chunk(target, folder, "xlsx", _workbook(rows, after=merged))


def xlsx_with_entities(target: Target, folder: Path) -> str:
    """Write a shared text with nested entities."""
    rows = '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'
    return _chunk(target, folder, "xlsx", _workbook(rows, strings="<si><t>&a7;</t></si>", before=_LAUGHS))


def xlsx_with_a_false_size(target: Target, folder: Path) -> str:
    """Declare a small size for a sheet of a gigabyte."""
    parts = _workbook('<row r="1"><c r="A1" t="inlineStr"><is><t>' + " " * (1 << 30) + "</t></is></c></row>")
    return _chunk(target, folder, "xlsx", parts, small="xl/worksheets/sheet1.xml")


def pptx_with_one_slide_many_times(target: Target, folder: Path) -> str:
    """Repeat a slide with much text very many times."""
    return _chunk(target, folder, "pptx", _presentation("ferry " * 20_000, times=50_000))


def pptx_with_entities(target: Target, folder: Path) -> str:
    """Write the text of a slide with nested entities."""
    return _chunk(target, folder, "pptx", _presentation("&a7;", before=_LAUGHS))


def pptx_with_a_false_size(target: Target, folder: Path) -> str:
    """Declare a small size for a slide of a gigabyte."""
    return _chunk(target, folder, "pptx", _presentation(" " * (1 << 30)), small="ppt/slides/slide1.xml")


def pptx_with_deep_groups(target: Target, folder: Path) -> str:
    """Nest groups of shapes a hundred thousand deep."""
    deep = 100_000
    return _chunk(target, folder, "pptx", _presentation("x", shapes="<p:grpSp>" * deep + "</p:grpSp>" * deep))


def _chunk(target: Target, folder: Path, suffix: str, parts: dict[str, str], small: str = "") -> str:
    """Chunk a folder with a hostile file, which may be skipped, and a good one; return the fault."""
    documents = folder / "docs"
    documents.mkdir()
    file = documents / f"bomb.{suffix}"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    if small:
        file.write_bytes(_with_false_size(file.read_bytes(), small.encode(), 1_000))
    (documents / "good.txt").write_text(_GOOD)
    out = folder / "out.jsonl"
    outcome = target.run("chunk", documents, "--out", out, seconds=_SECONDS, memory_mib=_CAP_MIB)
    return outcome.fault(0) or ("" if "good.txt" in out.read_text() else "the good document was not read")


def _with_false_size(data: bytes, name: bytes, size: int) -> bytes:
    """Change the declared size of a file in an archive, in its local header and in the central directory."""
    changed = bytearray(data)
    for magic, offset, length in ((b"PK\3\4", 22, 30), (b"PK\1\2", 24, 46)):
        start = -1
        while (start := changed.find(magic, start + 1)) >= 0:
            if changed[start + length : start + length + len(name)] == name:
                struct.pack_into("<I", changed, start + offset, size)
    return bytes(changed)


def _package(kind: str, main: str, types: dict[str, str], relations: dict[str, str]) -> dict[str, str]:
    """Return the content types and relations of a package."""
    overrides = "".join(f'<Override PartName="/{part}" ContentType="{name}"/>' for part, name in types.items())
    ends = "".join(f'<Default Extension="{end}" ContentType="{name}"/>' for end, name in _ENDINGS.items())
    return {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">{ends}{overrides}</Types>',
        "_rels/.rels": _relations({"rId1": ("officeDocument", main)}),
        f"{kind}/_rels/{Path(main).name}.rels": _relations(
            {
                name: (Path(part).stem.rstrip("1").replace("sheet", "worksheet"), part)
                for name, part in relations.items()
            }
        ),
    }


_ENDINGS = {"rels": "application/vnd.openxmlformats-package.relationships+xml", "xml": "application/xml"}


def _relations(rows: dict[str, tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{part}"/>' for name, (kind, part) in rows.items()
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def _workbook(rows: str, *, strings: str = "", before: str = "", after: str = "") -> dict[str, str]:
    """Return the parts of a workbook with one sheet."""
    sheet = f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'
    book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets>'
    types = {
        "xl/workbook.xml": f"{_TYPES}.spreadsheetml.sheet.main+xml",
        "xl/worksheets/sheet1.xml": f"{_TYPES}.spreadsheetml.worksheet+xml",
        "xl/sharedStrings.xml": f"{_TYPES}.spreadsheetml.sharedStrings+xml",
    }
    relations = {"rId1": "worksheets/sheet1.xml", "rId2": "sharedStrings.xml"}
    return {
        **_package("xl", "xl/workbook.xml", types, relations),
        "xl/workbook.xml": f"{_HEAD}{book}</workbook>",
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": f'{_HEAD}{before}<sst xmlns="{_MAIN}">{strings}</sst>',
    }


def _presentation(text: str, *, times: int = 1, before: str = "", shapes: str = "") -> dict[str, str]:
    """Return the parts of a presentation that repeats one slide."""
    slides = "".join(f'<p:sldId id="{256 + number}" r:id="rId1"/>' for number in range(times))
    names = f'xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}" xmlns:r="{_OFFICE}"'
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="t"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm>'
        '<a:off x="0" y="0"/><a:ext cx="9" cy="9"/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:p><a:r><a:t>'
        f"{text}</a:t></a:r></a:p></p:txBody></p:sp>{shapes}"
    )
    tree = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    types = {
        "ppt/presentation.xml": f"{_TYPES}.presentationml.presentation.main+xml",
        "ppt/slides/slide1.xml": f"{_TYPES}.presentationml.slide+xml",
    }
    return {
        **_package("ppt", "ppt/presentation.xml", types, {"rId1": "slides/slide1.xml"}),
        "ppt/presentation.xml": f"{_HEAD}<p:presentation {names}><p:sldIdLst>{slides}</p:sldIdLst></p:presentation>",
        "ppt/slides/slide1.xml": f"{_HEAD}{before}<p:sld {names}><p:cSld><p:spTree>{tree}{shape}</p:spTree></p:cSld>"
        "</p:sld>",
    }


ATTACKS = (
    xlsx_with_one_text_in_all_cells,
    xlsx_with_a_cell_far_out,
    xlsx_with_rows_a_million_columns_wide,
    xlsx_with_merged_cells,
    xlsx_with_entities,
    xlsx_with_a_false_size,
    pptx_with_one_slide_many_times,
    pptx_with_entities,
    pptx_with_a_false_size,
    pptx_with_deep_groups,
)
