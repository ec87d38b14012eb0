"""Measure whether labels of a user's own documents make a critic better on other documents of the same kind.

    python benchmarks/own_labels.py [--step judge|chunk] [--accepts REASON]

The user is simulated. Each group of documents of data/labels/ is left out in turn, as if it were the user's, and the
head is fitted to the train rows of all others: that is "before". For every document of the group it is fitted again
with the train rows of one, two, four or all further documents of the group, as if these had been read, and asked about
the document itself, which it has never seen. With --accepts the user calls good what is bad for one reason. Prints
Markdown tables: the area under the ROC curve before and after, and the paired gain, with intervals over documents. Some
minutes, two of them for reading the evidence.
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
# The documents of data/labels/chunks.jsonl come kind by kind; these begin the kinds.
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
_READ: tuple[int | None, ...] = (1, 2, 4, None)  # documents that the user has read; None is all but the one asked about
Scores = npt.NDArray[np.float64]


class Bench:
    """The labels of a step with their evidence, and heads fitted to the rows of some documents.

    ``good`` is what the user says, who accepts what is bad for one reason.
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

    def places(self, documents: Iterable[str]) -> npt.NDArray[np.intp]:
        """Return where the rows of documents are."""
        return np.flatnonzero(np.isin(self.documents, list(documents)))

    def scores(self, others: Sequence[str], own: Sequence[str], documents: Sequence[str]) -> Scores:
        """Return the probabilities of the rows of documents, by a head fitted to those of others and the user's own."""
        shipped, read = self.places(others), self.places(own)
        true = [bool(good) for good in (*self._shipped[shipped], *self.good[read])]
        head = fit_head(self._rows.at(np.concatenate([shipped, read])), true, FITTED[self._step].options)
        return np.array(probabilities(head, self._rows.at(self.places(documents))))

    def compare(self, group: Sequence[str], read: int | None, *, instead: bool = False) -> Scores:
        """Return the probabilities of the rows of a group, each by a head that knows some others of the group.

        With ``instead`` the rows read take the place of as many other documents.
        """
        others = [name for name, train in self.is_train.items() if train and name not in group]
        places, found = self.places(group), np.zeros(len(self.good))
        asked: dict[tuple[str, ...], list[str]] = {}
        for document in group:
            own = [name for name in group if name != document and self.is_train[name]]
            if read is not None and read < len(own):
                own = random.Random(f"{_SEED}/{document}").sample(own, read)
            asked.setdefault(tuple(sorted(own)), []).append(document)
        for known, documents in asked.items():
            left_out = random.Random(f"{_SEED}/{known}").sample(others, len(known)) if instead else []
            kept = [name for name in others if name not in left_out]
            found[self.places(documents)] = self.scores(kept, known, documents)
        return found[places]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", default="judge", choices=["judge", "chunk"])
    parser.add_argument("--accepts", metavar="REASON")
    arguments = parser.parse_args()
    bench = Bench(arguments.step, arguments.accepts)
    before, after = np.zeros(len(bench.good)), np.zeros(len(bench.good))
    print("| documents of the user | n | rows | AUC before | after | gain |\n|---|---|---|---|---|---|", flush=True)
    for name, group in bench.groups.items():
        places = bench.places(group)
        others = [each for each, train in bench.is_train.items() if train and each not in group]
        before[places], after[places] = bench.scores(others, (), group), bench.compare(group, None)
        print(f"| {name} | {len(group)} | {len(places)} | {_told(bench, before, after, places)} |", flush=True)
    everything = np.arange(len(bench.good))
    print(f"| all | {len(bench.is_train)} | {len(everything)} | {_told(bench, before, after, everything)} |\n")
    print("| documents read | AUC before | after | gain |\n|---|---|---|---|", flush=True)
    for read in _READ[:-1]:
        print(f"| {read} | {_told(bench, before, _over_groups(bench, read), everything)} |", flush=True)
    print(f"| all others of the group | {_told(bench, before, after, everything)} |")
    swapped = _over_groups(bench, None, instead=True)
    print(f"| the same, in place of as many documents of other kinds | {_told(bench, before, swapped, everything)} |")


def _over_groups(bench: Bench, read: int | None, *, instead: bool = False) -> Scores:
    found = np.zeros(len(bench.good))
    for group in bench.groups.values():
        found[bench.places(group)] = bench.compare(group, read, instead=instead)
    return found


def _groups(documents: Iterable[str]) -> dict[str, list[str]]:
    """Return the documents of each kind."""
    order = dict.fromkeys(label.document for label in read_labels(ChunkLabel, label_files((), ChunkLabel)))
    known, groups, kind = set(documents), dict[str, list[str]](), ""
    for name in order:
        kind = _KINDS.get(name, kind)
        if name in known:
            groups.setdefault(kind, []).append(name)
    return groups


def _told(bench: Bench, before: Scores, after: Scores, places: npt.NDArray[np.intp]) -> str:
    good, units = list(bench.good[places]), list(bench.documents[places])
    old, new = list(before[places]), list(after[places])
    gain = paired_gain(area_under_roc, good, old, new, units)
    cells = [str(bootstrap(area_under_roc, good, scores, units)) for scores in (old, new)]
    low, high = (f"{part:+.3f}" for part in gain[1:])
    return " | ".join([*cells, f"{gain.value:+.3f} ({low} to {high})"])


if __name__ == "__main__":
    main()
