"""Why questions were refused, with examples."""

from collections import Counter, defaultdict

from groundset.progress import counted
from groundset.report.blocks import Grid, PageSection
from groundset.report.facts import RunFacts, is_passage
from groundset.report.shares import bounds, percent, wilson
from groundset.report.words import cut
from programs.types import Reject

_EXAMPLES = 3  # of each reason
_REASONS = 12  # that have examples
_LONGEST = 300


def section(facts: RunFacts) -> PageSection:
    """Tell the reasons of refusals, the most frequent first, each with questions that it hit."""
    refused = facts.refused
    passages = [reject for reject in facts.rejects if is_passage(reject)]
    examples: dict[tuple[str, str], list[Reject]] = defaultdict(list)
    for reject in refused:
        held = examples[_reason(reject)]
        if len(held) < _EXAMPLES and reject.question and reject.question not in [each.question for each in held]:
            held.append(reject)
    tables = []
    if refused:
        counts = Counter(map(_reason, refused))
        tables.append(_counted("Refused questions", counts, "of all refused"))
        rows = [
            (f"{step}: {reason}", cut(reject.question or "", _LONGEST), cut(reject.reason, _LONGEST), reject.chunk_id)
            for (step, reason), _ in counts.most_common(_REASONS)
            for reject in examples[step, reason]
        ]
        tables.append(Grid("Examples", ("refused by", "question", "reason", "chunk"), rows, texts=True))
    if passages:
        tables.append(_counted("Passages that hold nothing to ask", Counter(map(_reason, passages)), "of all such"))
    about = f"{counted(len(refused), 'question')} refused"
    return PageSection(
        "refused",
        "What was refused, and why",
        f"{about}; {counted(len(passages), 'passage')} held nothing to ask, which is no fault." if passages
        else f"{about}.",
        tables=tables,
    )  # fmt: skip


def _reason(reject: Reject) -> tuple[str, str]:
    return reject.step, cut(reject.reason.split(":")[0], _LONGEST)  # what follows a colon is about the one candidate


def _counted(title: str, counts: Counter[tuple[str, str]], share: str) -> Grid:
    total = counts.total()
    rows = [
        (f"{step}: {reason}", f"{count:,}", percent(count / total), bounds(*wilson(count, total)))
        for (step, reason), count in counts.most_common()
    ]
    return Grid(f"{title} (n = {total:,})", ("reason", "count", share, "95 % interval"), rows)
