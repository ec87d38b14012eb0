"""The cost of the samples."""

from groundset.progress import counted, duration
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import Metric, PageSection


def section(run: RunAnalysis) -> PageSection:
    """Show calls, tokens and seconds, in all and for each sample."""
    title, about = "What it took", "Calls of the language model, tokens and time, over all processes."
    calls, judged, kept = run.calls, run.critic_calls, len(run.samples)
    if run.derived or not (calls.calls or run.seconds):
        return PageSection("cost", title, about, notes=["This run made no calls of its own and notes no time."])
    n = counted(kept, "sample")
    counts = (
        ("Calls", calls.calls, "finished calls of the language model"),
        ("Tokens read", calls.prompt_tokens, "tokens of all prompts"),
        ("Tokens read anew", calls.evaluated_tokens, "those that were not in the cache of the model"),
        ("Tokens written", calls.completion_tokens, ""),
    )
    metrics = [
        Metric(name, f"{count:,}{f', {count / kept:,.1f} for each sample' if kept else ''}", n, "", meaning)
        for name, count, meaning in counts
    ]
    if judged.calls:
        tokens = f"{judged.calls:,}, {judged.prompt_tokens:,} tokens read, {judged.completion_tokens:,} written"
        metrics.append(
            Metric("Calls to judge", tokens, n, "", "of a second language model, in addition to those above")
        )
    each = f", {run.seconds / kept:,.1f} s for each sample" if kept else ""
    metrics.append(Metric("Time", f"{duration(run.seconds)}{each}", n, "", "the sum over all processes"))
    return PageSection("cost", title, about, metrics)


SECTION = ReportSection("cost", section, rank=10)
