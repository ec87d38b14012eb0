"""The Python functions, besides ``generate`` and the methods of a run.

Parameters, checks and help are those of the commands: see :mod:`groundset.commands.declare`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from groundset.commands.chunk import CutOptions
from groundset.commands.declare import takes_options
from groundset.commands.import_ import ImportOptions
from groundset.commands.import_ import import_files as import_set
from groundset.commands.judge import CriticOptions
from groundset.commands.merge import MergeOptions
from groundset.options import for_python, paths_of
from programs.types import Chunk, Document

if TYPE_CHECKING:
    import pandas as pd

    from groundset.corpus import SkippedFile
    from groundset.public_run import OpenedRun
    from groundset.report.comparison import RunComparison
    from groundset.run import Run


class Chunks(list[Chunk]):
    """A list of chunks.

    Attributes:
        documents: by id the documents that they were cut from: the text of a chunk is its document's from ``start`` to
            ``end``.
        skipped: files that did not become a document, each with the reason.
    """

    def __init__(
        self, chunks: Iterable[Chunk], documents: Iterable[Document], skipped: Iterable["SkippedFile"]
    ) -> None:
        """Keep the chunks of some documents."""
        super().__init__(chunks)
        self.documents: dict[str, Document] = {document.doc_id: document for document in documents}
        self.skipped = list(skipped)


class Compared:
    """Two runs or more, each compared with the first.

    Attributes:
        record: runs, measures, differences, conclusions and notes, as ``groundset compare --json`` prints them.
    """

    def __init__(self, comparison: "RunComparison") -> None:
        """Hold a comparison; use :func:`compare` instead."""
        self._comparison = comparison
        self.record: dict[str, Any] = comparison.to_dict()

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each difference that was tested."""
        import pandas as pd

        return pd.DataFrame(self.record["differences"])

    @for_python
    def report(self, out: str | Path) -> Path:
        """Write the comparison as a page, and return its file.

        Raises:
            InputError: the file cannot be written.
        """
        from groundset.files import write_text
        from groundset.report.report import check_page

        (file,) = paths_of("out", out)
        check_page(file)
        write_text(file, self._comparison.page())
        return file

    def __repr__(self) -> str:
        """Return what was compared, and what came of it."""
        conclusions = " ".join(self.record["conclusions"])
        return f"<Compared {', '.join(run['name'] for run in self.record['runs'])}: {conclusions}>"


@for_python
def open_run(path: str | Path) -> "OpenedRun":
    """Open the folder of a run, finished or not, to read it.

    Raises:
        InputError: the folder holds no run.
    """
    from groundset.public_run import OpenedRun
    from groundset.store.record import read_record

    (folder,) = paths_of("path", path)
    run = OpenedRun(folder)
    with run.opened():
        run.record = read_record(folder)
    return run


@takes_options(ImportOptions, "files")
def import_files(options: ImportOptions) -> "OpenedRun":
    """Make a run of an evaluation set that was made elsewhere, as `groundset import` does.

    Raises:
        InputError: a file, a row or an option is wrong; the message names it, and nothing was written.
        ModelError: the embedder cannot be loaded.
    """
    import_set(options)
    return open_run(options.out)


@takes_options(MergeOptions, "runs")
def merge(options: MergeOptions) -> "OpenedRun":
    """Make one run of several, as `groundset merge` does.

    Raises:
        InputError: they do not go together; the message names the run, and nothing was written.
    """
    from groundset.sets.transforms.merge import merge_runs

    merge_runs(options.runs, options.out)
    return open_run(options.out)


@for_python
def compare(runs: "Sequence[str | Path | Run]") -> Compared:
    """Compare runs with the first of them: their figures, and which differences are real.

    Raises:
        InputError: fewer than two are named, one is named twice, or one holds no run.
    """
    from groundset.report.comparison import compare_runs

    return Compared(compare_runs(paths_of("runs", runs)))


@takes_options(CutOptions, "docs")
def chunk(options: CutOptions) -> Chunks:
    """Cut documents into chunks, without a language model.

    Raises:
        InputError: a document or an option is wrong; the message names it.
    """
    from groundset.engine.chunking import cut_corpus

    corpus = cut_corpus(options.docs, options.chunking, options.embedder)
    return Chunks(corpus.chunks, corpus.documents, corpus.skipped)


@takes_options(CriticOptions)
def judge(
    kind: Literal["chunks", "questions"], rows: Iterable[Mapping[str, Any]], options: CriticOptions
) -> list[dict[str, Any]]:
    """Judge chunks or questions, each by itself.

    ``kind`` says what the rows hold: ``"chunks"`` a ``text``, ``"questions"`` a ``question`` and a ``passage``, or
    ``contexts`` as in samples.jsonl; other keys pass through. Every row comes back with ``probability`` (of being
    good), ``verdict`` (``"good"`` or ``"bad"``), ``scores`` (what the critic says of each part), ``weakest`` (the part
    with the lowest probability), and from the critic verdict ``reasons`` by part.

    Raises:
        InputError: a row or an option is wrong; the message names it.
        ModelError: a model cannot be found or loaded.
    """
    from groundset.engine.judging import judge as judge_rows

    return judge_rows(kind, rows, **dict(options))
