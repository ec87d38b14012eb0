"""Two runs compared on a handful of measures, with what their samples could have shown."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from groundset import stats
from groundset.pages.figures import EARLY, Figures, answerable, found_within, likeness, quartiles, share, signed
from groundset.progress import counted
from groundset.run.run import Run
from groundset.stats import Contrast, Values
from programs.errors import InputError
from programs.text import tokens
from programs.types import Sample

_PAIRED = 0.5  # share of the values of both runs that must have a partner for a paired test
# The values of a run, and what each is about (passages, a document); nothing if they cannot be paired.
_Measured = tuple[Values, Sequence[str]]


class Measure(NamedTuple):
    """One measure: ``of`` returns its values in a run, given the size of the smaller run; None if the run lacks them.

    Those of a share are 0 and 1. A ``search`` depends on embedder and chunks, which must be the same in both runs.
    """

    name: str
    is_share: bool
    of: Callable[[Run, int], _Measured | None]
    search: bool = False


def compare(run: Run, against: Run) -> Figures:
    """Compare a run with another one, as JSON types.

    A measure is tested in pairs where both runs have values about the same passages or documents, by the sign test
    (McNemar's, exact) of the differences; else by Fisher's exact test of shares, or the Mann-Whitney test of values.
    p is corrected for all tests by Holm's procedure.

    Raises:
        InputError: both are the same run.
    """
    if run.folder.resolve() == against.folder.resolve():
        raise InputError(f"--against {against.folder}: is the same run; name another one")
    size, same_search = min(len(run), len(against)), _search(run) is not None and _search(run) == _search(against)
    rows, tested = [], []
    for measure in MEASURES:
        new, old = measure.of(run, size), measure.of(against, size)
        row = {"measure": measure.name, "is_share": measure.is_share, "run": _summary(measure, new),
               "against": _summary(measure, old), "test": None}  # fmt: skip
        rows.append(row)
        if new and old and (same_search or not measure.search):
            contrast = stats.contrast_shares if measure.is_share else stats.contrast_values
            pairs, found = _paired(new, old) or (0, contrast(old[0], new[0]))
            if found:
                tested.append((row, pairs, found))
    for (row, pairs, found), p in zip(tested, stats.holm([found.p for *_, found in tested]), strict=True):
        row["test"] = _test(found, p, pairs, len(tested), is_share=bool(row["is_share"]))
    names = [each.folder.resolve().name for each in (run, against)]
    if names[0] == names[1]:
        names = [str(run.folder), str(against.folder)]
    notes = [_documents_in_common(run, against)]
    if not same_search:
        notes.append("Ranks are not tested: chunks or embedders differ or are unknown, and ranks depend on them.")
    return {"run": names[0], "against": names[1], "measures": rows, "conclusion": _conclusion(rows), "notes": notes}


def _test(found: Contrast, p: float, pairs: int, tests: int, *, is_share: bool) -> Figures:
    """Return a test as JSON types, with its words: points of a share, or pairs out of 100."""
    detectable = found.detectable(tests)
    gain, low, high, least = (round(100 * part) for part in (found.gain, found.low, found.high, detectable))
    if is_share:
        text, smallest = f"{gain:+} points ({low:+} to {high:+})", f"{least} points" if least < 100 else "–"
    else:
        text = f"higher in {50 + gain} of 100 pairs ({50 + low} to {50 + high})"
        smallest = f"{50 + least} of 100 pairs" if least < 50 else "–"
    return {
        "gain": found.gain, "low": found.low, "high": found.high, "p": p, "pairs": pairs, "detectable": detectable,
        "significant": bool(p < stats.ALPHA and not found.low <= 0 <= found.high),
        "text": text, "p_text": stats.p_text(p), "detectable_text": smallest,
    }  # fmt: skip


def _paired(new: _Measured, old: _Measured) -> tuple[int, Contrast] | None:
    """Return the number of pairs and the test of their differences; None if too few values have a partner."""
    groups: list[dict[str, list[float]]] = [defaultdict(list), defaultdict(list)]
    for group, (values, about) in zip(groups, (new, old), strict=True):
        for name, value in zip(about, values, strict=bool(about)):
            group[name].append(float(value))
    common = sorted(groups[0].keys() & groups[1].keys())
    partnered = [sum(len(group[name]) for name in common) for group in groups]
    if not common or any(part < _PAIRED * len(values) for part, (values, _) in zip(partnered, (new, old), strict=True)):
        return None
    gains = np.array([np.mean(groups[0][name]) - np.mean(groups[1][name]) for name in common])
    found = stats.bootstrap_mean(gains, np.arange(len(gains)), lowest=-1.0)
    detectable = partial(stats.detectable_gain, found, len(gains), counted=True)
    return len(gains), Contrast(*found, stats.mcnemar(gains), detectable)


def _summary(measure: Measure, found: _Measured | None) -> Figures | None:
    if found is None:
        return None
    return share(int(found[0].sum()), len(found[0])) if measure.is_share else quartiles(found[0])


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


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _chunk_texts(run: Run) -> frozenset[str]:
    return frozenset(_digest(chunk.text) for chunk in run.chunks.values())


def _passages(samples: Sequence[Sample]) -> list[str]:
    return [_digest(*sorted(chunk.text for chunk in sample.contexts)) for sample in samples]


def _attempts(run: Run, _: int) -> _Measured | None:
    """Count the good questions of attempts, also those that were more than asked for."""
    kept, attempts = len(run) + (run.record.get("surplus") or 0), run.record.get("attempts") or 0
    return (np.array([1.0] * kept + [0.0] * (attempts - kept)), ()) if attempts >= max(kept, 1) else None


def _signed(run: Run, _: int) -> _Measured | None:
    verdicts = signed(run)
    samples = [sample for sample in run.samples if sample.id in verdicts]
    return (np.array([float(verdicts[each.id]) for each in samples]), _passages(samples)) if samples else None


def _found(rank: int, run: Run, _: int) -> _Measured | None:
    samples = answerable(run.samples)
    return (found_within(samples, rank), _passages(samples)) if samples else None


def _documents(run: Run, _: int) -> _Measured:
    used = {chunk.doc_id for sample in run.samples for chunk in sample.contexts}
    values = np.array([float(doc_id in used) for doc_id in run.documents])
    return values, [_digest(document.text) for document in run.documents.values()]


def _words(field: str, run: Run, _: int) -> _Measured:
    return np.array([float(len(tokens(getattr(sample, field)))) for sample in run.samples]), ()


def _alike(run: Run, size: int) -> _Measured:
    """Measure as many questions as the smaller run has, drawn at random: more questions have more similar ones."""
    drawn = np.random.default_rng(0).choice(len(run), size=size, replace=False)
    return likeness([run.samples[place].question for place in drawn]), ()


MEASURES = (
    Measure("attempts with a sample", True, _attempts),
    Measure("signed of reviewed", True, _signed),
    Measure("source found first", True, partial(_found, 1), search=True),
    Measure(f"source among the first {EARLY}", True, partial(_found, EARLY), search=True),
    Measure("documents covered", True, _documents),
    Measure("words per question", False, partial(_words, "question")),
    Measure("words per answer", False, partial(_words, "answer")),
    Measure("words shared with the most similar question", False, _alike),
)
