"""The Python functions, besides ``generate`` and the methods of a run.

Parameters, validation and docstrings are made from the options of commands: see :mod:`groundset.commands.declare`.
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

    from groundset.corpus.files import SkippedFile
    from groundset.public_run import OpenedRun
    from groundset.report.comparison import RunComparison
    from groundset.run import Run


class Chunks(list[Chunk]):
    """A list of chunks.

    Attributes:
        documents: the documents by id; the text of a chunk is that of its document from ``start`` to ``end``.
        skipped: the files without a document, each with the reason.
    """

    def __init__(
        self, chunks: Iterable[Chunk], documents: Iterable[Document], skipped: Iterable["SkippedFile"]
    ) -> None:
        """Build the list; use :func:`chunk` instead."""
        super().__init__(chunks)
        self.documents: dict[str, Document] = {document.doc_id: document for document in documents}
        self.skipped = list(skipped)


class Compared:
    """Two or more runs, each compared with the first.

    Attributes:
        record: runs, measures, differences, conclusions and notes, as in ``groundset compare --json``.
    """

    def __init__(self, comparison: "RunComparison") -> None:
        """Hold a comparison; use :func:`compare` instead."""
        self._comparison = comparison
        self.record: dict[str, Any] = comparison.to_dict()

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each tested difference."""
        import pandas as pd

        return pd.DataFrame(self.record["differences"])

    @for_python
    def report(self, out: str | Path) -> Path:
        """Write the comparison as an HTML page, and return its path.

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
        """Return the names of the runs and the conclusions."""
        conclusions = " ".join(self.record["conclusions"])
        return f"<Compared {', '.join(run['name'] for run in self.record['runs'])}: {conclusions}>"


@for_python
def open_run(path: str | Path) -> "OpenedRun":
    """Open the folder of a run for reading, finished or not.

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
    """Make a run from an evaluation set of another tool, as `groundset import` does.

    Raises:
        InputError: a file, a row or an option is wrong; the message names it, and nothing was written.
        ModelError: the embedder cannot be loaded.
    """
    import_set(options)
    return open_run(options.out)


@takes_options(MergeOptions, "runs")
def merge(options: MergeOptions) -> "OpenedRun":
    """Merge runs into a new run, as `groundset merge` does.

    Raises:
        InputError: the runs cannot be merged; the message names the run, and nothing was written.
    """
    from groundset.sets.transforms.merge import merge_runs

    merge_runs(options.runs, options.out)
    return open_run(options.out)


@for_python
def compare(runs: "Sequence[str | Path | Run]") -> Compared:
    """Compare runs with the first one: their figures, and which differences are significant.

    Raises:
        InputError: there are fewer than two runs, a run is named twice, or a folder holds no run.
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

    corpus = cut_corpus(options.docs, options.chunking, options.embedder, options.engine)
    return Chunks(corpus.chunks, corpus.documents, corpus.skipped)


@takes_options(CriticOptions)
def judge(
    kind: Literal["chunks", "questions"], rows: Iterable[Mapping[str, Any]], options: CriticOptions
) -> list[dict[str, Any]]:
    """Judge chunks or questions, each by itself.

    Rows of the kind ``"chunks"`` have a ``text``, rows of the kind ``"questions"`` a ``question`` and a ``passage``, or
    ``contexts`` as in samples.jsonl; other keys are kept. Every returned row has ``probability`` (of being good),
    ``verdict`` (``"good"`` or ``"bad"``), ``scores`` (of each criterion), ``weakest`` (the criterion with the lowest
    probability), and with the critic verdict ``reasons`` by criterion.

    Raises:
        InputError: a row or an option is wrong; the message names it.
        ModelError: a model cannot be found or loaded.
    """
    from groundset.engine.judging import judge as judge_rows

    return judge_rows(kind, rows, **dict(options))
