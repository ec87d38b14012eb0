"""A run with the methods of the Python interface, as ``generate`` and ``open_run`` return it."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from groundset.commands.declare import takes_options
from groundset.commands.drop import DropOptions
from groundset.commands.export import ExportOptions
from groundset.commands.push import PushOptions
from groundset.commands.relabel import RelabelOptions
from groundset.commands.sample import SampleOptions
from groundset.commands.update import UpdateOptions
from groundset.options import as_parameters, for_python, paths_of
from groundset.run import Run
from programs.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from groundset.sets.exports.base import Exported
    from groundset.sets.hub.push import Pushed


class OpenedRun(Run):
    """The samples of a run, and all that is known of it; each part is read when it is first asked for.

    Attributes:
        folder: where it lies.
        samples: what was kept, in order; the run itself is a sequence of them.
        rejects: refused candidates, each with the step and the reason.
        record: the content of ``run.json``: configuration, models, counts, tokens, seconds.
        summary: how many were accepted and refused, why, and the cost, in a few lines.
    """

    @cached_property
    def summary(self) -> str:
        """Return how many samples were accepted and refused, why, and the cost, in a few lines."""
        return as_parameters("\n".join(self.summary_lines))

    @property
    def status(self) -> str:
        """Return ``complete``, ``short`` (fewer were possible), ``interrupted``, ``failed`` or ``running``.

        A run that was killed stays ``running``. The call that made a run goes on with it if more can be made.
        """
        return str(self.record["status"])

    @property
    def is_complete(self) -> bool:
        """Return whether there are as many samples as were asked for."""
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

        from groundset.sets.exports.base import question_row

        rows = [question_row(sample) for sample in self.samples]
        return pd.DataFrame(rows, columns=COLUMNS).astype({"rank": "Int64", "probability": "float64"})

    @takes_options(ExportOptions, "format", "out")
    def export(self, options: ExportOptions) -> "Exported":
        """Write the run in the format of another tool, to a folder, and return how much it wrote.

        ``format`` may name several, with commas between them; each then gets a folder in ``out``.

        Raises:
            InputError: there is no such format, or the folder cannot be written.
        """
        from groundset.sets.exporting import export_run

        return export_run(
            options.run,
            options.format,
            options.out,
            signed=options.signed,
            flat=options.flat,
            indent=options.indent,
        )

    @takes_options(PushOptions, "repo")
    def push(self, options: PushOptions) -> "Pushed":
        """Put the run on the Hugging Face Hub as a dataset, and return what has changed.

        The token is that of ``HF_TOKEN`` or of ``hf auth login``. With ``dry_run``, nobody is asked.

        Raises:
            InputError: an option is wrong, or the folder cannot be written.
            HubError: the Hub cannot be reached or refuses something.
        """
        from groundset.printing import say
        from groundset.sets.hub.push import push_run

        return push_run(**dict(options), notify=lambda line: say(line, err=True))

    @for_python
    def report(self, out: str | Path | None = None) -> Path:
        """Write a page that shows what the run is worth, by default ``report.html`` in its folder; return its file.

        Raises:
            InputError: the file cannot be written.
        """
        from groundset.report.report import NAME, write_report

        file = None if out is None else paths_of("out", out)[0]
        write_report(self.folder, file)
        return file or self.folder / NAME

    @takes_options(SampleOptions, "size")
    def sample(self, options: SampleOptions) -> "OpenedRun":
        """Draw some samples into a new run, from as many documents as possible, and return it.

        With ``by``, each evolution (or kind, document, language) gives one sample first, and of the rest its share. The
        same call draws the same samples.

        Raises:
            InputError: there are fewer samples, or an option or the folder is wrong.
        """
        from groundset.sets.transforms.draw import sample_run

        sample_run(options.run, options.size, options.out, by=options.by, seed=options.seed)
        return OpenedRun(options.out)

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

    @takes_options(DropOptions, "where")
    def drop(self, options: DropOptions) -> "OpenedRun":
        """Drop the samples that a condition holds for, such as ``kind == "time" and rank > 1``, and return the new run.

        Raises:
            InputError: nothing would be left, or the condition or the folder is wrong.
        """
        from groundset.sets.transforms.drop import drop_run

        if options.out is None:
            raise InputError("--out: name the folder of the new run")
        drop_run(options.run, options.where, options.out)
        return OpenedRun(options.out)

    @takes_options(RelabelOptions, "critic")
    def relabel(self, options: RelabelOptions) -> "OpenedRun":
        """Let another critic judge the questions again, and return the new run.

        What it refuses becomes a reject, unless ``keep`` says otherwise.

        Raises:
            InputError: nothing would be left, or an option or the folder is wrong.
            ModelError: a model cannot be found or loaded.
        """
        from groundset.sets.transforms.relabel import relabel_run

        relabel_run(**dict(options))
        return OpenedRun(options.out)

    @takes_options(UpdateOptions, "docs")
    def update(self, options: UpdateOptions) -> "OpenedRun":
        """Keep the samples that still rest on documents which have changed, and return the new run.

        What has nothing to rest on any more is a reject of the step ``update``.

        Raises:
            InputError: nothing would be left, or a document or the folder is wrong.
            ModelError: the embedder cannot be loaded.
        """
        from groundset.sets.transforms.update import update_run

        update_run(options.run, options.docs, options.out, quiet=options.quiet)
        return OpenedRun(options.out)

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
