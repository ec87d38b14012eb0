"""`groundset generate --dry-run`: what a run would read, ask and cost, without any model; it writes
nothing.
"""

from collections.abc import Iterable, Iterator

from groundset.corpus.corpus import Corpus, read_corpus
from groundset.models.open import parse_spec, size_of
from groundset.printing import Progress, counted, duration, say
from groundset.privacy import without_secrets
from groundset.programs.faq import stated_questions
from groundset.programs.forms import SIMPLE
from groundset.programs.given import no_question
from groundset.programs.languages import ENGLISH, language_of
from groundset.programs.stats import sight
from groundset.run.compiled import load_compiled
from groundset.run.folder import holds_run
from groundset.run.generate import check_reads, own_files
from groundset.run.options import GenerateOptions
from groundset.run.plan import quotas
from groundset.run.preparing import askable
from groundset.run.recipes import Cost
from groundset.run.record import listed
from groundset.run.run import Run
from groundset.run.subjects import unasked

_GUIDED = Cost(
    4.7, 2_091, 60, "qwen2.5-coder-0.5b guided, 44 samples of 16 articles on two cores", 6.8
)
_SHOWN = 12  # subjects
_FACTS = 6  # chunks for each that carries an easy fact


def forecast(options: GenerateOptions) -> int:
    """Print what a run would do; return the exit status.

    Raises:
        InputError: the input or an option is wrong.
    """
    own, questions = own_files(options)
    made = len(Run(options.out)) if options.out and holds_run(options.out) else 0
    size = size_of(options.lm)
    if options.questions:
        name = parse_spec(options.lm).name
        check_reads(name, size["guided"], load_compiled(options.compiled, name, own=own))
    options = options.resolved(**size)
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading documents")
        corpus = read_corpus(options, notify=say, on_file=progress.advance)
    documents = counted(len(corpus.documents), "document")
    chunks = counted(len(corpus.chunks), "chunk")
    dropped = [f"{count} {reason}" for reason, count in corpus.dropped.items() if count]
    say(
        f"{documents} with {chunks}, {len(corpus.skipped)} skipped;"
        f" chunks dropped: {', '.join(dropped) or 'none'}."
    )
    if options.questions:
        lines = _given_lines(options, questions, made)
    else:
        lines = _lines(options, corpus, made)
    for line in lines:
        say(line)
    return 0


def _given_lines(options: GenerateOptions, questions: Iterable[str], made: int) -> Iterator[str]:
    """Yield how many questions of the user will be answered, and what that takes."""
    own = sum(no_question(text) is None for text in questions)
    yield (
        f"{counted(own, 'different question')} in {without_secrets(str(options.questions))};"
        " near duplicates are asked once."
    )
    left = max(0, min(options.size or own, own) - made)
    yield from _costs(options, left, left, options.row.cost, made)


def _lines(options: GenerateOptions, corpus: Corpus, made: int) -> Iterator[str]:
    """Yield what will be asked, and what that takes."""
    asked = askable(corpus, options)
    left = max(0, (options.size or options.row.size or len(asked)) - made)
    samples = Run(options.out).samples if made else ()
    told = ", ".join(unasked(corpus.chunks, samples)[:_SHOWN]) or "none that headings name"
    yield f"Subjects{' with no question yet' if made else ''}: {told}."
    texts = [chunk.passage for chunk in asked]
    stated = {
        question
        for chunk, text in zip(asked, texts, strict=True)
        for question, _ in stated_questions(text, chunk.topic, corpus.after(chunk))
    }
    if stated and SIMPLE in options.mix:
        yield (
            f"The documents state and answer {counted(len(stated), 'question')} themselves,"
            " which are taken first."
        )
    if not options.guided:
        yield f"Forms of question: {listed(quotas(left, options.mix))}."
        yield from _costs(options, left, left, options.row.cost, made)
        return
    facts = round(sum(language_of(text) == ENGLISH.code for text in texts) / _FACTS)
    sure = min(left, max(0, len(stated) - made))
    yield (
        f"A guided model asks simple questions: {sure} of {left} are sure, which documents state;"
        f" about {facts} chunks carry an easy English fact, and few of these become questions."
    )
    left = min(left, sure + facts)
    yield from _costs(options, left, left - sure, _GUIDED, made)


def _costs(options: GenerateOptions, size: int, paid: int, cost: Cost, made: int) -> Iterator[str]:
    """Yield what samples take, of which some are paid for."""
    seconds = paid * cost.seconds
    time = duration(seconds) if seconds else f"that of the calls, {options.workers} at once"
    beside = f" beside {made} made" if made else ""
    yield (
        f"{counted(size, 'sample')}{beside}: about {counted(round(paid * cost.calls), 'call')},"
        f" {paid * cost.prompt_tokens:,} prompt tokens and"
        f" {paid * cost.generated_tokens:,} generated ones; time: {time}."
    )
    if size + made:
        yield f"{sight(size + made)}."
    yield (
        f"Measured with {cost.source} (benchmarks/README.md);"
        " other models and documents may take twice as much."
    )
    if options.hard:
        yield "--hard makes others in place of questions that searches agree on: these come on top."
    yield "Nothing was written."
