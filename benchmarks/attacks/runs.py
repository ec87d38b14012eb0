"""Runs and embedders that somebody else made: links, damage, endless views, pickles."""

import json
import os
import pickle
import sqlite3
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path

from attacks.target import Target

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests" / "groundset" / "runs")]

_SECONDS = 40
_CAP_MIB = 1_500
_VICTIM = "kept as it is"
_SECRET = "the code of the safe"
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


def report_through_a_link(target: Target, folder: Path) -> str:
    """Make the report of a run a link to a file elsewhere."""
    run, victim = _run(folder), _victim(folder)
    (run / "report.html").symlink_to(victim)
    outcome = target.run("report", run, "--no-track", seconds=_SECONDS, memory_mib=_CAP_MIB)
    return outcome.fault(0) or _changed(victim)


def database_through_a_link(target: Target, folder: Path) -> str:
    """Make the database of a run a link to that of another one, which a reader would write to."""
    run, other = _run(folder), _run(folder / "other")
    (run / "run.sqlite").unlink()
    (run / "run.sqlite").symlink_to(other / "run.sqlite")
    return _refused(target, "review", run, "--no-browser", says="run.sqlite is a link")


def log_of_a_database_through_a_link(target: Target, folder: Path) -> str:
    """Make the log of a database a link to a file elsewhere, which SQLite would write to."""
    run, victim = _run(folder), _victim(folder)
    (run / "run.sqlite-wal").symlink_to(victim)
    return _refused(target, "review", run, "--no-browser", says="run.sqlite-wal is a link") or _changed(victim)


def endless_view_as_samples(target: Target, folder: Path) -> str:
    """Put a view that never ends in the place of a table."""
    columns = "i AS position, 'x' || i AS id, 0 AS attempt, '{}' AS record, x'00' AS vector FROM n"
    run = _run(folder, "DROP TABLE samples", f"CREATE VIEW samples AS {_ENDLESS}{columns}")
    return _damaged(target, folder, run)


def endless_view_as_sessions(target: Target, folder: Path) -> str:
    """Let a sum over a table never end."""
    columns = "i AS number, 'x' AS started, 1.0 AS seconds FROM n"
    run = _run(folder, "DROP TABLE sessions", f"CREATE VIEW sessions AS {_ENDLESS}{columns}")
    return _damaged(target, folder, run)


def trigger_in_a_run(target: Target, folder: Path) -> str:
    """Let the first review empty the run."""
    run = _run(folder, "CREATE TRIGGER t AFTER INSERT ON reviews BEGIN DELETE FROM samples; END")
    return _refused(target, "review", run, "--no-browser", says="damaged")


def odd_meta(target: Target, folder: Path) -> str:
    """Store a list where a run stores its models."""
    return _damaged(target, folder, _run(folder, "UPDATE meta SET value = '[]' WHERE name = 'models'"))


def vectors_of_another_length(target: Target, folder: Path) -> str:
    """Store vectors of two lengths."""
    run = _run(folder, "UPDATE chunks SET vector = x'0000803f' WHERE position = 0")
    return _refused(target, "merge", run, _run(folder / "other"), "--out", folder / "out", says="damaged")


def rank_of_thirty_digits(target: Target, folder: Path) -> str:
    """Store a rank that no number of 64 bits holds."""
    rank = "1" + 30 * "0"
    return _damaged(
        target, folder, _run(folder, f"""UPDATE samples SET record = replace(record, '"rank":1', '"rank":{rank}')""")
    )


def probability_that_is_no_number(target: Target, folder: Path) -> str:
    """Store NaN as a probability, which an export would write as it is."""
    change = """UPDATE samples SET record = replace(record, '"probability":0.75', '"probability":NaN')"""
    return _damaged(target, folder, _run(folder, change))


def text_that_is_no_utf8(target: Target, folder: Path) -> str:
    """Store a secret beside bytes that are no text, which SQLite's error would print."""
    change = f"UPDATE samples SET record = CAST(x'{_SECRET.encode().hex()}ff' AS TEXT) WHERE position = 1"
    return _damaged(target, folder, _run(folder, change))


def embedder_with_damaged_weights(target: Target, folder: Path) -> str:
    """Cut the weights of an embedder off."""
    (_embedder(folder) / "model.safetensors").write_bytes(b"\xff" * 64)
    return _embedded(target, folder, says="model.safetensors is damaged")


def embedder_with_a_pickle(target: Target, folder: Path) -> str:
    """Give an embedder weights that run a command when they are loaded."""

    class Command:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {folder / 'ran'}",)

    (_embedder(folder) / "pytorch_model.bin").write_bytes(pickle.dumps(Command()))
    fault = _embedded(target, folder, says="pytorch_model.bin")
    return "the command was run" if (folder / "ran").exists() else fault


def _run(folder: Path, *changes: str) -> Path:
    """Make a small run, and change its database."""
    from groundset.run import save_run

    made = import_module("small_content").content()
    save_run(folder / "run", made, made.lineage("import"))
    with closing(sqlite3.connect(folder / "run" / "run.sqlite", isolation_level=None)) as connection:
        for change in changes:
            connection.execute(change)
    return folder / "run"


def _victim(folder: Path) -> Path:
    (folder / "victim").write_text(_VICTIM, encoding="utf-8")
    return folder / "victim"


def _changed(victim: Path) -> str:
    return "" if victim.read_text(encoding="utf-8") == _VICTIM else "the file elsewhere was overwritten"


def _refused(target: Target, *arguments: str | Path, says: str) -> str:
    """Return what is wrong unless a command ends with status 2 and says so."""
    outcome = target.run(*arguments, seconds=_SECONDS, memory_mib=_CAP_MIB)
    if _SECRET in outcome.text:
        return "prints what is stored"
    return outcome.fault(2, says=says)


def _damaged(target: Target, folder: Path, run: Path) -> str:
    """Return what is wrong unless an export says that a run is damaged, and leaves nothing behind."""
    fault = _refused(
        target, "export", run, "--format", "csv", "--out", folder / "out", says="run.sqlite: it is damaged"
    )
    return fault or ("something was written" if (folder / "out").exists() else "")


def _embedder(folder: Path) -> Path:
    """Make the folder of an embedder without weights."""
    place = folder / "embedder"
    place.mkdir()
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8}
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 5, **sizes}
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (place / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", encoding="utf-8")
    return place


def _embedded(target: Target, folder: Path, says: str) -> str:
    """Return what is wrong unless an embedder is refused by a command that loads it."""
    outcome = target.run(
        "roundtrip", _run(folder), "--embedder", folder / "embedder", seconds=_SECONDS, memory_mib=_CAP_MIB
    )
    advised = any(word in outcome.text for word in ("weights_only", "WeightsUnpickler"))
    return "prints how to switch the protection off" if advised else outcome.fault(2, says=says)


ATTACKS = (
    report_through_a_link,
    database_through_a_link,
    log_of_a_database_through_a_link,
    endless_view_as_samples,
    endless_view_as_sessions,
    trigger_in_a_run,
    odd_meta,
    vectors_of_another_length,
    rank_of_thirty_digits,
    probability_that_is_no_number,
    text_that_is_no_utf8,
    embedder_with_damaged_weights,
    embedder_with_a_pickle,
)
