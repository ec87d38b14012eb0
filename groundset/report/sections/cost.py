"""What the samples took."""

from groundset.progress import counted, duration
from groundset.report.blocks import PageSection, Stated
from groundset.report.facts import RunFacts


def section(facts: RunFacts) -> PageSection:
    """Tell calls, tokens and seconds, in all and for each sample."""
    about = "Calls of the language model, tokens and time, over all processes that worked on the run."
    calls, kept = facts.calls, len(facts.samples)
    if facts.derived or not (calls.calls or facts.seconds):
        return PageSection("cost", "What it took", about, notes=["This run notes no calls and no time of its own."])
    n = counted(kept, "sample")
    counts = (
        ("Calls", calls.calls, "calls of the language model that finished"),
        ("Tokens read", calls.prompt_tokens, "tokens of all prompts"),
        ("Tokens read anew", calls.evaluated_tokens, "those that were not in the cache of the model"),
        ("Tokens written", calls.completion_tokens, ""),
    )
    figures = [
        Stated(name, f"{count:,}{f', {count / kept:,.1f} for each sample' if kept else ''}", n, "", meaning)
        for name, count, meaning in counts
    ]
    if facts.critic_calls.calls:
        judged = facts.critic_calls
        figures.append(
            Stated(
                "Calls to judge",
                f"{judged.calls:,}, {judged.prompt_tokens:,} tokens read, {judged.completion_tokens:,} written",
                n,
                "",
                "of a second language model, which are not among those above",
            )
        )
    each = f", {facts.seconds / kept:,.1f} s for each sample" if kept else ""
    figures.append(Stated("Time", f"{duration(facts.seconds)}{each}", n, "", "of all processes, one after the other"))
    return PageSection("cost", "What it took", about, figures=figures)
