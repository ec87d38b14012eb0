"""The English names of languages, for prompts and messages."""

from collections.abc import Mapping

# Those of ISO 639-1 that language detection knows.
_LISTED = (
    "af Afrikaans, am Amharic, an Aragonese, ar Arabic, as Assamese, az Azerbaijani, ba Bashkir, be Belarusian, "
    "bg Bulgarian, bn Bengali, br Breton, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, "
    "dz Dzongkha, el Greek, en English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, "
    "fi Finnish, fo Faroese, fr French, fy Frisian, ga Irish, gd Scottish Gaelic, gl Galician, gu Gujarati, "
    "ha Hausa, he Hebrew, hi Hindi, hr Croatian, ht Haitian Creole, hu Hungarian, hy Armenian, "
    "id Indonesian, ig Igbo, is Icelandic, it Italian, ja Japanese, jv Javanese, ka Georgian, kk Kazakh, "
    "km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, lb Luxembourgish, lg Ganda, ln Lingala, "
    "lo Lao, lt Lithuanian, lv Latvian, mg Malagasy, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, "
    "ms Malay, mt Maltese, my Burmese, ne Nepali, nl Dutch, nn Nynorsk, no Norwegian, oc Occitan, om Oromo, "
    "or Odia, pa Punjabi, pl Polish, ps Pashto, pt Portuguese, qu Quechua, ro Romanian, ru Russian, "
    "rw Kinyarwanda, sa Sanskrit, se Northern Sami, si Sinhala, sk Slovak, sl Slovenian, sn Shona, "
    "so Somali, sq Albanian, sr Serbian, st Sotho, sv Swedish, sw Swahili, ta Tamil, te Telugu, tg Tajik, "
    "th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, "
    "vi Vietnamese, vo Volapük, wa Walloon, xh Xhosa, yo Yoruba, zh Chinese, zu Zulu"
)
NAMES: Mapping[str, str] = dict(pair.split(" ", 1) for pair in _LISTED.split(", "))


def name_of(code: str) -> str:
    """Return the English name of a language, its code if the name is not known."""
    return NAMES.get(code, code)
