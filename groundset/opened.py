"""A run as it is read from its folder: what :func:`groundset.generate` and :func:`groundset.open_run` return."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from groundset.options import as_parameters, for_python, paths_of
from groundset.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from groundset.sets.exports.base import Exported
    from groundset.sets.hub.push import Pushed


class OpenedRun(Run):
    """The samples of a run, and all that is known of it; each part is read when it is first asked for.

    Attributes:
        folder: where it lies.
        samples: what was kept, in order; the run itself is a sequence of them.
        rejects: what was refused, each with the step and the reason.
        record: what ``run.json`` holds: configuration, models, counts, tokens, seconds.
        summary: what was kept, what was refused and why, what it took: a few lines.
    """

    @cached_property
    def summary(self) -> str:
        """Return what was kept, what was refused and why, and what it took: a few lines."""
        return as_parameters("\n".join(self.summary_lines))

    @property
    def status(self) -> str:
        """Return ``complete``, ``short`` (fewer were possible), ``interrupted``, ``failed`` or ``running``.

        A run that was killed stays ``running``. The call that made a run goes on with it if more can be made.
        """
        return str(self.record["status"])

    @property
    def is_complete(self) -> bool:
        """Say whether there are as many samples as were asked for."""
        return self.status == "complete"

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each sample.

        | column | what it holds |
        |---|---|
        | `id`, `question`, `answer` | texts |
        | `contexts` | the texts of the passages that the question was made from, a list |
        | `chunk_ids`, `paths` | their chunks and files, lists as long |
        | `retrieval_gt` | the chunks that the question needs: a list of groups, one chunk of each group |
        | `rank` | where the question finds its passage among all chunks, from 1; missing beyond the search depth |
        | `probability` | of being good, by the critics |
        | `evolution`, `language` | the kind of the question; the ISO 639-1 code of its passage |
        | `split` | the split of its document; missing unless the run has splits |
        """
        import pandas as pd

        from groundset.sets.exports.rows import question_row

        rows = [question_row(sample) for sample in self.samples]
        return pd.DataFrame(rows, columns=COLUMNS).astype({"rank": "Int64", "probability": "float64"})

    @for_python
    def export(self, format: str, out: str | Path, *, signed: bool = False) -> "Exported":
        """Write the run in the format of another tool, to a folder, and return how much it wrote.

        ``format`` may name several, with commas between them; each then gets a folder in ``out``. With ``signed``, only
        samples that a reader signed go out.

        Raises:
            InputError: there is no such format, or the folder cannot be written.
        """
        from groundset.sets.exports.writing import export_run

        (folder,) = paths_of("out", out)
        return export_run(self.folder, format, folder, signed=signed)

    @for_python
    def push(
        self,
        repo: str,
        *,
        licence: str,
        private: bool = False,
        branch: str = "main",
        signed: bool = False,
        dry_run: str | Path | None = None,
    ) -> "Pushed":
        """Put the run on the Hugging Face Hub as the dataset ``repo`` (``owner/name``), and return what has changed.

        The token is that of ``HF_TOKEN`` or of ``hf auth login``. With ``dry_run``, a folder, everything that would be
        sent is written there, and nobody is asked. ``licence`` is an identifier that the Hub knows, such as
        ``cc-by-4.0``; with ``signed``, only samples that a reader signed go out.

        Raises:
            InputError: an option is wrong, or the folder cannot be written.
            HubError: the Hub cannot be reached or refuses something.
        """
        from groundset.printing import say
        from groundset.sets.hub.push import push_run

        return push_run(
            self.folder,
            repo,
            licence=licence,
            private=private,
            branch=branch,
            signed=signed,
            dry_run=None if dry_run is None else paths_of("dry_run", dry_run)[0],
            tell=lambda line: say(line, err=True),
        )

    @for_python
    def report(self, out: str | Path | None = None) -> Path:
        """Write a page that tells what the run is worth, and return its file, by default ``report.html`` in its folder.

        Raises:
            InputError: the file cannot be written.
        """
        from groundset.report.report import NAME, write_report

        file = None if out is None else paths_of("out", out)[0]
        write_report(self.folder, file)
        return file or self.folder / NAME

    @for_python
    def sample(self, size: int, *, out: str | Path, by: str | None = None, seed: int = 0) -> "OpenedRun":
        """Draw some samples into a new run, from as many documents as possible, and return it.

        With ``by`` (evolution, kind, document or language), each of these gives one sample first, and of the rest its
        share. The same call draws the same samples.

        Raises:
            InputError: there are fewer samples, or an option or the folder is wrong.
        """
        from groundset.sets.transforms.draw import sample_run

        (folder,) = paths_of("out", out)
        sample_run(self.folder, size, folder, by=by, seed=seed)
        return OpenedRun(folder)

    @for_python
    def split(self, splits: str | Mapping[str, float], *, out: str | Path, seed: int = 0) -> "OpenedRun":
        """Put every sample into a split in a new run, so that nothing leaks between splits, and return it.

        ``splits`` are shares that add up to 1: a mapping, or a text such as ``train=0.8,test=0.2``.

        Raises:
            InputError: too much hangs together, or an option or the folder is wrong.
        """
        from groundset.sets.transforms.splits import split_run

        (folder,) = paths_of("out", out)
        split_run(self.folder, splits, folder, seed=seed)
        return OpenedRun(folder)

    @for_python
    def drop(self, where: str, *, out: str | Path) -> "OpenedRun":
        """Drop the samples that a condition holds for, such as ``kind == "time" and rank > 1``, and return the new run.

        Raises:
            InputError: nothing would be left, or the condition or the folder is wrong.
        """
        from groundset.sets.transforms.drop import drop_run

        (folder,) = paths_of("out", out)
        drop_run(self.folder, where, folder)
        return OpenedRun(folder)

    @for_python
    def relabel(
        self,
        critic: str,
        *,
        out: str | Path,
        lm: str | None = None,
        compiled: str | Path = "shipped",
        tracking: str | Path | None = None,
        keep: bool = False,
        quiet: bool = False,
    ) -> "OpenedRun":
        """Let another critic (head, lm, ensemble or verdict) judge the questions again, and return the new run.

        What it refuses becomes a reject, unless ``keep`` says otherwise. The other options are those of
        :func:`groundset.judge`.

        Raises:
            InputError: nothing would be left, or an option or the folder is wrong.
            ModelError: a model cannot be found or loaded.
        """
        from groundset.sets.transforms.relabel import relabel_run

        (folder,) = paths_of("out", out)
        store = None if tracking is None else str(tracking)
        relabel_run(
            self.folder, folder, critic=critic, lm=lm, compiled=str(compiled), tracking=store, keep=keep, quiet=quiet
        )
        return OpenedRun(folder)

    @for_python
    def update(self, docs: str | Path | Iterable[str | Path], *, out: str | Path, quiet: bool = False) -> "OpenedRun":
        """Keep the samples that still rest on documents which have changed, and return the new run.

        ``docs`` are all documents of today. What has nothing to rest on any more is a reject of the step ``update``.

        Raises:
            InputError: nothing would be left, or a document or the folder is wrong.
            ModelError: the embedder cannot be loaded.
        """
        from groundset.sets.transforms.update import update_run

        (folder,) = paths_of("out", out)
        update_run(self.folder, paths_of("documents", docs), folder, quiet=quiet)
        return OpenedRun(folder)

    @for_python
    def open_in_browser(self) -> Path:
        """Show the samples as a page in a browser on this machine, and return its file, ``samples.html`` in the folder.

        Raises:
            InputError: the folder cannot be written.
        """
        from groundset.page import show_page

        return show_page(self)

    def __repr__(self) -> str:
        """Return one line: the folder, how many samples, the status."""
        from groundset.progress import of_asked

        return f"<Run {self.folder}: {of_asked(len(self), self.record['asked'])}, {self.status}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: that line, and the first samples."""
        from groundset.page import first_samples

        return first_samples(self)


COLUMNS = [
    "id", "question", "answer", "contexts", "chunk_ids", "paths", "retrieval_gt", "rank", "probability", "evolution",
    "language", "split",
]  # fmt: skip
