"""`groundset generate --dry-run`: what a run would read, ask and cost, without a language model; it writes nothing."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from groundset.corpus.corpus import Corpus, read_corpus
from groundset.corpus.prepare import prepare_batches
from groundset.models.catalogue import CATALOGUE
from groundset.models.fetch import is_cached
from groundset.models.open import size_of
from groundset.printing import Progress, counted, duration, say
from groundset.retrieval.embed import open_embedder
from groundset.run.compiled import load_compiled
from groundset.run.generate import askable, own_files
from groundset.run.options import CommandOptions, prices
from groundset.run.plan import quotas
from groundset.run.run import Run
from groundset.run.store import holds_run
from programs.forms import EVOLUTIONS, MULTI
from programs.heads import HeadJudge
from programs.languages import ENGLISH, language_of
from programs.text import plain

_MOST_JUDGED = 100  # chunks, of which two busy cores embed 18 a second


class _Cost(NamedTuple):
    """What an accepted sample took where it was measured, with all that was refused on the way."""

    calls: float
    prompt_tokens: int
    generated_tokens: int
    source: str
    seconds: float = 0.0


# benchmarks/README.md; what a strong model generates was not counted: 80 tokens a call, a little more than its demos.
_FREE = _Cost(3.8, 3_300, 300, "a strong model's stand-in and the default recipe, 24 samples of eight documents")
_GUIDED = _Cost(4.7, 2_091, 60, "qwen2.5-coder-0.5b guided, 44 samples of 16 articles on two cores", 6.8)
_FACTS = 6  # usable chunks for each that carries an easy fact


def forecast(options: CommandOptions) -> int:
    """Print what a run would do; return the exit status.

    Raises:
        InputError: the input or an option is wrong.
    """
    own_files(options)
    made = len(Run(options.out)) if options.out and holds_run(options.out) else 0
    size = size_of(options.lm)
    options = options.resolved(size["guided"] if options.guided is None else options.guided, small=size["small"])
    with Progress(quiet=options.quiet) as progress:
        progress.phase("Reading documents")
        corpus = read_corpus(options, notify=say, engine=options.engine, on_file=progress.advance)
        dropped = ", ".join(f"{count} {reason}" for reason, count in corpus.dropped.items() if count)
        say(
            f"{counted(len(corpus.documents), 'document')} with {counted(len(corpus.chunks), 'chunk')}, "
            f"{len(corpus.skipped)} skipped; chunks dropped: {dropped or 'none'}."
        )
        progress.phase("Judging chunks")
        for line in _lines(options, corpus, made):
            say(line)
    return 0


def _lines(options: CommandOptions, corpus: Corpus, made: int) -> Iterator[str]:
    """Yield what the chunks can be asked, and what that takes."""
    asked, entry = askable(corpus, corpus.order(options.seed), options), CATALOGUE.get(options.embedder)
    size = max(0, (options.size or options.row.size or len(asked)) - made)
    usable, share = asked, 1.0
    if not options.row.judges_chunks:
        yield "Every chunk is asked about."
    elif options.chunk_critic != "head":
        yield "Which chunks are used, the language model decides (--chunk-critic lm)."
    elif not (is_cached(entry) if entry else Path(options.embedder).expanduser().is_dir()):
        yield f"Which chunks are used is not known without the embedder: groundset models pull {options.embedder}."
    else:
        embedder, drawn = open_embedder(options.embedder), Corpus(corpus.documents, asked[:_MOST_JUDGED])
        head = HeadJudge("chunk", load_compiled(options.compiled, "", own=own_files(options)).heads["chunk"], embedder)
        verdicts = [verdict for batch in prepare_batches(drawn, embedder, head) for verdict in batch.verdicts]
        refused = Counter(verdict.reason for verdict in verdicts if not verdict.good)
        usable = [chunk for chunk, verdict in zip(drawn.chunks, verdicts, strict=True) if verdict.good]
        share = len(asked) / max(1, len(verdicts))
        why = f" (refused: {', '.join(f'{reason} {count}' for reason, count in refused.most_common())})"
        yield f"The fitted judge would use {len(usable)} of {len(verdicts)} chunks that it read{why * bool(refused)}."
    if options.guided:
        facts = round(share * sum(language_of(chunk.text) == ENGLISH.code for chunk in usable) / _FACTS)
        few = f": expect fewer than {size}; a larger --lm or more documents help" if facts < size else ""
        yield f"A guided model asks simple questions; about {facts} chunks carry an easy English fact{few}."
    else:
        texts = [plain(chunk.text) for chunk in usable]
        counts = {name: sum(map(row.applies, texts)) for name, row in EVOLUTIONS.items()}
        forms = (
            f"{name} {wanted} ({'pairs: a search tells' if name == MULTI else f'{shown} chunks carry it'})"
            for name, wanted in quotas(size, options.mix).items()
            if (shown := round(share * counts.get(name, len(usable)))) or wanted
        )
        yield f"Forms of question: {', '.join(forms)}."
    cost = _GUIDED if options.guided else _FREE
    calls, prompt, generated = round(size * cost.calls), size * cost.prompt_tokens, size * cost.generated_tokens
    price = (prompt * prices(options.price)[0] + generated * prices(options.price)[1]) / 1e6 if options.price else None
    yield (
        f"{counted(size, 'sample')}{f' beside {made} made' if made else ''}: about {counted(calls, 'call')}, "
        f"{prompt:,} prompt tokens and {generated:,} generated ones{'' if price is None else f', price {price:,.2f}'}; "
        f"time: {duration(size * cost.seconds) if cost.seconds else f'that of the calls, {options.workers} at once'}."
    )
    yield f"Measured with {cost.source} (benchmarks/README.md); other models and documents may take twice as much."
    yield "Nothing was written."
