"""Whether two answers say the same, as far as code can tell.

An answer is read as a sequence of words, numbers, units and signs in one spelling. Two answers are
the same if nothing differs but words that say nothing, or that the question says; they are not the
same if a number, a unit, a letter or a word stands for another one that excludes it. All else is
for a reader to compare.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import regex

from groundset.programs.languages import LANGUAGES
from groundset.programs.text import LETTERS, composed, in_ascii
from groundset.programs.words import Language, word_list

# Each line is a unit, with its spellings; what is no unit everywhere ("m") is none.
_UNIT_LINES = """€ eur euro euros
$ usd dollar dollars
£ gbp
chf franken
% percent prozent
mg milligram milligrams milligramm milligrammes miligramos
µg mcg
g gram grams gramm gramme grammes gramo gramos
kg kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos
t tonne tonnes tonnen tonelada toneladas
mm millimetres millimeters
cm centimetres centimeters zentimeter centimètres centímetros
metre metres meter meters mètre mètres metro metros
km kilometre kilometres kilometer kilometers kilomètre kilomètres kilómetro kilómetros
ml millilitres milliliters
l litre litres liter liters litro litros
ms milliseconds millisekunden
s sec second seconds sekunde sekunden seconde secondes segundo segundos
min minute minutes minuten minuto minutos
h hr hrs hour hours stunde stunden heure heures hora horas
day days tag tage tagen jour jours día días
week weeks woche wochen semaine semaines semana semanas
month months monat monate monaten mois mes meses
year years jahr jahre jahren année années año años
KB
MB
GB
TB
W
kW
MW
kWh
MWh
V
Hz
kHz
MHz
bar"""
_UNITS = {name: line.split()[0] for line in _UNIT_LINES.splitlines() for name in line.split()}
# Pairs of which one excludes the other, where nothing else differs.
_OPPOSITES = {
    frozenset(pair.split())
    for pair in word_list(
        "before after|until after|above below|over under|least most|more less|more fewer|am pm|"
        "minimum maximum|min max|increase decrease|rise fall|higher lower|earliest latest|"
        "first last|north south|east west|left right|inside outside|with without|from to|yes no|"
        "can cannot|all none|- +|- plus|vor nach|vor ab|mindestens höchstens|über unter|"
        "mehr weniger|mit ohne|ja nein|links rechts|innerhalb außerhalb|anstieg rückgang|"
        "ein kein|eine keine|einen keinen|nördlich südlich|vormittags nachmittags|avant après|"
        "plus moins|avec sans|oui non|gauche droite|hausse baisse|dessus dessous|augmente diminue|"
        "antes después|más menos|mínimo máximo|con sin|sí no|izquierda derecha|aumento descenso|"
        "mañana tarde|पहले बाद|अधिक कम|قبل بعد|ก่อน หลัง",
        "|",
    )
}
_DENYING = word_list("not no never nor without nicht kein keine ohne ne pas sans sin nunca")
_MONTHS = "|".join(language.months for language in LANGUAGES.values() if language.months)
_MARKS = str.maketrans("−–—‑‐’´\u00a0\u2009\u202f", "-----''   ")
_SPELLINGS = tuple(
    (re.compile(pattern, re.IGNORECASE), spelt)
    for pattern, spelt in (
        (r"\b([ap])\. ?m\b\.?", r"\1m"),
        (r"\bper cent\b|\b(?:pour|por) (?:100|cent|ciento)\b", "%"),
        (r"\b(?:minus|moins|menos) (?=\d)", "-"),
        (r"\ba (?=few\b|little\b)", "a-"),
        (r"\b[ld]'(?=\w)", ""),  # articles of French
        (r"(?<!\w)\.(?=\d)", "0."),
        (r"(?<=\d)-(?=[^\W\d])", " "),
        (r"(?<=\d) - (?=\d)|(?<!\w)- ?(?=\d)", "-"),
        (rf"\b({_MONTHS}) (\d{{1,2}})(?:st|nd|rd|th)?\b", r"\2 \1"),
        (rf"\b(\d{{1,2}})(?:st|nd|rd|th|er)(?= (?:of )?(?:{_MONTHS})\b)", r"\1"),
        (r"([$€£]|\b(?:EUR|USD|GBP|CHF)\b) ?(\d(?:[\d.,]*\d)?)", r"\2 \1"),
    )
)
_OF_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ ']\d{3})+(?!\d)")
# Full stops, quotation marks and brackets say nothing, but before a name or behind a number.
_PIECE = regex.compile(
    rf"\d+(?:[.,:/]\d+)*|{LETTERS}(?:['-]{LETTERS})*|(?<!\w)\.(?=\w)|-+(?=\w)|(?<=\d)['\"]"
    r"|[^\p{L}\p{N}\s.,;:!?¿¡\"'“”„‚‘«»‹›()\[\]…*_`。、，！？；：「」・।-]"
)
_ZEROS = r"[.:]0+$|(?<=[.]\d)0+$"
_SHORT = 3  # letters; in shorter words, case tells units and names apart
_HALF_A_DAY = 12  # hours
_FEW = 5  # words; answers of the same few words with other numbers differ


def same(one: str, other: str, language: Language, question: str) -> bool | None:
    """Return whether two answers to a question say the same; None if code cannot tell."""
    first, second = pieces(one, language), pieces(other, language)
    shorter, longer = sorted((first, second), key=len)
    if not shorter:
        return one == other or None
    if _says_no_more(shorter, longer, language) or _restates(shorter, longer, language, question):
        return True
    return False if _excludes(first, second) or _other_amount(first, second, language) else None


def states(text: str, answer: str, language: Language) -> bool:
    """Return whether a text has the words, numbers, units and signs of an answer in sequence."""
    return _place(pieces(answer, language), pieces(text, language)) is not None


def decisive(text: str, language: Language) -> list[str]:
    """Return what turns the sense of a text: its numbers, units, signs, negations and letters, and
    words that have an opposite; in order.
    """
    found = pieces(text, language)
    turning = _DENYING.union(*_OPPOSITES)
    return [
        piece
        for before, piece in zip(("", *found), found, strict=False)
        if piece in turning or len(piece) == 1 or _is_number(piece) or _is_unit(before, piece)
    ]


@lru_cache(1_024)
def pieces(text: str, language: Language) -> tuple[str, ...]:
    """Return the words, numbers, units and signs of a text in one spelling, without articles that
    say nothing.
    """
    text = " ".join(language.in_digits(composed(text)).translate(_MARKS).split())
    text = _OF_THOUSANDS.sub(lambda found: re.sub("[ ']", "", found[0]), text)
    for pattern, spelt in _SPELLINGS:
        text = pattern.sub(spelt, text)
    found: list[str] = []
    is_article = False
    for match in _PIECE.finditer(text):
        piece = _spelt(match[0], "".join(found[-1:]), language)
        if is_article and piece[0].isalpha():
            found.pop()
        # "Class 1a" and "plan a" name a letter.
        is_article = piece in language.articles and not text[: match.start()][-1:].isdecimal()
        found.append(piece)
    return tuple(found)


def _spelt(written: str, before: str, language: Language) -> str:
    """Return a word, number or sign as it is compared, knowing what stands before it.

    Case counts in short words and within words: "mW", "MW" and "MBit" are not the same.
    """
    if written[0].isdecimal():
        return _number(in_ascii(written), language)
    has_usual_case = written[1:].islower() or written.istitle() or written.isupper()
    is_folded = not before or (len(written) > _SHORT and has_usual_case)
    folded = written.casefold()
    if _is_number(before) and (unit := _UNITS.get(written if len(written) < _SHORT else folded)):
        return unit
    return folded if is_folded else written


def _number(digits: str, language: Language) -> str:
    """Return a number with a full stop before decimals, and without separators of thousands."""
    mark = "," if language.code == "en" else "."
    if re.fullmatch(rf"\d{{1,3}}(?:\{mark}\d{{3}})+(?:[.,]\d+)?", digits):
        digits = digits.replace(mark, "")
    return digits.replace(",", ".")


def _is_number(piece: str) -> bool:
    return piece[:1].isdecimal()


def _is_unit(before: str, piece: str) -> bool:
    return _is_number(before) and piece in _UNITS


def _place(part: Sequence[str], whole: Sequence[str]) -> int | None:
    """Return where a part begins in a whole."""
    places = range(len(whole) - len(part) + 1)
    return next((place for place in places if whole[place : place + len(part)] == part), None)


def _says_no_more(shorter: Sequence[str], longer: Sequence[str], language: Language) -> bool:
    """Return whether the longer one adds but words that say nothing; the last word says
    something.
    """
    left = list(shorter)
    for piece in longer[:-1]:
        if left and piece == left[0]:
            left.pop(0)
        elif piece not in language.fillers:
            return False
    return left == [longer[-1]]


def _restates(
    shorter: Sequence[str], longer: Sequence[str], language: Language, question: str
) -> bool:
    """Return whether the longer one only sets the shorter one into words of the question.

    "The manager" and "the deputy manager" are not the same, though the question may name both.
    """
    place = _place(shorter, longer)
    if place is None or not question or language.alternative.search(question):
        return False
    asked = pieces(question, language)
    said = set(asked) - _DENYING | language.fillers
    before, after = longer[:place], longer[place + len(shorter) :]
    leads = not before or (before[-1] in language.fillers and said.issuperset(before))
    return leads and not any(map(_is_number, before)) and _place(after, asked) is not None


def _excludes(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the two differ in one place, and what stands there excludes the other."""
    if len(first) != len(second):
        return _unsigned(first) == _unsigned(second)
    places = zip(("", *first), first, second, strict=False)
    differing = [place for place in places if place[1] != place[2]]
    if len(differing) != 1:
        return False
    ((before, one, other),) = differing
    are_letters = len(one) == len(other) == 1 and (one + other).isalpha()
    return (
        {one, other} in _OPPOSITES
        or (_is_unit(before, one) and _is_unit(before, other))
        or (are_letters and one.casefold() != other.casefold())
        or _is_other(one, other)
    )


def _unsigned(found: Sequence[str]) -> list[str]:
    """Return pieces without signs; a dash between two numbers is none."""
    before = ("", *found)
    return [
        piece
        for last, piece in zip(before, found, strict=False)
        if piece != "-" or _is_number(last)
    ]


def _is_other(one: str, other: str) -> bool:
    """Return whether two pieces are numbers that differ, in whatever way they are written; twelve
    more may be the same time of day.
    """
    if not (_is_number(one) and _is_number(other)):
        return False
    first, second = (int(re.split(r"\D", each)[0]) for each in (one, other))
    is_same = any(re.sub(each, "", one) == re.sub(each, "", other) for each in (_ZEROS, r"\D"))
    return not is_same and abs(first - second) != _HALF_A_DAY


def _other_amount(first: Sequence[str], second: Sequence[str], language: Language) -> bool:
    """Return whether two answers have as many numbers, all of them others, beside the same word or
    unit; "1 hour" may be "60 minutes".
    """
    amounts, others = (list(filter(_is_number, each)) for each in (first, second))
    said = set(first) - language.stop_words - language.fillers
    return (
        len(said) <= _FEW
        and 0 < len(amounts) == len(others)
        and all(_is_other(one, other) for one in amounts for other in others)
        and not language.fillers.issuperset(_beside_numbers(first) & _beside_numbers(second))
    )


def _beside_numbers(found: Sequence[str]) -> set[str]:
    pairs = {*pairwise(found), *pairwise(found[::-1])}
    return {one for one, other in pairs if _is_number(other)}
