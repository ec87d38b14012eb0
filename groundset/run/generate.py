"""`groundset generate`: documents in, an evaluation set out; a run that was stopped or killed goes
on.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from groundset import __version__
from groundset.corpus.corpus import Corpus, documents_digest, read_corpus
from groundset.models.open import Model, open_model, size_of
from groundset.models.parser import Parser, open_parser
from groundset.options import option_name
from groundset.printing import Progress, say
from groundset.programs.errors import GroundsetError, InputError, RunError, TrackingError
from groundset.programs.guided import Guided
from groundset.programs.heads import HeadJudge
from groundset.programs.recipe import Search
from groundset.programs.step import STEPS
from groundset.retrieval.embed import Embedder, Reranker, open_embedder, open_reranker
from groundset.run.attempts import Attempts
from groundset.run.compiled import NONE, SHIPPED, Compiled, load_compiled, read_own
from groundset.run.engine import RunJournal, Runner
from groundset.run.folder import holds_run
from groundset.run.given import hybrid, planned, read_questions, reranked, source_identity
from groundset.run.options import JUDGE_LM, GenerateOptions
from groundset.run.own import own_module, own_state
from groundset.run.plan import Pairs, Plan
from groundset.run.preparing import askable, prepared
from groundset.run.recipes import RECIPES
from groundset.run.record import library_versions, write_files
from groundset.run.run import Run, edited, open_run
from groundset.run.show import shortage, summary
from groundset.run.store import Store
from groundset.run.tracked import log_run
from groundset.tracking import Tracking, location

_STATUS = {"complete": 0, "short": 3, "budget": 3, "interrupted": 130}
_SIGNALLED = 128
_BY_MODEL = {"guided", "mix", "kinds", "critic", "max_rank"}  # options, if not given


def generate(options: GenerateOptions) -> int:
    """Make the run, or go on with it, and return the exit status.

    Raises:
        InputError: the input or an option is wrong.
        GroundsetError: the run cannot go on; what was finished is kept.
    """
    journal, has_ended = _generate(options, hard=True)
    run = Run(options.out)
    for line in [] if options.quiet else summary(run):
        say(line)
    _track(options)
    status = _STATUS[run.status]
    if journal.signal is not None and run.status == "interrupted":
        status = _SIGNALLED + journal.signal
    if not has_ended:  # a normal exit would crash the runtime of a model in the middle of a call
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def make_run(options: GenerateOptions) -> Run:
    """Make the run, or go on with it, and return it; its ``status`` says how it ended; see
    :func:`generate`.
    """
    _generate(options, hard=False)
    _track(options)
    return open_run(options.out)


class _Setup(NamedTuple):
    """All that a run is made with; ``options`` have their defaults resolved."""

    options: GenerateOptions
    lm: Model
    critic_lm: Model | None
    embedder: Embedder
    parser: Parser | None
    reranker: Reranker | None
    compiled: Compiled
    journal: RunJournal
    progress: Progress

    def models(self) -> dict[str, dict[str, Any]]:
        """Return the names and hashes of the models by role."""
        roles = ("lm", "critic_lm", "embedder", "parser", "reranker")
        found = {role: getattr(self, role) for role in roles}
        return {
            role: {"name": each.name, "sha256": each.sha256} for role, each in found.items() if each
        }

    @property
    def heads(self) -> dict[str, HeadJudge]:
        """Return the fitted heads that judge, by their step."""
        options = self.options
        judges = {
            "score": options.row.judges_chunks and options.chunk_critic == "head",
            "judge": options.critic == "head",
            "grounding": options.guided,
        }
        return {
            step: HeadJudge(step, heads, self.embedder)
            for step, heads in self.compiled.heads.items()
            if judges[step]
        }

    def record(self) -> dict[str, Any]:
        """Return the entries of ``run.json`` on what a run is made with."""
        options, compiled = self.options, self.compiled
        return {
            # The address of a store may hold a password.
            "configuration": options.model_dump(
                mode="json", include=GenerateOptions.model_fields.keys() - {"tracking"}
            ),
            "models": self.models(),
            "compiled": {
                "which": options.compiled,
                "steps": compiled.hashes,
                "prompts": dict(compiled.prompts),
                "sha256": compiled.digest,
            },
            "thresholds": {step: each.heads.threshold for step, each in self.heads.items()},
            "versions": library_versions(),
        }


def _generate(options: GenerateOptions, *, hard: bool) -> tuple[RunJournal, bool]:
    """Set a run up and make it; return its journal, and whether all calls ended."""
    journal = RunJournal(options.budget_calls)
    if options.track:
        location(options.tracking)  # a wrong address is refused before anything is made
    own, questions = own_files(options)  # likewise
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(quiet=options.quiet))
        store = stack.enter_context(Store.open(options.out)) if holds_run(options.out) else None
        for line in edited(Run(options.out)) if store else ():
            progress.note(line)
        identity = {"version": __version__, "documents": documents_digest(options)}
        # What the name or file of the model tells is found before it is opened.
        early = options.resolved(**size_of(options.lm)).compared()
        if store:
            unknown = _BY_MODEL - options.model_fields_set
            known = identity | {name: early[name] for name in early.keys() - unknown}
            _check_same(options.out, store.meta("identity"), known)
        setup = _open_models(options, own, journal, progress, stack)
        names = {
            role: f"{each['name']} {each['sha256'] or ''}".strip()
            for role, each in setup.models().items()
        }
        identity |= names | {"compiled": setup.compiled.digest} | setup.options.compared()
        if options.questions:
            identity["questions"] = source_identity(options.questions)
        if options.recipe not in RECIPES:
            identity["program"] = own_state(options.recipe, options.compiled)
        if store is None:
            corpus, store = _begun(setup, identity)
            stack.enter_context(store)
        else:
            _check_same(options.out, store.meta("identity"), identity)
            corpus = Corpus.read(options.out)
            # `align` has made it, without a language model
            if store.meta("identity").keys() < identity.keys():
                store.set_meta("record", store.meta("record") | setup.record())
                store.set_meta("identity", identity)
                store.set_meta("started", journal.began.isoformat(timespec="seconds"))
        journal.attach(store)
        with journal.stopping_on_signals(progress.note, hard=hard):
            has_ended = _run(setup, questions, corpus, store)
        # a model cannot be freed in the middle of a call, whose response may still be kept
        if not has_ended:
            progress.close()
            stack.pop_all()
        return journal, has_ended


def own_files(options: GenerateOptions) -> tuple[Compiled, Mapping[str, int]]:
    """Return the user's own states and questions, and check the other files that a run needs beside
    documents.

    Raises:
        InputError: one cannot be used.
    """
    questions = read_questions(options.questions) if options.questions else {}
    if options.recipe not in RECIPES:
        own_state(options.recipe, options.compiled)  # it takes --compiled itself
        return Compiled(), questions
    return read_own(options.compiled, options.tracking), questions


def check_reads(model: str, guided: bool, compiled: Compiled) -> None:
    """Check that a model can judge the user's own questions.

    Raises:
        InputError: it is too small, and was not compiled for that.
    """
    if guided and "judge" not in compiled.states:
        reason = f"cannot tell what documents do not say; take {JUDGE_LM} or a larger model"
        raise InputError(f"--questions with {model}: {reason}")


def _open_models(
    options: GenerateOptions,
    own: Compiled,
    journal: RunJournal,
    progress: Progress,
    stack: ExitStack,
) -> _Setup:
    """Open the models of a run, and resolve the options that the language model decides."""
    progress.phase(f"Opening {options.lm}")
    shared = options.model_dump(include={"workers", "timeout", "retries", "verbose"})
    shared |= {"journal": journal, "notify": progress.note, "shipped": options.compiled != NONE}
    lm = stack.enter_context(open_model(options.lm, adapters=own.adapters, **shared))
    critic = None
    if options.critic_lm:
        critic = stack.enter_context(open_model(options.critic_lm, **shared))
    names = (lm.name, critic.name if critic else "")
    which = options.compiled if options.recipe in RECIPES else NONE
    compiled, judge = load_compiled(which, *names, own), own.states.get("judge")
    # A judge that was compiled for the model serves; a guided one has its head, which knows its
    # questions better than the shipped weights do, unless the user compiled another.
    shipped = load_compiled(SHIPPED, *names).states.get("judge")
    reads = judge and judge != shipped and options.critic is None
    if options.questions:
        check_reads(lm.name, lm.guided, compiled)
    options = options.resolved(guided=lm.guided, small=lm.small)
    options = options.model_copy(update={"critic": "lm"} if reads else {})
    parser = open_parser(options.parser, notify=progress.note) if options.guided else None
    progress.phase(f"Opening {options.embedder}")
    embedder = open_embedder(options.embedder, notify=progress.note)
    progress.note(_told(options, lm, critic))
    reranker = open_reranker(options.reranker, notify=progress.note) if options.reranker else None
    setup = _Setup(options, lm, critic, embedder, parser, reranker, compiled, journal, progress)
    if which not in (SHIPPED, NONE):
        progress.note(_used(own, setup))
    return setup


def _used(own: Compiled, setup: _Setup) -> str:
    """Return in one line what of the user's states and heads takes effect."""
    heads = [f"the head of {name}" for name in setup.heads if name in own.heads]
    used = ", ".join([*own.states, *heads]) or "nothing differs from what is shipped"
    left_out = ", ".join(f"{count} of {name}" for name, count in own.blank.items())
    blank = f"; demos left out that show no output: {left_out}" if left_out else ""
    return f"--compiled {setup.options.compiled}: {used}{blank}"


def _told(options: GenerateOptions, lm: Model, critic: Model | None) -> str:
    """Return in one line who writes, who judges, and which forms of question are asked for."""
    if options.questions:
        return f"{lm.name} reads and answers your questions"
    if options.recipe not in RECIPES:
        return f"{options.recipe}, your own program, asks and judges; by default with {lm.name}"
    guided = "completes questions that a parser begins (--guided)"
    writes = guided if options.guided else "writes the questions"
    by = {"head": "fitted classifiers judge", "lm": f"{(critic or lm).name} judges"}
    judges = by.get(str(options.critic), f"{options.critic} judges")
    total = sum(options.mix.values())
    forms = ", ".join(f"{name} {weight / total:.0%}" for name, weight in options.mix.items())
    return f"{lm.name} {writes}, {judges} them; forms of question: {forms}"


def _begun(setup: _Setup, identity: Mapping[str, Any]) -> tuple[Corpus, Store]:
    """Begin a run with its corpus, which is written first, so that a run that exists has one."""
    options, progress = setup.options, setup.progress
    progress.phase("Reading documents")
    corpus = read_corpus(options, notify=progress.note, on_file=progress.advance)
    corpus.preference(options.prefer)  # a pattern that matches nothing is refused before
    options.out.mkdir(parents=True, exist_ok=True)
    corpus.write(options.out)
    record = {
        **setup.record(),
        "documents": len(corpus.documents),
        "chunks": len(corpus.chunks),
        "skipped": [skipped._asdict() for skipped in corpus.skipped],
        "dropped": dict(corpus.dropped),
    }
    started = setup.journal.began.isoformat(timespec="seconds")
    meta = {"identity": identity, "record": record, "started": started, "status": "running"}
    return corpus, Store.create(options.out, meta)


def _run(setup: _Setup, questions: Mapping[str, int], corpus: Corpus, store: Store) -> bool:
    """Make the attempts; return whether all calls have ended."""
    options, journal, progress = setup.options, setup.journal, setup.progress
    index = prepared(corpus, setup.embedder, options.engine, store, progress, journal.stopped)
    # Guided programs search for nothing.
    search = index.search if setup.parser else hybrid(corpus, index)
    if setup.reranker:
        search = reranked(search, setup.reranker)
    if options.questions:
        plan: Plan = planned(questions, options.size, setup.embedder, store, search)
    else:
        asked = askable(corpus, options)
        pairs = Pairs(corpus.by_id, index.nearest)
        plan = Plan(
            {chunk.chunk_id: chunk.passage for chunk in asked},
            size=options.size or options.row.size or len(asked),
            mix=options.mix,
            kinds=options.kinds,
            seed=options.seed,
            rounds=options.row.rounds,
            once=options.row.once,
            partners=pairs.partners,
        )
    programs = _programs(setup, search)
    if options.questions and options.prefer:
        programs[""].counts = corpus.preference(options.prefer)
    attempts = Attempts(options, corpus, index, setup.embedder, programs, setup.lm.lm)
    runner = Runner(store, plan, attempts, journal, progress=progress, workers=options.workers)
    store.set_meta("asked", max(plan.size, plan.accepted.total()))
    progress.start(
        plan.size, accepted=plan.accepted.total(), answers_from=setup.lm.name, usage=setup.lm.usage
    )
    store.set_meta("status", "running")
    status, reason = "failed", None
    try:
        status = runner.run()
        if status == "short":
            reason = shortage(plan.quotas, plan.accepted)
        elif status == "budget":
            reason = f"the budget (--budget-calls {options.budget_calls}) ended the run"
        return runner.has_ended
    except GroundsetError as error:
        reason = str(error)
        raise
    finally:
        store.set_meta("status", status)
        store.set_meta("reason", reason)
        write_files(store)


def _check_same(out: Path, stored: Mapping[str, Any] | None, identity: Mapping[str, Any]) -> None:
    """Check that a run can go on.

    Raises:
        RunError: it was made of something else; the message names the first difference.
    """
    if stored is None:
        raise RunError(
            f"--out {out}: the run there was saved or imported, and cannot go on; name another"
            " --out"
        )
    for name, new in identity.items():
        if (old := stored.get(name, new)) != new:
            told = {
                "documents": "was made of other documents",
                "version": f"was made by groundset {old}",
                "questions": "was made of other --questions",
                "compiled": "used other compiled states (--compiled)",
                "program": "used another state of its program (--recipe)",
            }
            what = told.get(name, f"has {option_name(GenerateOptions, name)} {old}, not {new}")
            carry = "carry it over with `groundset align`, or " if name == "documents" else ""
            mend = f"{carry}begin another one, in another --out; `groundset export` joins several"
            raise RunError(f"--out {out}: the run there {what}; {mend}")


def _programs(setup: _Setup, search: Search) -> dict[str, Any]:
    """Return the programs of the recipe with their compiled states, judges and critic."""
    options, parser, heads = setup.options, setup.parser, setup.heads
    score, judge = heads.get("score"), heads.get("judge")
    if options.critic not in ("head", "lm"):
        judge = own_module(str(options.critic), "--critic")
    if parser is None:
        values = {**dict(options), "search": search, "users": options.asking}
        programs: dict[str, Any] = options.row.build(values)
    else:
        programs = {"": Guided(parser, judge, heads["grounding"])}
    setup.compiled.apply(programs.values())
    for program in programs.values():
        program = getattr(program, "program", program)  # of the user
        if judge is not None:
            if not hasattr(program, "judge"):
                raise InputError(f"--critic: {options.recipe} has no attribute `judge`")
            program.judge = judge
        if score is not None or not options.row.judges_chunks:
            program.score_chunk = score
        for _, predictor in program.named_predictors():
            known = STEPS.get(getattr(predictor, "name", ""))
            if setup.critic_lm and known and known.judges:
                predictor.lm = setup.critic_lm.lm
    return programs


def _track(options: GenerateOptions) -> None:
    if not options.track:
        return
    try:
        line = log_run(Run(options.out), Tracking(options.tracking, texts=options.track_texts))
    except TrackingError as error:
        line = f"not logged in MLflow: {error}"
    if not options.quiet:
        say(line, err=True)
