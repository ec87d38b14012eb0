"""Print the report of `groundset review --report`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundset.commands.output.tables import print_json, print_line, print_table
from groundset.printing import say
from groundset.progress import counted
from groundset.review.results import ReviewSummary, Tally, summarise_reviews

_MAX_ROWS = 20  # of a table; --json has all


def print_report(runs: list[Path], *, as_json: bool) -> None:
    """Print the share of signed samples with its interval, and the agreement of reviewers.

    Raises:
        InputError: a folder holds no run.
    """
    summary = summarise_reviews(runs)
    if as_json:
        print_json({"runs": [str(run) for run in runs], **_to_dict(summary)})
        return
    _print_samples(summary)
    if summary.rejects.reviewed:
        say()
        rejects = counted(summary.rejects.reviewed, "reject")
        print_line(f"Reviewed {rejects}: {_share(summary.rejects)} wrongly refused.")
        _print_tallies("refused by", summary.steps, "good")
    if summary.agreements:
        say()
    for (one, other), kind, both, same, kappa in summary.agreements:
        suffix = "" if kappa is None else f", Cohen's kappa {kappa:.2f}"
        print_line(f"{one} and {other} both reviewed {counted(both, kind)} and agree on {same}{suffix}.")


def _print_samples(summary: ReviewSummary) -> None:
    if not summary.samples.reviewed:
        print_line(f"Reviewed 0 of {counted(summary.unread, 'sample')}.")
        return
    corrected = f", {summary.corrected} of them corrected" if summary.corrected else ""
    disputed = f" Reviewers disagree on {summary.disputed}." if summary.disputed else ""
    samples = counted(summary.samples.reviewed, "sample")
    print_line(
        f"Reviewed {samples}: {_share(summary.samples)} signed{corrected}.{disputed} Not reviewed: {summary.unread}."
    )
    for name, tallies in summary.groups.items():
        if len(tallies) > 1 or name == "reader":  # a single value would repeat the line above
            _print_tallies("reviewer" if name == "reader" else name, tallies, "signed")


def _print_tallies(heading: str, tallies: Mapping[str, Tally], good: str) -> None:
    if not tallies:
        return
    say()
    rows = [(value, str(tally.good), str(tally.reviewed), _percent(tally)) for value, tally in tallies.items()]
    print_table((heading, good, "reviewed", "share"), rows[:_MAX_ROWS])
    if len(rows) > _MAX_ROWS:
        print_line(f"{len(rows) - _MAX_ROWS} more with fewer reviews; use --json to see all.")


def _share(tally: Tally) -> str:
    return f"{tally.good} ({_percent(tally)})"


def _percent(tally: Tally) -> str:
    share = tally.share
    return f"{share.value:.0%}, {100 * share.low:.0f} to {share.high:.0%}".replace("%", " %") if share else ""


def _to_dict(summary: ReviewSummary) -> dict[str, Any]:
    return {
        "samples": {
            **_row(summary.samples, "signed"),
            "corrected": summary.corrected,
            "disputed": summary.disputed,
            "unread": summary.unread,
        },
        "by": {
            name: {value: _row(tally, "signed") for value, tally in tallies.items()}
            for name, tallies in summary.groups.items()
        },
        "rejects": {
            **_row(summary.rejects, "good"),
            "by_step": {step: _row(tally, "good") for step, tally in summary.steps.items()},
        },
        "agreement": [
            {"readers": reviewers, "what": kind, "both": both, "same": same, "kappa": kappa}
            for reviewers, kind, both, same, kappa in summary.agreements
        ],
    }


def _row(tally: Tally, good: str) -> dict[str, Any]:
    """Return a tally as JSON types; the share is None without reviews."""
    share, low, high = (round(part, 4) for part in tally.share) if tally.share else (None, None, None)
    return {good: tally.good, "read": tally.reviewed, "share": share, "low": low, "high": high}
