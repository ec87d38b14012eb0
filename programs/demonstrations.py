"""Few-shot turns that every step starts from, in our own words, before anything is compiled."""

from dspy import Example

_BRIDGE = (
    "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria Kolb. "
    "It replaced a ferry that had carried up to 400 people a day. The bridge is painted with a lead-free green "
    "enamel."
)
_MOTH = (
    "The sable moth flies from May to July. Its caterpillars feed only on the leaves of the grey willow and "
    "are hard to find."
)
_DAIRY = (
    "Tarn Dairy sold 41,300 tonnes of cheese in 2019, 6 per cent more than in the year before. Butter fell by "
    "a tenth after the fire at the Moss Lane plant."
)
_PUMP = (
    "The Orrin 3 is a hand pump that lifts water by 12 metres. It must be rinsed every 200 hours, because lime narrows "
    "the mesh of its filter."
)
_PALACE = (
    "Das Schloss Veldern wurde 1754 von der Familie Aumann verkauft. Der neue Besitzer, der Kaufmann Jakob "
    "Reuss, ließ den Nordflügel abreißen, weil das Dach eingestürzt war."
)


def _demos(language: str, *rows: dict[str, object]) -> list[Example]:
    return [Example(language=language, **row) for row in rows]


KEYPHRASES = [
    *_demos(
        "en",
        {
            "topic": "Lowen harbour bridge > History",
            "passage": _BRIDGE,
            "keyphrases": [
                "Maria Kolb",
                "1931",
                "nine years",
                "up to 400 people a day",
                "lead-free green enamel",
            ],
        },
    ),
    *_demos(
        "de",
        {
            "topic": "Schloss Veldern > Geschichte",
            "passage": _PALACE,
            "keyphrases": ["1754", "Familie Aumann", "Jakob Reuss", "Nordflügel"],
        },
    ),
]

QUESTION = [
    *_demos(
        "en",
        {
            "topic": "Lowen harbour bridge > History",
            "fact": "The Lowen harbour bridge was opened in 1931 after nine years of work led by the engineer Maria "
            "Kolb.",
            "answer": "Maria Kolb",
            "question": "Which engineer led the work on the Lowen harbour bridge?",
        },
        {
            "topic": "Sable moth > Diet",
            "fact": "Its caterpillars feed only on the leaves of the grey willow.",
            "answer": "the leaves of the grey willow",
            "question": "What do the caterpillars of the sable moth feed on?",
        },
        {
            "topic": "Orrin 3 pump manual > Maintenance",
            "fact": "The filter must be rinsed every 200 hours, because lime narrows its mesh.",
            "answer": "because lime narrows its mesh",
            "opening": "Why",
            "question": "Why must the filter of the Orrin 3 pump be rinsed every 200 hours?",
        },
        {
            "topic": "Annual report of Tarn Dairy > Figures",
            "fact": "Tarn Dairy sold 41,300 tonnes of cheese in 2019, 6 per cent more than in the year before.",
            "answer": "41,300 tonnes",
            "opening": "How many tonnes",
            "question": "How many tonnes of cheese did Tarn Dairy sell in 2019?",
        },
        {
            "topic": "Elin Marsh > Career",
            "fact": "She left the Royal Observatory in March 1884 and moved to Port Alder, where she taught algebra.",
            "answer": "Port Alder",
            "question": "Where did Elin Marsh move after she left the Royal Observatory in March 1884?",
        },
        {
            "topic": "Battle of Corran Ford > Aftermath",
            "fact": "On 9 June 1644 the town council surrendered the keys of Corran to General Ode.",
            "answer": "9 June 1644",
            "opening": "On what date",
            "question": "On what date did the town council surrender the keys of Corran to General Ode?",
        },
    ),
    *_demos(
        "de",
        {
            "topic": "Schloss Veldern > Geschichte",
            "fact": "Das Schloss Veldern wurde 1754 von der Familie Aumann verkauft.",
            "answer": "1754",
            "opening": "In welchem Jahr",
            "question": "In welchem Jahr verkaufte die Familie Aumann das Schloss Veldern?",
        },
        {
            "topic": "Schloss Veldern > Geschichte",
            "fact": "Der neue Besitzer, der Kaufmann Jakob Reuss, ließ den Nordflügel abreißen.",
            "answer": "Jakob Reuss",
            "question": "Wer ließ den Nordflügel von Schloss Veldern abreißen?",
        },
        {
            "topic": "Zobelmotte > Ernährung",
            "fact": "Ihre Raupen fressen nur die Blätter der Grauweide.",
            "answer": "die Blätter der Grauweide",
            "question": "Was fressen die Raupen der Zobelmotte?",
        },
        {
            "topic": "Jahresbericht der Molkerei Tarn > Zahlen",
            "fact": "Die Molkerei Tarn verkaufte 2019 etwa 41300 Tonnen Käse, sechs Prozent mehr als im Jahr davor.",
            "answer": "41300 Tonnen",
            "opening": "Wie viele Tonnen",
            "question": "Wie viele Tonnen Käse verkaufte die Molkerei Tarn im Jahr 2019?",
        },
        {
            "topic": "Elin Marsch > Leben",
            "fact": "Im März 1884 verließ sie die Sternwarte und zog nach Altersund, wo sie Algebra lehrte.",
            "answer": "Altersund",
            "question": "Wohin zog Elin Marsch, nachdem sie im März 1884 die Sternwarte verlassen hatte?",
        },
        {
            "topic": "Gefecht an der Furt von Korran > Folgen",
            "fact": "Am 9. Juni 1644 übergab der Rat der Stadt die Schlüssel von Korran an General Ode.",
            "answer": "9. Juni 1644",
            "opening": "An welchem Tag",
            "question": "An welchem Tag übergab der Rat der Stadt die Schlüssel von Korran an General Ode?",
        },
    ),
]

REASONING = _demos(
    "en",
    {
        "topic": "Lowen harbour > Crossings",
        "fact": "The Lowen Link replaced a ferry that had carried up to 400 people a day.",
        "name": "Lowen Link",
        "kind": "bridge",
    },
    {
        "topic": "Elin Marsh > Career",
        "fact": "Elin Marsh left the Royal Observatory after two years and taught algebra at Port Alder.",
        "name": "Elin Marsh",
        "kind": "teacher",
    },
    {
        "topic": "Annual report > Plants",
        "fact": "Tarn Dairy lost a tenth of its butter sales after the fire at the Moss Lane plant.",
        "name": "Tarn Dairy",
        "kind": "dairy",
    },
    {
        "topic": "Manual > Maintenance",
        "fact": "The Orrin 3 lifts water by 12 metres and weighs 9 kilograms.",
        "name": "Orrin 3",
        "kind": "pump",
    },
    {
        "topic": "Elections in Carrow",
        "fact": "The Green League won 31 of the 80 seats in 2014.",
        "name": "Green League",
        "kind": "political party",
    },
)

CONDITIONAL = [
    *_demos(
        "en",
        {
            "topic": "Annual report of Tarn Dairy > Figures",
            "question": "How much did the cheese sales of Tarn Dairy rise in 2019?",
            "condition": "after the fire at the Moss Lane plant",
            "conditional_question": "After the fire at the Moss Lane plant, how much did the cheese sales of Tarn "
            "Dairy rise in 2019?",
        },
        {
            "topic": "Elin Marsh > Career",
            "question": "What did Elin Marsh teach?",
            "condition": "when she lived in Port Alder",
            "conditional_question": "When she lived in Port Alder, what did Elin Marsh teach?",
        },
        {
            "topic": "Orrin 3 pump manual > Maintenance",
            "question": "How soon must the filter of the Orrin 3 pump be rinsed?",
            "condition": "if the red lamp stays lit",
            "conditional_question": "If the red lamp stays lit, how soon must the filter of the Orrin 3 pump be "
            "rinsed?",
        },
    ),
    *_demos(
        "de",
        {
            "topic": "Schloss Veldern > Geschichte",
            "question": "Wer ließ den Nordflügel von Schloss Veldern abreißen?",
            "condition": "nachdem das Dach eingestürzt war",
            "conditional_question": "Nachdem das Dach eingestürzt war, wer ließ den Nordflügel von Schloss Veldern "
            "abreißen?",
        },
    ),
]

COMPRESS = [
    *_demos(
        "en",
        {
            "question": "Which engineer was it that led the work on the bridge at Lowen that replaced a ferry for up "
            "to 400 people a day?",
            "short_question": "Which engineer built the Lowen bridge that replaced a ferry for 400 people a day?",
        },
        {
            "question": "After she had left the Royal Observatory in March 1884, what subject was it that Elin Marsh "
            "taught at Port Alder?",
            "short_question": "After leaving the Royal Observatory in 1884, what did Elin Marsh teach at Port Alder?",
        },
    ),
    *_demos(
        "de",
        {
            "question": "In welchem Jahr war es, dass die Familie Aumann das Schloss Veldern verkaufte?",
            "short_question": "Wann verkaufte die Familie Aumann Schloss Veldern?",
        },
    ),
]

FEEDBACK = [
    *_demos(
        "en",
        {
            "topic": "Sable moth > Diet",
            "fact": "Its caterpillars feed only on the leaves of the grey willow.",
            "question": "What do they feed on?",
            "objection": "the question cannot be understood alone",
            "feedback": "Name the caterpillars of the sable moth instead of saying they.",
        },
        {
            "topic": "Lowen harbour bridge > History",
            "fact": "The Lowen harbour bridge was opened in 1931 after nine years of work.",
            "question": "What year is mentioned in the passage?",
            "objection": "the question cannot be understood alone",
            "feedback": "Ask in which year the Lowen harbour bridge was opened and leave out the passage.",
        },
    ),
]

REWRITE = [
    *_demos(
        "en",
        {
            "topic": "Sable moth > Diet",
            "fact": "Its caterpillars feed only on the leaves of the grey willow.",
            "answer": "the leaves of the grey willow",
            "question": "What do they feed on?",
            "feedback": "Name the caterpillars of the sable moth instead of saying they.",
            "better_question": "What do the caterpillars of the sable moth feed on?",
        },
        {
            "topic": "Lowen harbour bridge > History",
            "fact": "The Lowen harbour bridge was opened in 1931 after nine years of work.",
            "answer": "1931",
            "question": "What year is mentioned in the passage?",
            "feedback": "Ask in which year the Lowen harbour bridge was opened and leave out the passage.",
            "better_question": "In which year was the Lowen harbour bridge opened?",
        },
    ),
]

ANSWER = [
    *_demos(
        "en",
        {
            "topic": "Tarn Dairy > Figures",
            "passage": _DAIRY,
            "question": "Who founded Tarn Dairy?",
            "answer": "not stated",
        },
        {
            "topic": "Lowen harbour bridge > History",
            "passage": _BRIDGE,
            "question": "Which engineer led the work on the Lowen harbour bridge?",
            "answer": "Maria Kolb",
        },
        {
            "topic": "Sable moth > Diet",
            "passage": _MOTH,
            "question": "What do the caterpillars of the sable moth feed on?",
            "answer": "the leaves of the grey willow",
        },
        {
            "topic": "Orrin 3 pump manual",
            "passage": _PUMP,
            "question": "What is the Orrin 3?",
            "answer": "a hand pump that lifts water by 12 metres",
        },
        {
            "topic": "Orrin 3 pump manual",
            "passage": _PUMP,
            "question": "Why must the Orrin 3 be rinsed every 200 hours?",
            "answer": "because lime narrows the mesh of its filter",
        },
    ),
    *_demos(
        "de",
        {
            "topic": "Schloss Veldern > Geschichte",
            "passage": _PALACE,
            "question": "Wann wurde Schloss Veldern gebaut?",
            "answer": "not stated",
        },
        {
            "topic": "Schloss Veldern > Geschichte",
            "passage": _PALACE,
            "question": "Wer ließ den Nordflügel von Schloss Veldern abreißen?",
            "answer": "der Kaufmann Jakob Reuss",
        },
    ),
]


def in_language(demos: list[Example], language: str) -> list[Example]:
    """Return the demos in one language; the English ones where there are none, and all that name no language."""
    chosen = [demo for demo in demos if demo.get("language", language) == language]
    return chosen or [demo for demo in demos if demo.get("language") == "en"]
