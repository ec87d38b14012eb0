"""Report section: calls, tokens and time."""

from groundset.progress import counted, duration
from groundset.report.analysis import ReportSection, RunAnalysis
from groundset.report.page import Metric, PageSection


def section(run: RunAnalysis) -> PageSection:
    """Show calls, tokens and seconds, in total and per sample."""
    title, about = "Cost", "Language model calls, tokens and time, over all processes."
    calls, judged, kept = run.calls, run.critic_calls, len(run.samples)
    if run.derived or not (calls.calls or run.seconds):
        return PageSection("cost", title, about, notes=["This run has no calls of its own and no recorded time."])
    n = counted(kept, "sample")
    counts = (
        ("Calls", calls.calls, "finished language model calls"),
        ("Prompt tokens", calls.prompt_tokens, ""),
        ("Uncached prompt tokens", calls.evaluated_tokens, "not in the prefix cache of the model"),
        ("Completion tokens", calls.completion_tokens, ""),
    )
    metrics = [
        Metric(name, f"{count:,}{f', {count / kept:,.1f} per sample' if kept else ''}", n, "", meaning)
        for name, count, meaning in counts
    ]
    if judged.calls:
        tokens = f"{judged.calls:,}, {judged.prompt_tokens:,} prompt tokens, {judged.completion_tokens:,} completion"
        metrics.append(
            Metric("Judging calls", tokens, n, "", "of a second language model, in addition to the calls above")
        )
    per_sample = f", {run.seconds / kept:,.1f} s per sample" if kept else ""
    metrics.append(Metric("Time", f"{duration(run.seconds)}{per_sample}", n, "", "total over all processes"))
    return PageSection("cost", title, about, metrics)


SECTION = ReportSection("cost", section, rank=10)
