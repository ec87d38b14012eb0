"""Spanish."""

import re

from programs.languages.base import Language
from programs.languages.words import at_start, heading_list, whole_words, word_list

LANGUAGE = Language(
    code="es",
    stemmer="spanish",
    numerals="es",
    unfinished=re.compile(r"\b[ap]\. ?m\.$"),
    question_words=word_list("qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas"),
    stop_words=word_list(
        "el la los las un una unos unas de del y o pero no es son era eran fue fueron ha han había a al en por "
        "para con sin que qué quién cuál cuáles cuándo dónde cómo se su sus lo este esta estos estas más"
    ),
    dependent_start=at_start(
        r"(?:él|ella|ellos|ellas|este|esta|esto|estos|estas|ese|esa|eso|su|sus|pero|y|así|entonces|además|sin "
        r"embargo|allí|aquí)\b"
    ),
    loose_pronoun=whole_words("él|ella|ellos|ellas|esto|eso|este|esta|nosotros"),
    context_reference=whole_words("(?:el|este|del|al) (?:texto|pasaje|párrafo|documento)"),
    unanswered="Los documentos no lo dicen.",
    listings=heading_list(
        "referencias|notas|notas y referencias|bibliografía|fuentes|véase también|enlaces externos|"
        "lecturas recomendadas|índice|contenido"
    ),
    table_label=r"tabla|cuadro",
    figure_label=r"figura|fig\.",
    past=whole_words("fue", "era", as_written=True),
    modal=whole_words("puede", "debe", as_written=True),
    definite_start=re.compile("(?:El|La|Los|Las) [a-zß-ÿ]"),
    address=whole_words("me", "yo", "nosotros", as_written=True),
    second_question=re.compile(r"\by (?:qué|quién|cuándo|dónde|cómo|cuánto|cuál(?:es)?)\b"),
    alternative=whole_words("[ou]"),
    negation=whole_words("no|sin|nunca|ning[uú]na?|ningunos|salvo|excepto|ni"),
    compares_times="cuál fue antes",
    compares_amounts="cuál es mayor",
    condition_clause="si|cuando|mientras|después de|antes de|porque|aunque|durante|tras",
    condition_phrase="en|bajo|con|sin|por|para|entre|desde|según",
    units="euros?",
    asks={
        "amount": r"\bcuánt",
        "time": r"\b(?:cuándo|qué (?:año|fecha))\b",
        "person": r"\b(?:quién|quiénes)\b",
        "place": r"\bdónde\b",
        "reason": r"\bpor qué\b",
    },
    amount_words="dos|tres|cuatro|cinco",
)
