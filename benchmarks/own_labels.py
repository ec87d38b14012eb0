"""Measure whether labels of a user's own documents improve a critic on other documents of the same kind.

    python benchmarks/own_labels.py [--step judge|chunk] [--accepts REASON]

The user is simulated. Each group of documents in data/labels/ is held out in turn as the user's, and the head is fitted
to the train rows of all others ("before"). For every document of the group the head is fitted again with the train rows
of one, two, four or all other documents of the group, as if the user had labelled them, and measured on the document
itself. With --accepts the user accepts questions that are bad for one reason. Prints Markdown tables with the area
under the ROC curve before and after, and the paired gain, with intervals over documents. Takes some minutes.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from groundset.compiling.labels import label_files
from groundset.retrieval.embedder import load_embedder
from optimizers.fit_critic import rows_of
from optimizers.gold import read_decided
from optimizers.labels import ChunkLabel, read_labels
from optimizers.logistic import fit_head, probabilities
from optimizers.measures import area_under_roc, bootstrap, paired_gain
from optimizers.steps import FITTED
from programs.languages import LANGUAGES
from programs.languages.table import Languages

_EMBEDDER = "all-minilm-l6-v2"
_SEED = 0
# The documents of data/labels/chunks.jsonl are sorted by kind; these are the first of each kind.
_KINDS = {
    "ambarwiratu-iii": "encyclopaedia",
    "auditor-general-report-ferry-subsidies": "law and business",
    "de-gemeinderat-unterwoelsach": "German",
    "es-historia-de-quilmarca-la-vieja": "Spanish",
    "fr-bac-de-lanvorgne-actualite": "French",
    "case-report-blue-sclera-lake-fisherman": "medicine and safety",
    "brethren-of-saint-odhrane": "history and places",
    "abstracts-of-the-nineteenth-dimstar-meeting": "science",
    "buoy-lease-protocol-rfr412": "software and machines",
    "ardlonga-ferry-pier-closure": "news, talk and scans",
}
_LABELLED = (1, 2, 4)  # documents
Scores = npt.NDArray[np.float64]


class LabelledRows:
    """The labels of a step with their features, and heads fitted to the rows of some documents.

    ``good`` are the labels of the user, who may accept rows that are bad for one reason.
    """

    def __init__(self, step: str, accepts: str | None = None) -> None:
        kind: Any = FITTED[step].labels
        labels = read_decided(kind, label_files((), kind))
        self._step = step
        self._rows = rows_of(step, labels, load_embedder(_EMBEDDER), Languages(LANGUAGES))
        self._shipped = np.array([label.good for label in labels])
        self.good = self._shipped | np.array([label.reason == accepts for label in labels])
        self.documents = np.array([label.document for label in labels])
        self.is_train = {label.document: label.split == "train" for label in labels}
        self.groups = _groups(self.is_train)

    def indexes(self, documents: Iterable[str]) -> npt.NDArray[np.intp]:
        """Return the indexes of the rows of documents."""
        return np.flatnonzero(np.isin(self.documents, list(documents)))

    def scores(self, others: Sequence[str], labelled: Sequence[str], documents: Sequence[str]) -> Scores:
        """Return the probabilities of the rows of documents, by a head fitted to other and user-labelled documents."""
        shipped, own = self.indexes(others), self.indexes(labelled)
        true = [bool(good) for good in (*self._shipped[shipped], *self.good[own])]
        head = fit_head(self._rows.at(np.concatenate([shipped, own])), true, FITTED[self._step].options)
        return np.array(probabilities(head, self._rows.at(self.indexes(documents))))

    def compare(self, group: Sequence[str], count: int | None, *, instead: bool = False) -> Scores:
        """Return the probabilities of the rows of a group, by heads fitted with ``count`` other documents of the group.

        None is all of them. With ``instead`` they replace as many documents of other groups.
        """
        others = [name for name, train in self.is_train.items() if train and name not in group]
        scores = np.zeros(len(self.good))
        documents_by_labelled: dict[tuple[str, ...], list[str]] = {}
        for document in group:
            labelled = [name for name in group if name != document and self.is_train[name]]
            if count is not None and count < len(labelled):
                labelled = random.Random(f"{_SEED}/{document}").sample(labelled, count)
            documents_by_labelled.setdefault(tuple(sorted(labelled)), []).append(document)
        for known, documents in documents_by_labelled.items():
            replaced = random.Random(f"{_SEED}/{known}").sample(others, len(known)) if instead else []
            kept = [name for name in others if name not in replaced]
            scores[self.indexes(documents)] = self.scores(kept, known, documents)
        return scores[self.indexes(group)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", default="judge", choices=["judge", "chunk"])
    parser.add_argument("--accepts", metavar="REASON")
    arguments = parser.parse_args()
    data = LabelledRows(arguments.step, arguments.accepts)
    before, after = np.zeros(len(data.good)), np.zeros(len(data.good))
    print("| documents of the user | n | rows | AUC before | after | gain |\n|---|---|---|---|---|---|", flush=True)
    for name, group in data.groups.items():
        rows = data.indexes(group)
        others = [each for each, train in data.is_train.items() if train and each not in group]
        before[rows], after[rows] = data.scores(others, (), group), data.compare(group, None)
        print(f"| {name} | {len(group)} | {len(rows)} | {_cells(data, before, after, rows)} |", flush=True)
    everything = np.arange(len(data.good))
    print(f"| all | {len(data.is_train)} | {len(everything)} | {_cells(data, before, after, everything)} |\n")
    print("| labelled documents | AUC before | after | gain |\n|---|---|---|---|", flush=True)
    for count in _LABELLED:
        print(f"| {count} | {_cells(data, before, _over_groups(data, count), everything)} |", flush=True)
    print(f"| all others of the group | {_cells(data, before, after, everything)} |")
    swapped = _over_groups(data, None, instead=True)
    print(f"| the same, instead of as many documents of other kinds | {_cells(data, before, swapped, everything)} |")


def _over_groups(data: LabelledRows, count: int | None, *, instead: bool = False) -> Scores:
    scores = np.zeros(len(data.good))
    for group in data.groups.values():
        scores[data.indexes(group)] = data.compare(group, count, instead=instead)
    return scores


def _groups(documents: Iterable[str]) -> dict[str, list[str]]:
    """Return the documents of each kind."""
    order = dict.fromkeys(label.document for label in read_labels(ChunkLabel, label_files((), ChunkLabel)))
    known, groups, kind = set(documents), dict[str, list[str]](), ""
    for name in order:
        kind = _KINDS.get(name, kind)
        if name in known:
            groups.setdefault(kind, []).append(name)
    return groups


def _cells(data: LabelledRows, before: Scores, after: Scores, rows: npt.NDArray[np.intp]) -> str:
    good, units = list(data.good[rows]), list(data.documents[rows])
    old, new = list(before[rows]), list(after[rows])
    gain = paired_gain(area_under_roc, good, old, new, units)
    cells = [str(bootstrap(area_under_roc, good, scores, units)) for scores in (old, new)]
    low, high = (f"{part:+.3f}" for part in gain[1:])
    return " | ".join([*cells, f"{gain.value:+.3f} ({low} to {high})"])


if __name__ == "__main__":
    main()
