"""French."""

import re

from programs.languages.base import Language
from programs.languages.words import at_start, heading_list, page_furniture, whole_words, word_list

LANGUAGE = Language(
    code="fr",
    stemmer="french",
    numerals="fr",
    unfinished=re.compile(r"(?:^|[\s(])(?:MM?|Mme|Mlle|Mgr|Me|Dr|Pr|Ste?|(?:av|apr)\. J)\.(?:-C\.)?$"),
    question_words=word_list("que quel quelle quels quelles qui quand où pourquoi comment combien quoi"),
    question_mark=" ?",
    stop_words=word_list(
        "le la les l un une des du de d et ou mais ne pas est sont était étaient a ont avait au aux à dans en "
        "sur par pour avec sans que qui quel quelle quels quelles quand où comment pourquoi combien ce cette ces "
        "il elle ils elles son sa ses leur se s plus"
    ),
    dependent_start=at_start(
        r"(?:il|elle|ils|elles|ce|cet|cette|ces|cela|son|sa|ses|leur|leurs|on|mais|et|donc|ainsi|cependant|"
        r"toutefois|alors|puis|là)\b|c['’]"
    ),
    loose_pronoun=whole_words("il|elle|ils|elles|ceci|cela|cette|ce|ces|nous|je"),
    context_reference=whole_words("(?:le|ce|du|au) (?:texte|passage|paragraphe|document)"),
    unanswered="Les documents ne le disent pas.",
    boilerplate=page_furniture("notes"),
    listings=heading_list(
        "références|notes et références|notes|bibliographie|sources|voir aussi|liens externes|pour aller plus loin|"
        "articles connexes|sommaire|table des matières"
    ),
    table_label=r"tableau",
    figure_label=r"figure|fig\.",
    past=whole_words("fut", "était", as_written=True),
    modal=whole_words("peut", "doit", as_written=True),
    definite_start=re.compile("(?:Le|La|Les) [a-zß-ÿ]"),
    address=whole_words("je", "me", "nous", as_written=True),
    second_question=re.compile(r"\bet (?:que|qui|quand|où|pourquoi|comment|combien|quel(?:le)?s?)\b"),
    alternative=whole_words("ou"),
    negation=whole_words("ne|n(?=['’])|pas|sans|jamais|aucune?|sauf|ni"),
    compares_times="lequel était plus tôt",
    compares_amounts="lequel est plus grand",
    condition_clause="si|quand|lorsque|après|avant|parce que|pendant|bien que|dès que",
    condition_phrase="en|dans|à|sous|avec|sans|par|pour|entre|depuis|selon",
    units="tonnes|litres?|minutes|million|euros?|dollars|votes",
    asks={
        "amount": r"\bcombien\b",
        "time": r"\b(?:quand|quelle (?:année|date))\b",
        "person": r"\bqui\b",
        "place": r"\boù\b",
        "reason": r"\bpourquoi\b",
    },
    amount_words="deux|trois|quatre|cinq|six|million",
)
