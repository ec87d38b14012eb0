"""The run class of the Python interface, returned by ``generate`` and ``open_run``."""

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
    """A run: a sequence of its samples, with everything stored about it; each part is read on first access.

    Attributes:
        folder: its folder.
        samples: the accepted samples, in order.
        rejects: refused candidates, each with the step and the reason.
        record: the content of ``run.json``: configuration, models, counts, tokens, seconds.
        summary: a few lines on accepted samples, rejects with their reasons, and cost.
    """

    @cached_property
    def summary(self) -> str:
        """Return a few lines on accepted samples, rejects with their reasons, and cost."""
        return as_parameters("\n".join(self.summary_lines))

    @property
    def status(self) -> str:
        """Return ``complete``, ``short`` (fewer were possible), ``budget``, ``interrupted``, ``failed`` or ``running``.

        A killed run stays ``running``. The call that started an unfinished run continues it.
        """
        return str(self.record["status"])

    @property
    def is_complete(self) -> bool:
        """Return whether all requested samples were made."""
        return self.status == "complete"

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each sample.

        | column | what it holds |
        |---|---|
        | `id`, `question`, `answer` | texts |
        | `contexts` | the list of texts of the chunks that the question was made from |
        | `chunk_ids`, `paths` | lists of the ids and files of these chunks |
        | `retrieval_gt` | the chunks that the question needs: a list of groups, one chunk of each group |
        | `rank` | the retrieval rank of its chunk among all chunks, from 1; missing beyond the search depth |
        | `probability` | the critics' probability that the question is good |
        | `evolution`, `language` | the evolution of the question; the ISO 639-1 code of its chunk |
        | `split` | the split of its document; missing if the run has no splits |
        """
        import pandas as pd

        from groundset.sets.exports.base import question_row

        rows = [question_row(sample) for sample in self.samples]
        return pd.DataFrame(rows, columns=COLUMNS).astype({"rank": "Int64", "probability": "float64"})

    @takes_options(ExportOptions, "format", "out")
    def export(self, options: ExportOptions) -> "Exported":
        """Write the run in the format of another tool to a folder, and return what was written.

        ``format`` may be a comma-separated list; each format then gets its own folder in ``out``.

        Raises:
            InputError: the format is unknown, or the folder cannot be written.
        """
        from groundset.sets.exporting import export_run

        return export_run(
            options.run, options.format, options.out, **options.model_dump(exclude={"run", "format", "out"})
        )

    @takes_options(PushOptions, "repo")
    def push(self, options: PushOptions) -> "Pushed":
        """Upload the run to the Hugging Face Hub as a dataset, and return what has changed.

        The token is taken from ``HF_TOKEN`` or ``hf auth login``. With ``dry_run``, the Hub is not contacted.

        Raises:
            InputError: an option is wrong, or the folder cannot be written.
            HubError: the Hub cannot be reached or rejects a request.
        """
        from groundset.printing import say
        from groundset.sets.hub.push import push_run

        return push_run(**dict(options), notify=lambda line: say(line, err=True))

    @for_python
    def report(self, out: str | Path | None = None) -> Path:
        """Write a report on the quality of the run, by default ``report.html`` in its folder, and return its path.

        Raises:
            InputError: the file cannot be written.
        """
        from groundset.report.report import NAME, write_report

        file = None if out is None else paths_of("out", out)[0]
        write_report(self.folder, file)
        return file or self.folder / NAME

    @takes_options(SampleOptions, "size")
    def sample(self, options: SampleOptions) -> "OpenedRun":
        """Draw samples into a new run, from as many documents as possible, and return it.

        With ``by``, each evolution (or kind, document, language) gets one sample first, and then its share of the rest.
        The same call draws the same samples.

        Raises:
            InputError: there are too few samples, or an option or the folder is wrong.
        """
        from groundset.sets.transforms.draw import sample_run

        sample_run(options.run, options.size, options.out, by=options.by, seed=options.seed)
        return OpenedRun(options.out)

    @for_python
    def split(self, splits: str | Mapping[str, float], *, out: str | Path, seed: int = 0) -> "OpenedRun":
        """Assign samples to splits without leakage in a new run, and return it.

        ``splits`` are shares that add up to 1: a mapping, or a text such as ``train=0.8,test=0.2``.

        Raises:
            InputError: too many samples share documents, or an option or the folder is wrong.
        """
        from groundset.sets.transforms.splits import split_run

        (folder,) = paths_of("out", out)
        split_run(self.folder, splits, folder, seed=seed)
        return OpenedRun(folder)

    @takes_options(DropOptions, "where")
    def drop(self, options: DropOptions) -> "OpenedRun":
        """Drop the samples that match a condition, such as ``kind == "time" and rank > 1``, and return the new run.

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
        """Judge the questions again with another critic, and return the new run.

        Refused samples become rejects, unless ``keep`` is set.

        Raises:
            InputError: nothing would be left, or an option or the folder is wrong.
            ModelError: a model cannot be found or loaded.
        """
        from groundset.sets.transforms.relabel import relabel_run

        relabel_run(**dict(options))
        return OpenedRun(options.out)

    @takes_options(UpdateOptions, "docs")
    def update(self, options: UpdateOptions) -> "OpenedRun":
        """Keep the samples whose chunks are still in the changed documents, and return the new run.

        The other samples become rejects of the step ``update``.

        Raises:
            InputError: nothing would be left, or a document or the folder is wrong.
            ModelError: the embedder cannot be loaded.
        """
        from groundset.sets.transforms.update import update_run

        update_run(options.run, options.docs, options.out, engine=options.engine, quiet=options.quiet)
        return OpenedRun(options.out)

    @for_python
    def open_in_browser(self) -> Path:
        """Show the samples in a browser, and return the path of the page, ``samples.html`` in the folder.

        Raises:
            InputError: the folder cannot be written.
        """
        from groundset.page import show_page

        return show_page(self)

    def __repr__(self) -> str:
        """Return the folder, number of samples and status in one line."""
        from groundset.progress import of_requested

        return f"<Run {self.folder}: {of_requested(len(self), self.record['asked'])}, {self.status}>"

    def _repr_html_(self) -> str:
        """Return the first samples as HTML for notebooks."""
        from groundset.page import first_samples

        return first_samples(self)


COLUMNS = [
    "id", "question", "answer", "contexts", "chunk_ids", "paths", "retrieval_gt", "rank", "probability", "evolution",
    "language", "split",
]  # fmt: skip
