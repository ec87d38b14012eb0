"""What one file may cost: whatever is beyond is skipped with a reason, and the rest of a run goes on."""

from groundset.corpus.parsed import UnparsableError

_MEGABYTE = 1 << 20
# Files that are read as they are: pages of books, not of data. HTML takes a hundred times its size while it is read.
MAX_TEXT = 32 * _MEGABYTE
MAX_LINES = 1_000_000
MAX_HTML = 16 * _MEGABYTE
MAX_TAGS = 250_000
# Files that hold pictures beside their text: PDF and office documents.
MAX_FILE = 256 * _MEGABYTE


def refuse_large(size: int, most: int) -> None:
    """Refuse a file of more than ``most`` bytes.

    Raises:
        UnparsableError: it is larger.
    """
    if size > most:
        raise UnparsableError(f"larger than {most // _MEGABYTE} MB")


def refuse_many(number: int, most: int, what: str) -> None:
    """Refuse what holds more than ``most`` of something; ``what`` names it in the plural.

    Raises:
        UnparsableError: it holds more.
    """
    if number > most:
        raise UnparsableError(f"more than {most:,} {what}")
