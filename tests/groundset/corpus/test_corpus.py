"""Corpora of files: what is read, skipped and dropped, and how it is stored."""

import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from cut_documents import words_and_marks
from evaluation_sets import chunk as one_chunk
from foreign_files import pdf
from json_lines import read as read_lines
from pyarrow import parquet
from refusal import refuses

from groundset.corpus.corpus import Corpus, chunk, read_corpus
from groundset.corpus.options import ChunkOptions, CorpusOptions
from groundset.files import data_path
from groundset.programs.errors import ModelError, RunError
from groundset.programs.types import Document

PROSE = "The mill on the river was built by the brothers Anton and Louis in 1887. "


def read(*documents, **options):
    return read_corpus(CorpusOptions(documents=documents, **options), notify=lambda line: None)


@pytest.fixture(scope="module")
def samples() -> Corpus:
    return read(data_path("samples"))


def test_all_samples_are_read_and_offsets_hold(samples):
    assert samples.skipped == []
    assert len(samples.documents) == len(list(data_path("samples").iterdir()))
    assert len(samples.chunks) > 100
    assert all(samples.documents[c.doc_id].text[c.start : c.end] == c.text for c in samples.chunks)
    assert all(100 <= len(chunk.text) <= 1200 for chunk in samples.chunks)


@pytest.mark.parametrize(
    ("start", "title", "heading"),
    [
        ("hollin", "The failure of Gate 3 at Hollin Tarn Weir", (3, "3.2 The deflector")),
        ("dryvane", "Dryvane 40 cellar dehumidifier: user manual", (2, "1.1 Technical data")),
        ("museum", "About the Museum of Small Clocks", (2, "The workshop")),
        ("torfbahn", "Torfbahn Ellerbruch–Wendhorst", (3, "Planung und Bau")),
        (
            "pellworth",
            "PELLWORTH v. ARDENT LOOMS LTD - Judgment of the Court of Appeal",
            (2, "DAMAGES"),
        ),
    ],
)
def test_titles_and_headings_of_samples(samples, start, title, heading):
    [document] = [each for each in samples.documents.values() if each.path.startswith(start)]
    assert document.title.startswith(title)
    assert heading in [(heading.level, heading.text) for heading in document.headings]


def test_texts_of_samples(samples):
    texts = {document.path.split("-")[0]: document.text for document in samples.documents.values()}
    assert "because the village had been evacuated at 01:50." in texts["hollin"]
    assert "| Bridges destroyed | 2 | 1,750,000 |" in texts["hollin"]
    assert "| `gridfold cut` | `gridfold fold` |" in texts["gridfold"]
    for name, noise in (
        ("hollin", "Page 2 of 3"),
        ("hollin", "Hollin Tarn Inquiry"),
        ("gridfold", "cookie"),
    ):
        assert noise not in texts[name]
    topics = {chunk.topic for chunk in samples.chunks}
    assert "The failure of Gate 3 at Hollin Tarn Weir > 3. Findings > 3.3 Inspection" in topics


def test_what_stands_before_a_chunk(samples):
    own = [each for each in samples.chunks if each.path.startswith("torfbahn")]
    assert samples.before(own[0]) == ""
    assert samples.before(own[-1]).startswith("… ")
    assert len(samples.before(own[-1])) <= 302
    assert own[-2].text.endswith(samples.before(own[-1])[-20:].strip())


def test_ids_do_not_depend_on_folder_or_encoding(tmp_path):
    for folder, encoding in (("one", "utf-8"), ("two/deeper", "utf-16")):
        (tmp_path / folder / "docs").mkdir(parents=True)
        (tmp_path / folder / "docs" / "Übersicht 1.md").write_text(PROSE * 9, encoding=encoding)
    one, two = (read(tmp_path / folder / "docs") for folder in ("one", "two/deeper"))
    assert [c.chunk_id for c in one.chunks] == [c.chunk_id for c in two.chunks]
    assert one.chunks[0].chunk_id.startswith("ubersicht-1-")
    assert one.chunks[0].chunk_id.endswith("-0001")


def test_files_that_cannot_be_read_are_skipped_with_a_reason(tmp_path):
    contents = {
        "blank.txt": (b" \n ", "empty"),
        "cut.pdf": (pdf(b"BT /F1 12 Tf (The mill) Tj ET")[:200], "damaged pdf file (PSEOF)"),
        "damaged.docx": (b"PK nothing", "damaged docx file (BadZipFile)"),
        "deep.ipynb": (b"[" * 100_000, "nested too deep"),
        "lines.md": (b"a\n" * 500_002, "its text has more than 500,000 lines"),
        "locked.pdf": (
            Path(__file__).with_name("parsing").joinpath("encrypted.pdf").read_bytes(),
            "password-protected",
        ),
        "long.txt": (b"a b " * (5 << 20), "its text is longer than 16 MB"),
        "photo.txt": (b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
        "paper.tex": (b"x", "unsupported type .tex; save it as .docx, .pptx, .xlsx, .pdf or .md"),
        "song.mp3": (b"x", "unsupported type .mp3"),
        "tiny.txt": (b"Hello.", "too little text"),
        "twin.md": (PROSE.encode() * 9, "same text as good.txt"),
    }
    for name, (data, _) in contents.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.txt").write_text(PROSE * 9)
    (tmp_path / "link.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    with (tmp_path / "big.pdf").open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file, which is not opened
    os.utime(tmp_path / "good.txt", (0, 86400))
    corpus = read(tmp_path)
    others = {"link.txt": "broken link", "pipe.txt": "not a regular file"}
    others["big.pdf"] = "larger than 256 MB"
    assert dict(corpus.skipped) == {name: reason for name, (_, reason) in contents.items()} | others
    [document] = corpus.documents.values()
    assert document.last_modified == datetime(1970, 1, 2, tzinfo=UTC)


def test_dropped_chunks_are_counted_and_named(tmp_path):
    (tmp_path / "a.md").write_text(f"# A\n\nTiny.\n\n# B\n\n{PROSE * 4}\n\n# C\n\n{PROSE * 4}")
    lines = []
    corpus = read_corpus(CorpusOptions(documents=(tmp_path,), verbose=True), notify=lines.append)
    assert corpus.dropped == {"too short": 1, "copies": 1}
    assert lines == ["a.md: too short: # A Tiny."]
    assert [chunk.headings for chunk in corpus.chunks] == [("B",)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "no documents found: the folders are empty"),
        (
            lambda folder: (folder / "a.mp3").touch(),
            r"no document could be read: a\.mp3: unsupported type \.mp3",
        ),
        (
            lambda folder: (folder / "a.md").write_text("A short text of few words."),
            "no chunk is left: 1 are too short",
        ),
    ],
)
def test_nothing_to_read(tmp_path, make, message):
    make(tmp_path)
    with refuses(message):
        read(tmp_path)


def test_options(tmp_path):
    with refuses(r"--chunk-overlap 200: must be less than the chunk size \(200\)"):
        CorpusOptions.parse({"documents": ["a"], "chunker": "word", "chunk_overlap": 200})
    with refuses("no documents: name files or folders, or --chunks FILE"):
        read()
    (tmp_path / "a.md").write_text(
        " ".join(f"The cat number {n} sleeps all day long." for n in range(30))
    )
    for chunker, overlap in (("token", 9), ("recursive", 60), ("word", 9)):
        options = CorpusOptions(
            documents=[tmp_path],
            chunker=chunker,
            chunk_overlap=overlap,
            chunk_size=90,
            min_length=0,
            embedder=words_and_marks().name,
        )
        chunks = read_corpus(options, notify=print).chunks
        assert chunks[1].start < chunks[0].end
    with refuses(
        "--embedder nowhere: neither an embedder of the catalogue nor a folder", ModelError
    ):
        read(tmp_path, chunker="token", embedder="nowhere")


SIZES = {"a": 50, "b": 3, "c": 10, "d": 1}


def drawn(sizes, seed=1):
    chunks = [one_chunk(f"{d}-{n:04d}", doc_id=d) for d, size in sizes.items() for n in range(size)]
    order = Corpus({}, chunks).order(seed)
    assert sorted(order) == list(range(len(chunks)))
    return [chunks[index] for index in order]


def test_rounds_draw_one_chunk_of_each_document():
    order = drawn(SIZES)
    assert {chunk.doc_id for chunk in order[:4]} == {"a", "b", "c", "d"}
    assert Counter(chunk.doc_id for chunk in order[:10]) == {"a": 3, "b": 3, "c": 3, "d": 1}


def test_order_depends_only_on_seed_and_ids():
    assert drawn(dict(reversed(SIZES.items()))) == drawn(SIZES)
    assert drawn(SIZES, 2) != drawn(SIZES, 1)
    more = drawn({**SIZES, "e": 20})
    assert [chunk for chunk in more if chunk.doc_id != "e"] == drawn(SIZES)


def test_a_corpus_is_written_and_read_again_with_any_facts_and_long_texts(samples, tmp_path):
    document = Document(doc_id="d", path="p", title="", text="x" * (9 << 20), captions=("c",))
    facts = [{}, {"a": [1, {"b": None}]}, {"a": "text"}]
    chunks = [one_chunk(str(n), metadata=metadata) for n, metadata in enumerate(facts)]
    whole = Corpus({**samples.documents, "d": document}, [*samples.chunks, *chunks])
    whole.write(tmp_path)
    again = Corpus.read(tmp_path)
    assert again.documents == whole.documents
    assert again.chunks == whole.chunks


def test_damaged_files_of_a_corpus_are_named(samples, tmp_path):
    with refuses(r"documents\.parquet: No such file", RunError):
        Corpus.read(tmp_path)
    samples.write(tmp_path)
    parquet.write_table(
        pa.Table.from_pylist([{"chunk_id": "a"}]), tmp_path / "corpus" / "chunks.parquet"
    )
    with refuses(r"chunks\.parquet, row 1: is damaged", RunError):
        Corpus.read(tmp_path)
    (tmp_path / "corpus" / "documents.parquet").write_bytes(b"nonsense")
    with refuses(r"documents\.parquet is not a parquet file"):
        Corpus.read(tmp_path)


def test_the_command_writes_chunks_and_documents(tmp_path, capsys):
    (tmp_path / "a.mp3").touch()
    (tmp_path / "a.md").write_text(f"# Mill\n\n{PROSE * 9}")
    out = tmp_path / "new" / "chunks.jsonl"
    chunk(ChunkOptions(documents=[tmp_path], out=out))
    printed = capsys.readouterr()
    assert (
        printed.out
        == "1 chunks from 1 documents (dropped: 0 too short, 0 copies; skipped files: 1).\n"
    )
    assert printed.err == "skipped a.mp3: unsupported type .mp3\n"
    [row] = read_lines(out)
    [document] = read_lines(out.with_name("chunks.docs.jsonl"))
    assert " ".join(row) == "chunk_id doc_id path title headings start end text"
    assert document["text"][row["start"] : row["end"]] == row["text"]
    again = read_corpus(CorpusOptions(chunks=out), notify=print).chunks
    assert [(c.chunk_id, c.doc_id, c.text, c.headings) for c in again] == [
        (row["chunk_id"], row["doc_id"], row["text"], tuple(row["headings"]))
    ]


def test_documents_are_not_replaced(tmp_path):
    (tmp_path / "a.md").write_text(PROSE * 9)
    with refuses(r"--out .*a\.md: would replace .*a\.md, which is read"):
        chunk(ChunkOptions(documents=[tmp_path], out=tmp_path / "a.md"))
    with refuses("is a folder"):
        chunk(ChunkOptions(documents=[tmp_path], out=tmp_path))


def test_columns_of_questions_and_answers_can_be_named(tmp_path):
    (tmp_path / "tickets.csv").write_text("no,What,Mend\n1,Pump hums,Dry the seal of it.\n" * 4)
    said = []
    named = CorpusOptions.parse(
        {"documents": (tmp_path,), "columns": "question=what,answer=Cure", "min_length": 0}
    )
    corpus = read_corpus(named, notify=said.append)
    assert corpus.chunks[0].text.startswith("| no | question | Mend |\n")
    assert said == ["tickets.csv: there is no column Cure (--columns)"]
    with refuses("--columns query=a: input should be 'question' or 'answer'"):
        CorpusOptions.parse({"columns": "query=a"})
