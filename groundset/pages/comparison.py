"""Two runs compared on a handful of shares, with what their samples could have shown."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from groundset import stats
from groundset.pages.figures import EARLY, Figures, answerable, found_within, share, signed
from groundset.progress import counted
from groundset.run.run import Run
from programs.errors import InputError


class Measure(NamedTuple):
    """One measure: ``of`` returns the number of the part and of the whole in a run.

    A ``search`` depends on embedder and chunks, which must be the same in both runs.
    """

    name: str
    of: Callable[[Run], tuple[int, int]]
    search: bool = False


def compare(run: Run, against: Run) -> Figures:
    """Compare a run with another one, as JSON types.

    Shares are tested by Fisher's exact test; p is corrected for all tests by Holm's procedure.

    Raises:
        InputError: both are the same run.
    """
    if run.folder.resolve() == against.folder.resolve():
        raise InputError(f"--against {against.folder}: is the same run; name another one")
    same_search = _search(run) is not None and _search(run) == _search(against)
    rows: list[Figures] = []
    tested = []
    for measure in MEASURES:
        new, old = measure.of(run), measure.of(against)
        row = {"measure": measure.name, "run": share(*new), "against": share(*old), "test": None}
        rows.append(row)
        if (same_search or not measure.search) and (found := stats.gain_of_shares(old, new)):
            tested.append((row, *found))
    for (row, gain, _), p in zip(tested, stats.holm([p for *_, p in tested]), strict=True):
        row["test"] = _test(gain, p, len(tested))
    names = [each.folder.resolve().name for each in (run, against)]
    if names[0] == names[1]:
        names = [str(run.folder), str(against.folder)]
    notes = [_documents_in_common(run, against)]
    if not same_search:
        notes.append("Ranks are not tested: chunks or embedders differ or are unknown, and ranks depend on them.")
    return {"run": names[0], "against": names[1], "measures": rows, "conclusion": _conclusion(rows), "notes": notes}


def _test(gain: stats.Estimate, p: float, tests: int) -> Figures:
    """Return a test as JSON types, with its words."""
    detectable = stats.detectable_gain(gain, tests)
    value, low, high = (round(100 * part) for part in gain)
    return {
        **gain._asdict(),
        "p": p,
        "detectable": detectable,
        "significant": p < stats.ALPHA and not gain.low <= 0 <= gain.high,
        "text": f"{value:+} points ({low:+} to {high:+})",
        "p_text": stats.p_text(p),
    }


def _conclusion(rows: Sequence[Figures]) -> str:
    tests = [(row["measure"], row["test"]) for row in rows if row["test"]]
    real = [f"{name} {test['text']}, {test['p_text']}" for name, test in tests if test["significant"]]
    if not real:
        return f"No significant difference in {counted(len(tests), 'measure')}."
    return f"Significant in {len(real)} of {counted(len(tests), 'measure')}: {'; '.join(real)}."


def _documents_in_common(run: Run, against: Run) -> str:
    new, old = ({_digest(document.text) for document in each.documents.values()} for each in (run, against))
    if new == old:
        same = "the same" if _chunk_texts(run) == _chunk_texts(against) else "different"
        return f"Both runs have the same documents, with {same} chunks."
    shared = f"{counted(len(new & old), 'document')}, of {len(new)} and {len(old)}"
    return f"The runs share {shared}; differences may be due to the others."


def _search(run: Run) -> Any:
    """Return what ranks depend on; None if it is not known."""
    sha256 = ((run.record.get("models") or {}).get("embedder") or {}).get("sha256")
    return (sha256, _chunk_texts(run)) if sha256 else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _chunk_texts(run: Run) -> frozenset[str]:
    return frozenset(_digest(chunk.text) for chunk in run.chunks.values())


def _attempts(run: Run) -> tuple[int, int]:
    """Count the good questions of attempts, also those that were more than asked for."""
    kept, attempts = len(run) + (run.record.get("surplus") or 0), run.record.get("attempts") or 0
    return (kept, attempts) if attempts >= kept else (0, 0)  # imports have samples without attempts


def _signed(run: Run) -> tuple[int, int]:
    verdicts = signed(run)
    return sum(verdicts.values()), len(verdicts)


def _found(rank: int, run: Run) -> tuple[int, int]:
    found = found_within(answerable(run.samples), rank)
    return int(found.sum()), len(found)


def _documents(run: Run) -> tuple[int, int]:
    used = {chunk.doc_id for sample in run.samples for chunk in sample.contexts}
    return len(used & run.documents.keys()), len(run.documents)


MEASURES = (
    Measure("attempts with a sample", _attempts),
    Measure("signed of reviewed", _signed),
    Measure("source found first", partial(_found, 1), search=True),
    Measure(f"source among the first {EARLY}", partial(_found, EARLY), search=True),
    Measure("documents covered", _documents),
)
