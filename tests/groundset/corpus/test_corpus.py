import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from groundset.corpus.corpus import Corpus, CorpusOptions, build_corpus, documents_path, write_chunks
from programs.errors import InputError
from programs.types import Document

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
PROSE = "The mill on the river was built by the brothers Anton and Louis in 1887. "


@pytest.fixture(scope="module")
def samples() -> Corpus:
    return build_corpus([SAMPLES])


def by_path(corpus: Corpus, start: str) -> Document:
    return next(document for document in corpus.documents if document.path.startswith(start))


class TestSamples:
    def test_all_are_read(self, samples: Corpus) -> None:
        assert samples.skipped == ()
        assert samples.counts.documents == len(list(SAMPLES.iterdir())) == len(samples.documents)
        assert samples.counts.chunks == len(samples.chunks) > 100

    def test_chunks_match_their_offsets(self, samples: Corpus) -> None:
        texts = {document.doc_id: document.text for document in samples.documents}
        assert all(texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text for chunk in samples.chunks)
        assert all(200 <= len(chunk.text) <= 1200 for chunk in samples.chunks)

    @pytest.mark.parametrize(
        ("start", "title", "heading"),
        [
            ("hollin", "The failure of Gate 3 at Hollin Tarn Weir", (3, "3.2 The deflector")),
            ("dryvane", "Dryvane 40 cellar dehumidifier: user manual", (2, "1.1 Technical data")),
            ("museum", "About the Museum of Small Clocks", (2, "The workshop")),
            ("torfbahn", "Torfbahn Ellerbruch–Wendhorst", (3, "Planung und Bau")),
            ("pellworth", "PELLWORTH v. ARDENT LOOMS LTD - Judgment of the Court of Appeal", (2, "DAMAGES")),
        ],
    )
    def test_titles_and_headings(self, samples: Corpus, start: str, title: str, heading: tuple[int, str]) -> None:
        document = by_path(samples, start)
        assert document.title.startswith(title)
        assert heading in [(heading.level, heading.text) for heading in document.headings]

    def test_pdf_paragraphs_and_table(self, samples: Corpus) -> None:
        text = by_path(samples, "hollin").text
        assert "because the village had been evacuated at 01:50." in text
        assert "| Bridges destroyed | 2 | 1,750,000 |" in text
        assert "Page 2 of 3" not in text
        assert "Hollin Tarn Inquiry" not in text

    def test_html_without_navigation(self, samples: Corpus) -> None:
        text = by_path(samples, "gridfold").text
        assert "cookie" not in text
        assert "On this page" not in text
        assert "| `gridfold cut` | `gridfold fold` |" in text

    def test_topics_of_chunks(self, samples: Corpus) -> None:
        topics = {chunk.topic for chunk in samples.chunks}
        assert "The failure of Gate 3 at Hollin Tarn Weir > 3. Findings > 3.3 Inspection" in topics
        assert "Torfbahn Ellerbruch–Wendhorst > Geschichte > Betrieb" in topics


def test_ids_do_not_depend_on_folder_or_encoding(tmp_path: Path) -> None:
    for folder, encoding in (("one", "utf-8"), ("two/deeper", "utf-16")):
        (tmp_path / folder / "docs").mkdir(parents=True)
        (tmp_path / folder / "docs" / "Übersicht 1.md").write_text(PROSE * 9, encoding=encoding)
    one, two = (build_corpus([tmp_path / folder / "docs"]) for folder in ("one", "two/deeper"))
    assert [c.chunk_id for c in one.chunks] == [c.chunk_id for c in two.chunks]
    assert one.chunks[0].chunk_id.startswith("ubersicht-1-")
    assert one.chunks[0].chunk_id.endswith("-0001")


def test_unparsable_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    contents = {
        "blank.txt": b" \n ",
        "damaged.docx": b"PK nothing",
        "empty.md": b"",
        "good.txt": PROSE.encode() * 9,
        "locked.pdf": Path(__file__).parents[1].joinpath("corpus", "parsing", "encrypted.pdf").read_bytes(),
        "photo.txt": b"\x89PNG\r\n\x1a\n\x00\x00",
        "song.mp3": b"x",
        "tiny.txt": b"Hello.",
        "twin.md": PROSE.encode() * 9,
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    os.utime(tmp_path / "good.txt", (0, 86400))
    corpus = build_corpus([tmp_path])
    assert {file.path: file.reason for file in corpus.skipped} == {
        "blank.txt": "empty",
        "damaged.docx": "damaged docx file",
        "empty.md": "empty",
        "link.txt": "broken link",
        "locked.pdf": "password-protected",
        "photo.txt": "binary",
        "pipe.txt": "not a regular file",
        "song.mp3": "unsupported type .mp3",
        "tiny.txt": "too little text",
        "twin.md": "same text as good.txt",
    }
    assert corpus.documents[0].last_modified == datetime(1970, 1, 2, tzinfo=UTC)
    assert (corpus.counts.files, corpus.counts.skipped) == (11, 10)


def test_error_without_documents_names_the_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no documents found"):
        build_corpus([tmp_path])
    for name in "abcdefg":
        (tmp_path / f"{name}.txt").write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.txt: empty; b\.txt: empty; .*; and 2 more") as caught:
        build_corpus([tmp_path])
    assert caught.value.exit_code == 2


def test_error_without_chunks_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(PROSE)
    with pytest.raises(InputError, match="--min-length"):
        build_corpus([tmp_path])
    assert build_corpus([tmp_path], CorpusOptions(min_length=0)).counts.chunks == 1


def test_duplicates_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# A\n\n{PROSE * 4}\n\n## Part\n\nSomething else. {PROSE * 4}")
    (tmp_path / "b.md").write_text(f"# A\n\n{PROSE * 4}\n\nAnd more of it, as it seems to everyone. {PROSE * 12}")
    corpus = build_corpus([tmp_path], CorpusOptions(chunk_size=400))
    assert corpus.counts.dropped_duplicates > 0
    everything = build_corpus([tmp_path], CorpusOptions(chunk_size=400, duplicate_threshold=None))
    assert everything.counts.chunks == corpus.counts.chunks + corpus.counts.dropped_duplicates


@pytest.mark.parametrize(
    "wrong", [{"chunk_size": 0}, {"chunk_overlap": 1000}, {"chunker": "magic"}, {"merge": 0}, {"chunk_sizes": 5}]
)
def test_invalid_options(wrong: dict[str, object]) -> None:
    with pytest.raises((ValidationError, InputError)):
        CorpusOptions.model_validate(wrong)


class TestWriting:
    def test_rows(self, samples: Corpus, tmp_path: Path) -> None:
        out, docs = write_chunks(samples, tmp_path / "new" / "chunks.jsonl")
        assert docs is not None
        assert docs.name == "chunks.docs.jsonl"
        texts = {row["doc_id"]: row["text"] for row in map(json.loads, docs.read_text("utf-8").splitlines())}
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert list(rows[0]) == ["chunk_id", "doc_id", "path", "title", "headings", "start", "end", "text"]
        assert all(texts[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in rows)
        assert sorted(file.name for file in out.parent.iterdir()) == ["chunks.docs.jsonl", "chunks.jsonl"]

    def test_failed_write_keeps_old_file(
        self, samples: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "chunks.jsonl"
        out.write_text("before")

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left"):
            write_chunks(samples, out)
        assert [file.name for file in tmp_path.iterdir()] == ["chunks.jsonl"]
        assert out.read_text() == "before"

    def test_unwritable_targets(self, samples: Corpus, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder"):
            write_chunks(samples, tmp_path)
        (tmp_path / "file").write_text("x")
        with pytest.raises(InputError, match="cannot write"):
            write_chunks(samples, tmp_path / "file" / "chunks.jsonl")

    @pytest.mark.parametrize(
        ("out", "docs"), [("a.jsonl", "a.docs.jsonl"), ("a", "a.docs.jsonl"), ("a.json", "a.json.docs.jsonl")]
    )
    def test_documents_path(self, out: str, docs: str) -> None:
        assert documents_path(Path("x") / out) == Path("x") / docs
