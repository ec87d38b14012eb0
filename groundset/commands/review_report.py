"""What `groundset review --report` prints: what readers signed, by what tells samples apart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundset.commands.tables import print_json, print_line, print_table
from groundset.printing import say
from groundset.progress import counted
from groundset.review.shares import Shares, Tally, TwoReaders, shares_of

_SHOWN = 20  # values of a group; --json tells all


def print_report(runs: list[Path], *, as_json: bool) -> None:
    """Print the share of samples that readers signed, with its interval, and how readers agree.

    Raises:
        InputError: a folder holds no run.
    """
    shares = shares_of(runs)
    if as_json:
        print_json({"runs": [str(run) for run in runs], **_document(shares)})
        return
    _print_samples(shares)
    if shares.rejects.read:
        say()
        print_line(f"Of {counted(shares.rejects.read, 'reject')} read, {_told(shares.rejects)} wrongly refused.")
        _print_tallies("refused by", shares.steps, "good")
    if shares.agreements:
        say()
    for agreement in shares.agreements:
        print_line(_agreed(agreement))


def _print_samples(shares: Shares) -> None:
    read = shares.samples.read
    if not read:
        print_line(f"No sample was read yet, of {shares.unread}.")
        return
    mended = f", {shares.mended} of them mended" if shares.mended else ""
    told = [f"Of {counted(read, 'sample')} read, {_told(shares.samples)} signed{mended}."]
    if shares.disputed:
        told.append(f"Readers disagree on {shares.disputed}.")
    print_line(" ".join([*told, f"Not read: {shares.unread}."]))
    for name, tallies in shares.groups.items():
        if len(tallies) > 1 or name == "reader":  # one value alone would repeat the line above
            _print_tallies(name, tallies, "signed")


def _print_tallies(heading: str, tallies: Mapping[str, Tally], good: str) -> None:
    if not tallies:
        return
    say()
    rows = [(value, str(tally.good), str(tally.read), _percent(tally)) for value, tally in tallies.items()]
    print_table((heading, good, "read", "share"), rows[:_SHOWN])
    if len(rows) > _SHOWN:
        print_line(f"{len(rows) - _SHOWN} more with fewer that were read: --json shows them.")


def _agreed(agreement: TwoReaders) -> str:
    one, other = agreement.readers
    kappa = "" if agreement.kappa is None else f", Cohen's kappa {agreement.kappa:.2f}"
    both = counted(agreement.both, agreement.what)
    return f"{one} and {other} both read {both}; they agree on {agreement.same}{kappa}."


def _told(tally: Tally) -> str:
    return f"{tally.good} ({_percent(tally)}) {'was' if tally.good == 1 else 'were'}"


def _percent(tally: Tally) -> str:
    share = tally.share
    return f"{share.value:.0%}, {100 * share.low:.0f} to {share.high:.0%}".replace("%", " %") if share else ""


def _document(shares: Shares) -> dict[str, Any]:
    return {
        "samples": {
            **_row(shares.samples, "signed"),
            "mended": shares.mended,
            "disputed": shares.disputed,
            "unread": shares.unread,
        },
        "by": {
            name: {value: _row(tally, "signed") for value, tally in tallies.items()}
            for name, tallies in shares.groups.items()
        },
        "rejects": {
            **_row(shares.rejects, "good"),
            "by_step": {step: _row(tally, "good") for step, tally in shares.steps.items()},
        },
        "agreement": [agreement._asdict() for agreement in shares.agreements],
    }


def _row(tally: Tally, good: str) -> dict[str, Any]:
    """Return a tally as it is printed in JSON; nothing is known of the share where nothing was read."""
    share = tally.share
    parts = share._asdict() if share else {"value": None, "low": None, "high": None}
    rounded = {name: None if part is None else round(part, 4) for name, part in parts.items()}
    return {good: tally.good, "read": tally.read, "share": rounded.pop("value"), **rounded}
