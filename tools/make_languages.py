"""Write registry/languages.yaml: the languages of multilingual BERT, XLM-100 and XLM-R, and what scores and reads them.

Run: python tools/make_languages.py            (writes the file)
     python tools/make_languages.py --check    (fails if the file differs from what would be written)

A new language is one line of `LANGUAGES`. The models come from these rules:

- ``model`` is the papers' choice (Zhang et al. 2020, section 4, and bert-score's lang2model): en, zh, tr and en-sci
  have models of their own, every other language multilingual BERT. Where that model was not trained on the language,
  ``unseen`` says so, and users are told.
- ``alternatives`` are further models that know the language, at most six: those measured on the language itself come
  first, then those measured on English, best figure first, then those without a figure in the order of `KNOWN`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

REGISTRY = Path(__file__).resolve().parent.parent / "registry"
MOST = 6

HEADER = """\
# Written by tools/make_languages.py: languages, the model that scores each one, and what other tools call it.
#   code          BCP-47 (en-sci is bert-score's name for scientific English)
#   script        ISO 15924, the one most text is written in
#   model         the papers' choice; unseen: it was not trained on the language
#   alternatives  further models that know the language, best evidence first
#   sacrebleu     tokenizer for sacreBLEU
#   stanza        code of stanza's package
#   fasttext      the code in cc.<code>.300
"""

# code | name | script (Latn unless given) | encoders trained on it: b multilingual BERT, x XLM-100, r XLM-R, l LaBSE
LANGUAGES = """\
af|Afrikaans||bxrl
am|Amharic|Ethi|xrl
an|Aragonese||bx
ang|Old English||x
ar|Arabic|Arab|bxrl
arz|Egyptian Arabic|Arab|x
as|Assamese|Beng|rl
ast|Asturian||bx
az|Azerbaijani||bxrl
azb|South Azerbaijani|Arab|b
ba|Bashkir|Cyrl|b
bar|Bavarian||bx
be|Belarusian|Cyrl|bxrl
bg|Bulgarian|Cyrl|bxrl
bn|Bengali|Beng|bxrl
bpy|Bishnupriya|Beng|b
br|Breton||bxr
bs|Bosnian||bxrl
ca|Catalan||bxrl
ce|Chechen|Cyrl|b
ceb|Cebuano||bxl
ckb|Central Kurdish|Arab|x
cs|Czech||bxrl
cv|Chuvash|Cyrl|b
cy|Welsh||bxrl
da|Danish||bxrl
de|German||bxrl
el|Greek|Grek|bxrl
en|English||bxrl
en-sci|English (scientific)||bxrl
eo|Esperanto||xrl
es|Spanish||bxrl
et|Estonian||bxrl
eu|Basque||bxrl
fa|Persian|Arab|bxrl
fi|Finnish||bxrl
fr|French||bxrl
fy|West Frisian||bxrl
ga|Irish||bxrl
gan|Gan Chinese|Hans|x
gd|Scottish Gaelic||rl
gl|Galician||bxrl
gsw|Alemannic||x
gu|Gujarati|Gujr|bxrl
ha|Hausa||rl
he|Hebrew|Hebr|bxrl
hi|Hindi|Deva|bxrl
hr|Croatian||bxrl
ht|Haitian Creole||bl
hu|Hungarian||bxrl
hy|Armenian|Armn|bxrl
ia|Interlingua||x
id|Indonesian||bxrl
io|Ido||b
is|Icelandic||bxrl
it|Italian||bxrl
ja|Japanese|Jpan|bxrl
jv|Javanese||bxrl
ka|Georgian|Geor|bxrl
kk|Kazakh|Cyrl|bxrl
km|Khmer|Khmr|rl
kn|Kannada|Knda|bxrl
ko|Korean|Kore|bxrl
ku|Kurdish (Kurmanji)||xrl
ky|Kyrgyz|Cyrl|brl
la|Latin||bxrl
lb|Luxembourgish||bxl
lmo|Lombard||b
lo|Lao|Laoo|rl
lt|Lithuanian||bxrl
lv|Latvian||bxrl
lzh|Literary Chinese|Hant|x
mg|Malagasy||brl
min|Minangkabau||b
mk|Macedonian|Cyrl|bxrl
ml|Malayalam|Mlym|bxrl
mn|Mongolian|Cyrl|bxrl
mr|Marathi|Deva|bxrl
ms|Malay||bxrl
my|Burmese|Mymr|bxrl
nan|Southern Min||x
nb|Norwegian Bokmål||bxrl
nds|Low Saxon||bx
ne|Nepali|Deva|bxrl
new|Newar|Deva|b
nl|Dutch||bxrl
nn|Norwegian Nynorsk||bx
no|Norwegian||bxrl
oc|Occitan||bx
om|Oromo||r
or|Odia|Orya|rl
pa|Punjabi|Guru|brl
pl|Polish||bxrl
pms|Piedmontese||b
pnb|Western Punjabi|Arab|b
ps|Pashto|Arab|r
pt|Portuguese||bxrl
ro|Romanian||bxrl
ru|Russian|Cyrl|bxrl
sa|Sanskrit|Deva|r
scn|Sicilian||bx
sco|Scots||bx
sd|Sindhi|Arab|r
sh|Serbo-Croatian||bx
si|Sinhala|Sinh|xrl
sk|Slovak||bxrl
sl|Slovenian||bxrl
so|Somali||rl
sq|Albanian||bxrl
sr|Serbian|Cyrl|bxrl
su|Sundanese||brl
sv|Swedish||bxrl
sw|Swahili||bxrl
ta|Tamil|Taml|bxrl
te|Telugu|Telu|bxrl
tg|Tajik|Cyrl|bl
th|Thai|Thai|bxrl
tl|Tagalog||bxrl
tr|Turkish||bxrl
tt|Tatar|Cyrl|bxl
ug|Uyghur|Arab|rl
uk|Ukrainian|Cyrl|bxrl
ur|Urdu|Arab|bxrl
uz|Uzbek||bxrl
vi|Vietnamese||bxrl
vo|Volapük||b
war|Waray||bx
wuu|Wu Chinese|Hans|x
xh|Xhosa||rl
yi|Yiddish|Hebr|xrl
yo|Yoruba||bl
yue|Cantonese|Hant|x
zh|Chinese|Hans|bxrl
"""

DEFAULTS = {
    "en": "roberta-large",
    "en-sci": "scibert_scivocab_uncased",
    "tr": "bert-base-turkish-cased",
    "zh": "bert-base-chinese",
}
OTHERS = "bert-base-multilingual-cased"
# Multilingual models worth naming, and the training that makes each one know a language.
KNOWN = {
    "xlm-roberta-large": "r",
    "mdeberta-v3-base": "r",
    "bert-base-multilingual-cased": "b",
    "xlm-roberta-base": "r",
    "xlm-mlm-100-1280": "x",
    "LaBSE": "l",
    "multilingual-e5-large": "r",
    "bge-m3": "r",
}
# Where a domain or a language has models that the rule does not find.
ALTERNATIVES = {"en-sci": ["scibert_basevocab_uncased", "scibert_scivocab_cased", "roberta-large"]}

SACREBLEU = {
    **dict.fromkeys(("zh", "gan", "lzh", "wuu", "yue"), "zh"),
    **dict.fromkeys(("km", "lo", "my", "th"), "flores101"),  # written without spaces
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}
# Languages with a default treebank in stanza 1.15.
STANZA = """
af ang ar as be bg ca ckb cs cy da de el en es et eu fa fi fr ga gd gl he hi hr ht hu hy id is it ja ka kk ko ky la lt
lv lzh mr my nb nds nl nn oc or pa pl pt ro ru sa sd sk sl sq sr sv ta te th tr ug uk ur uz vi wuu yi
"""
STANZA_NAMES = {"zh": "zh-hans", "no": "nb", "ku": "kmr", "en-sci": "en"}
# Languages among the 157 with vectors of Common Crawl and Wikipedia.
FASTTEXT = """
af am an ar arz as ast az azb ba bar be bg bn bpy br bs ca ce ceb ckb cs cv cy da de el en eo es et eu fa fi fr fy ga gd
gl gu he hi hr ht hu hy ia id io is it ja jv ka kk km kn ko ku ky la lb lmo lt lv mg min mk ml mn mr ms my nds ne new nl
nn no oc or pa pl pms pnb ps pt ro ru sa scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tl tr tt ug uk ur uz vi vo
war yi yo zh
"""
FASTTEXT_NAMES = {"nb": "no", "gsw": "als", "en-sci": "en"}


def figures(models: dict[str, dict[str, Any]], language: str) -> dict[str, float]:
    """Return model -> its figure, for the models that know a language and were measured on it."""
    found = {}
    for name, entry in models.items():
        for item in entry["evidence"]:
            speaks = entry["languages"] == "multilingual" or language in entry["languages"]
            if speaks and item.get("language", "en") == language:
                found[name] = float(item["value"])
    return found


def alternatives(code: str, trained: str, default: str, models: dict[str, dict[str, Any]]) -> list[str]:
    own, english = figures(models, code), figures(models, "en")
    known = [name for name, letter in KNOWN.items() if letter in trained]
    measured = sorted((name for name in known if name in english), key=lambda name: -english[name])
    ranked = [
        *sorted(own, key=lambda name: -own[name]),
        *ALTERNATIVES.get(code, []),
        *measured,
        *(name for name in known if name not in english),
    ]
    return [name for name in dict.fromkeys(ranked) if name != default][:MOST]


def scalar(value: str) -> str:
    return value if yaml.safe_load(f"[{value}]") == [value] else json.dumps(value, ensure_ascii=False)


def rendered() -> str:
    models = {}
    for file in sorted((REGISTRY / "models").glob("*.yaml")):
        models[file.stem] = yaml.safe_load(file.read_text(encoding="utf-8"))
    lines = []
    for row in LANGUAGES.splitlines():
        code, name, script, trained = row.split("|")
        model = DEFAULTS.get(code, OTHERS)
        unseen = ", unseen: true" if model == OTHERS and "b" not in trained else ""
        others = alternatives(code, trained, model, models)
        unknown = [name for name in (model, *others) if name not in models]
        if unknown:
            raise SystemExit(f"{code}: the registry has no model {', '.join(unknown)}")
        stanza = STANZA_NAMES.get(code, code if code in STANZA.split() else None)
        fasttext = FASTTEXT_NAMES.get(code, code if code in FASTTEXT.split() else None)
        lines.append(
            f"- {{code: {scalar(code)}, name: {scalar(name)}, script: {script or 'Latn'}, model: {model}{unseen}, "
            f"alternatives: [{', '.join(others)}], sacrebleu: {SACREBLEU.get(code, '13a')}, "
            f"stanza: {scalar(stanza) if stanza else 'null'}, fasttext: {scalar(fasttext) if fasttext else 'null'}}}\n"
        )
    return HEADER + "".join(lines)


def main() -> None:
    file = REGISTRY / "languages.yaml"
    text = rendered()
    if sys.argv[1:] != ["--check"]:
        file.write_text(text, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != text:
        raise SystemExit(f"{file} is not what {Path(__file__).name} writes")
    print(f"{text.count('- {code')} languages")


if __name__ == "__main__":
    main()
