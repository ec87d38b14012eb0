"""`groundset judge`: the critics alone, over chunks or questions in a JSONL file."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundset.cli.chunk import DEFAULT_EMBEDDER
from groundset.cli.outputs import check_out, name_of, tell
from programs.errors import InputError
from programs.text import plain

if TYPE_CHECKING:
    from programs.deciding import Decision

Kind = Literal["chunks", "questions"]
Row = dict[str, Any]
Judge = Callable[[Sequence[Row]], list["Decision"]]

_FIELDS: dict[Kind, tuple[str, ...]] = {"chunks": ("text",), "questions": ("question", "passage")}
_BATCH = 64
_LINE_EVERY = 1024


def judge(
    kind: Annotated[
        Kind,
        typer.Argument(metavar="chunks|questions", help="What the rows hold: `text`, or `question` and `passage`."),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rows: one JSON object in each line.")],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE.jsonl", help="Where the judged rows go; - is standard output.", show_default=False),
    ],
    critic: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides: head (quick, no language model), lm, or ensemble of both.")
    ] = "head",
    lm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The language model of the critics lm and ensemble."),
    ] = None,
    embedder: Annotated[
        str, typer.Option(metavar="MODEL", help="The embedding model of the critics head and ensemble.")
    ] = DEFAULT_EMBEDDER,
    compiled: Annotated[
        str, typer.Option(metavar="WHICH", help="Compiled states: shipped, champion, none or a folder of your own.")
    ] = "shipped",
) -> None:
    """Judge chunks or questions, each by itself.

    Adds to every row `probability` (of being good), `verdict` (good or bad), `scores` (what the critic says of each
    part) and `weakest` (the part with the lowest probability). All other keys stay as they are, in their order. A
    question without `passage` is judged on the texts of its `contexts`, so samples.jsonl of a run will do. The output
    appears whole or not at all.
    """
    check_out(out, [file])
    rows = read_rows(file, _FIELDS[kind])
    with open_judge(kind, critic, lm, embedder, compiled) as decide:
        good = write_judged(rows, decide, out)
    tell(f"Judged {len(rows)} {kind}: {good} good, {len(rows) - good} bad. Rows: {name_of(out)}.", out)


def read_rows(file: Path, fields: Sequence[str]) -> list[Row]:
    """Return the rows of a JSONL file, each with the named texts (see :func:`text_of`); blank lines are passed over.

    Raises:
        InputError: A row is not what it should be; the message names its line.
    """
    rows = []
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeError:
            raise InputError(f"{file}, line {number}: not valid Unicode text in UTF-8") from None
        except (ValueError, RecursionError):
            raise InputError(f"{file}, line {number}: not valid JSON") from None
        if not isinstance(row, dict):
            raise InputError(f"{file}, line {number}: not a JSON object")
        for field in fields:
            if not text_of(row, field).strip():
                raise InputError(f"{file}, line {number}: `{field}` is missing, empty or not a text")
        rows.append(row)
    if not rows:
        raise InputError(f"{file} holds no rows")
    return rows


def text_of(row: Row, field: str) -> str:
    """Return a text of a row, empty if it has none.

    A row without `passage` has the texts of its `contexts` for one, as the critics of the run saw them.
    """
    if field == "passage" and row.get(field) is None and isinstance(contexts := row.get("contexts"), list):
        texts = [each["text"] for each in contexts if isinstance(each, dict) and isinstance(each.get("text"), str)]
        return "\n\n".join(map(plain, texts)) if len(texts) == len(contexts) else ""
    value = row.get(field)
    return value if isinstance(value, str) else ""


@contextmanager
def open_judge(kind: Kind, critic: str, lm: str | None, embedder: str, compiled: str) -> Iterator[Judge]:
    """Load what the critic needs and yield what judges a batch of rows."""
    from groundset.compiled import Users, load_compiled
    from programs.critics import open_critics
    from programs.judging import judge_chunks, judge_questions
    from programs.languages import LANGUAGES
    from programs.languages.table import Languages

    with ExitStack() as stack:
        encoder = language_model = None
        if critic != "head" and lm is not None:
            from groundset.runtime.lms import open_lm

            language_model = stack.enter_context(open_lm(lm))
        if critic != "lm":
            from groundset.retrieval.embedder import load_embedder

            encoder = load_embedder(embedder)
        named = (language_model.name, language_model.sha256) if language_model else (None, None)
        states = load_compiled(compiled, Users(critic, encoder.sha256 if encoder else None, *named))
        step = "chunk" if kind == "chunks" else "judge"
        opened = open_critics(
            critic,
            languages=Languages(LANGUAGES),
            embedder=encoder,
            language_model=language_model,
            heads=states.heads,
            blends=states.blends,
        )[step]
        state = states.predictors.get(step)
        if kind == "chunks":
            yield lambda rows: judge_chunks([row["text"] for row in rows], opened, state)
        else:
            yield lambda rows: judge_questions(
                [(row["question"], text_of(row, "passage")) for row in rows], opened, state
            )


def write_judged(rows: Sequence[Row], decide: Judge, out: Path) -> int:
    """Judge the rows in batches, write them to `out` and return how many are good."""
    from groundset.files import json_line, whole_text

    good = 0
    with whole_text(out) as stream, _progress(len(rows)) as advance:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            for row, decision in zip(batch, decide(batch), strict=True):
                good += decision.good
                stream.write(json_line({**row, **_told(decision)}))
            advance(len(batch))
    return good


def _told(decision: "Decision") -> Row:
    """Return what is added to a row."""
    return {
        "probability": round(decision.probability, 6),
        "verdict": "good" if decision.good else "bad",
        "scores": decision.parts(),
        "weakest": decision.weakest,
    }


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal and a line now and then elsewhere, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("Judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task("", total=total)
            yield lambda count: bar.advance(task, count)
        return
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        before, done = done, done + count
        if done // _LINE_EVERY > before // _LINE_EVERY and done < total:
            typer.echo(f"Judged {done} of {total}.", err=True)

    yield advance
