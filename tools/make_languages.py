"""Write registry/languages.yaml: the languages that entries of the registry name, and what reads them.

Run: python tools/make_languages.py            (writes the file)
     python tools/make_languages.py --check    (fails if the file differs from what would be written)

A new language is one line of `LANGUAGES`. Names are those of ISO 639 and CLDR, scripts of ISO 15924. A genus is that of
WALS Online 2020.4 (Dryer & Haspelmath 2013), which has a language's genus as its next relatives; where WALS lacks the
language (Aragonese, Croatian, Scots …), that of its nearest relatives there. A family is that of Glottolog 5.1
(Hammarström et al. 2024); constructed languages have none.

``model`` is the papers' choice (Zhang et al. 2020, section 4, and bert-score's lang2model): en, zh, tr and en-sci have
models of their own, every other language multilingual BERT. Where that one was not trained on the language, ``model``
is the best one that was, by `bsx.models.evidence.by_evidence`, and ``papers`` names the papers' choice. ``model`` is
null where no model with a known layer was.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from bsx.catalog.entries import read_entry
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.models.evidence import CHRF, Pooled, by_evidence

REGISTRY = Path(__file__).resolve().parent.parent / "registry"

HEADER = """\
# Written by tools/make_languages.py: languages, the model that scores each one, and what other tools call it.
#   code          BCP-47 (en-sci is bert-score's name for scientific English)
#   codes         further codes of the same language
#   names         further English names
#   script        ISO 15924, the one most text is written in
#   genus         of languages, by WALS Online 2020.4 (Dryer & Haspelmath 2013)
#   family        of languages, by Glottolog 5.1 (Hammarström et al. 2024)
#   model         the papers' choice if it was trained on the language; else the best model with a known layer that was
#   papers        the papers' choice where it is not the model
#   alternatives  models to name first
#   sacrebleu     tokenizer for sacreBLEU
#   stanza        code of stanza's package
#   fasttext      the code in cc.<code>.300
"""

# code | name | script (Latn unless given) | genus | family | further names
LANGUAGES = """\
af|Afrikaans||Germanic|Indo-European|
am|Amharic|Ethi|Semitic|Afro-Asiatic|
an|Aragonese||Romance|Indo-European|
ang|Old English||Germanic|Indo-European|
ar|Arabic|Arab|Semitic|Afro-Asiatic|
ary|Moroccan Arabic|Arab|Semitic|Afro-Asiatic|Darija
arz|Egyptian Arabic|Arab|Semitic|Afro-Asiatic|
as|Assamese|Beng|Indic|Indo-European|
ast|Asturian||Romance|Indo-European|
ay|Aymara||Aymaran|Aymaran|
az|Azerbaijani||Turkic|Turkic|Azeri
azb|South Azerbaijani|Arab|Turkic|Turkic|
ba|Bashkir|Cyrl|Turkic|Turkic|
bar|Bavarian||Germanic|Indo-European|
be|Belarusian|Cyrl|Slavic|Indo-European|Byelorussian
bg|Bulgarian|Cyrl|Slavic|Indo-European|
bho|Bhojpuri|Deva|Indic|Indo-European|
bm|Bambara|||Mande|
bn|Bengali|Beng|Indic|Indo-European|
bo|Tibetan|Tibt||Sino-Tibetan|
bpy|Bishnupriya|Beng|Indic|Indo-European|Bishnupriya Manipuri
br|Breton||Celtic|Indo-European|
brx|Bodo|Deva||Sino-Tibetan|
bs|Bosnian||Slavic|Indo-European|
ca|Catalan||Romance|Indo-European|
ce|Chechen|Cyrl|Nakh|Nakh-Daghestanian|
ceb|Cebuano||Greater Central Philippine|Austronesian|
ckb|Central Kurdish|Arab|Iranian|Indo-European|Sorani
co|Corsican||Romance|Indo-European|
cs|Czech||Slavic|Indo-European|
cv|Chuvash|Cyrl|Turkic|Turkic|
cy|Welsh||Celtic|Indo-European|
da|Danish||Germanic|Indo-European|
de|German||Germanic|Indo-European|
doi|Dogri|Deva|Indic|Indo-European|
el|Greek|Grek|Greek|Indo-European|
en|English||Germanic|Indo-European|
en-sci|English (scientific)||Germanic|Indo-European|scientific English
eo|Esperanto||||
es|Spanish||Romance|Indo-European|Castilian
et|Estonian||Finnic|Uralic|
eu|Basque||Basque||Euskara
fa|Persian|Arab|Iranian|Indo-European|Farsi
fi|Finnish||Finnic|Uralic|
fr|French||Romance|Indo-European|
fy|West Frisian||Germanic|Indo-European|Frisian
ga|Irish||Celtic|Indo-European|
gan|Gan Chinese|Hans|Chinese|Sino-Tibetan|
gd|Scottish Gaelic||Celtic|Indo-European|Gaelic
gl|Galician||Romance|Indo-European|
gn|Guarani|||Tupian|
gsw|Alemannic||Germanic|Indo-European|Swiss German
gu|Gujarati|Gujr|Indic|Indo-European|
ha|Hausa||West Chadic|Afro-Asiatic|
haw|Hawaiian||Oceanic|Austronesian|
he|Hebrew|Hebr|Semitic|Afro-Asiatic|
hi|Hindi|Deva|Indic|Indo-European|
hmn|Hmong||Hmongic|Hmong-Mien|
hr|Croatian||Slavic|Indo-European|
ht|Haitian Creole||Creoles and Pidgins|Indo-European|Haitian
hu|Hungarian||Ugric|Uralic|
hy|Armenian|Armn|Armenian|Indo-European|
ia|Interlingua||||
id|Indonesian||Malayo-Sumbawan|Austronesian|
ig|Igbo||Igboid|Atlantic-Congo|
io|Ido||||
is|Icelandic||Germanic|Indo-European|
it|Italian||Romance|Indo-European|
iu|Inuktitut|Cans||Eskimo-Aleut|
ja|Japanese|Jpan|Japanese|Japonic|
jv|Javanese||Javanese|Austronesian|
ka|Georgian|Geor|Kartvelian|Kartvelian|
ki|Kikuyu||Bantu|Atlantic-Congo|Gikuyu
kk|Kazakh|Cyrl|Turkic|Turkic|
km|Khmer|Khmr|Khmer|Austroasiatic|Central Khmer
kn|Kannada|Knda|Dravidian|Dravidian|
ko|Korean|Kore|Korean|Koreanic|
kok|Konkani|Deva|Indic|Indo-European|
ks|Kashmiri|Arab|Indic|Indo-European|
ku|Kurdish (Kurmanji)||Iranian|Indo-European|Kurmanji
ky|Kyrgyz|Cyrl|Turkic|Turkic|Kirghiz
la|Latin|||Indo-European|
lb|Luxembourgish||Germanic|Indo-European|
lg|Ganda||Bantu|Atlantic-Congo|Luganda
lmo|Lombard||Romance|Indo-European|
ln|Lingala||Bantu|Atlantic-Congo|
lo|Lao|Laoo|Kam-Tai|Tai-Kadai|
lt|Lithuanian||Baltic|Indo-European|
luo|Luo|||Nilotic|Dholuo
lv|Latvian||Baltic|Indo-European|
lzh|Literary Chinese|Hant|Chinese|Sino-Tibetan|Classical Chinese
mai|Maithili|Deva|Indic|Indo-European|
mg|Malagasy||Barito|Austronesian|
mi|Maori||Oceanic|Austronesian|
min|Minangkabau||Malayo-Sumbawan|Austronesian|
mk|Macedonian|Cyrl|Slavic|Indo-European|
ml|Malayalam|Mlym|Dravidian|Dravidian|
mn|Mongolian|Cyrl|Mongolic|Mongolic-Khitan|
mni|Manipuri|Beng||Sino-Tibetan|Meitei; Meiteilon
mr|Marathi|Deva|Indic|Indo-European|
ms|Malay||Malayo-Sumbawan|Austronesian|
mt|Maltese||Semitic|Afro-Asiatic|
my|Burmese|Mymr|Burmese-Lolo|Sino-Tibetan|Myanmar
nan|Southern Min||Chinese|Sino-Tibetan|Min Nan
nb|Norwegian Bokmål||Germanic|Indo-European|Bokmål; Norwegian
nds|Low Saxon||Germanic|Indo-European|Low German
ne|Nepali|Deva|Indic|Indo-European|
new|Newar|Deva|Himalayish|Sino-Tibetan|Nepal Bhasa
nl|Dutch||Germanic|Indo-European|Flemish
nn|Norwegian Nynorsk||Germanic|Indo-European|Nynorsk
nso|Northern Sotho||Bantu|Atlantic-Congo|Sepedi; Pedi
ny|Chichewa||Bantu|Atlantic-Congo|Nyanja; Chewa
oc|Occitan||Romance|Indo-European|
om|Oromo||Lowland East Cushitic|Afro-Asiatic|Afaan Oromo
or|Odia|Orya|Indic|Indo-European|Oriya
pa|Punjabi|Guru|Indic|Indo-European|Panjabi
pcm|Nigerian Pidgin||Creoles and Pidgins|Indo-European|Naija
pl|Polish||Slavic|Indo-European|
pms|Piedmontese||Romance|Indo-European|
pnb|Western Punjabi|Arab|Indic|Indo-European|
ps|Pashto|Arab|Iranian|Indo-European|Pushto
pt|Portuguese||Romance|Indo-European|
qu|Quechua||Quechuan|Quechuan|
rn|Rundi||Bantu|Atlantic-Congo|Kirundi
ro|Romanian||Romance|Indo-European|
ru|Russian|Cyrl|Slavic|Indo-European|
rw|Kinyarwanda||Bantu|Atlantic-Congo|
sa|Sanskrit|Deva|Indic|Indo-European|
sat|Santali|Olck||Austroasiatic|
scn|Sicilian||Romance|Indo-European|
sco|Scots||Germanic|Indo-European|
sd|Sindhi|Arab|Indic|Indo-European|
sh|Serbo-Croatian||Slavic|Indo-European|
si|Sinhala|Sinh|Indic|Indo-European|Sinhalese
sk|Slovak||Slavic|Indo-European|
sl|Slovenian||Slavic|Indo-European|
sm|Samoan||Oceanic|Austronesian|
sn|Shona||Bantu|Atlantic-Congo|
so|Somali||Lowland East Cushitic|Afro-Asiatic|
sq|Albanian||Albanian|Indo-European|
sr|Serbian|Cyrl|Slavic|Indo-European|
st|Southern Sotho||Bantu|Atlantic-Congo|Sotho
su|Sundanese||Malayo-Sumbawan|Austronesian|
sv|Swedish||Germanic|Indo-European|
sw|Swahili||Bantu|Atlantic-Congo|Kiswahili
ta|Tamil|Taml|Dravidian|Dravidian|
te|Telugu|Telu|Dravidian|Dravidian|
tg|Tajik|Cyrl|Iranian|Indo-European|
th|Thai|Thai|Kam-Tai|Tai-Kadai|
ti|Tigrinya|Ethi|Semitic|Afro-Asiatic|
tk|Turkmen||Turkic|Turkic|
tl|Tagalog||Greater Central Philippine|Austronesian|Filipino
tn|Tswana||Bantu|Atlantic-Congo|Setswana
tr|Turkish||Turkic|Turkic|
ts|Tsonga||Bantu|Atlantic-Congo|Xitsonga
tt|Tatar|Cyrl|Turkic|Turkic|
tw|Twi|||Atlantic-Congo|Akan Twi
ug|Uyghur|Arab|Turkic|Turkic|Uighur
uk|Ukrainian|Cyrl|Slavic|Indo-European|
ur|Urdu|Arab|Indic|Indo-European|
uz|Uzbek||Turkic|Turkic|
vi|Vietnamese||Vietic|Austroasiatic|
vo|Volapük||||
war|Waray||Greater Central Philippine|Austronesian|Waray-Waray
wo|Wolof|||Atlantic-Congo|
wuu|Wu Chinese|Hans|Chinese|Sino-Tibetan|
xh|Xhosa||Bantu|Atlantic-Congo|
yi|Yiddish|Hebr|Germanic|Indo-European|
yo|Yoruba||Defoid|Atlantic-Congo|
yue|Cantonese|Hant|Chinese|Sino-Tibetan|Yue Chinese
zh|Chinese|Hans|Chinese|Sino-Tibetan|Mandarin
zu|Zulu||Bantu|Atlantic-Congo|
"""

DEFAULTS = {
    "en": "roberta-large",
    "en-sci": "scibert_scivocab_uncased",
    "tr": "bert-base-turkish-cased",
    "zh": "bert-base-chinese",
}
OTHERS = "bert-base-multilingual-cased"
CODES = {"nb": ["no"]}
# Where a domain has models that no figure speaks for.
ALTERNATIVES = {"en-sci": ["scibert_basevocab_uncased", "scibert_scivocab_cased", "roberta-large"]}

SACREBLEU = {
    **dict.fromkeys(("zh", "gan", "lzh", "wuu", "yue"), "zh"),
    **dict.fromkeys(("km", "lo", "my", "th"), "flores101"),  # written without spaces
    "bo": "flores200",  # the same, with Tibetan
    "ja": "ja-mecab",
    "ko": "ko-mecab",
}
# Languages with a default treebank in stanza 1.15.
STANZA = """
af ang ar as be bg ca ckb cs cy da de el en es et eu fa fi fr ga gd gl he hi hr ht hu hy id is it ja ka kk ko ky la lt
lv lzh mr my nb nds nl nn oc or pa pl pt ro ru sa sd sk sl sq sr sv ta te th tr ug uk ur uz vi wuu yi
"""
STANZA_NAMES = {"zh": "zh-hans", "ku": "kmr", "en-sci": "en"}
# Languages among the 157 with vectors of Common Crawl and Wikipedia.
FASTTEXT = """
af am an ar arz as ast az azb ba bar be bg bn bpy br bs ca ce ceb ckb cs cv cy da de el en eo es et eu fa fi fr fy ga gd
gl gu he hi hr ht hu hy ia id io is it ja jv ka kk km kn ko ku ky la lb lmo lt lv mai mg min mk ml mn mr ms my nds ne
new nl nn oc or pa pl pms pnb ps pt qu ro ru sa scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt ug uk
ur uz vi vo war yi yo zh
"""
FASTTEXT_NAMES = {"nb": "no", "kok": "gom", "gsw": "als", "en-sci": "en"}


def scalar(value: str) -> str:
    return value if yaml.safe_load(f"[{value}]") == [value] else json.dumps(value, ensure_ascii=False)


def languages() -> dict[str, LanguageEntry]:
    """Return the languages, each with the model that scores it."""
    drafts = {}
    for row in LANGUAGES.splitlines():
        code, name, script, genus, family, further = row.split("|")
        drafts[code] = LanguageEntry(
            code=code,
            name=name,
            codes=CODES.get(code, []),
            names=further.split("; ") if further else [],
            script=script or "Latn",
            genus=genus or None,
            family=family or None,
            model=DEFAULTS.get(code, OTHERS),
            alternatives=ALTERNATIVES.get(code, []),
            sacrebleu=SACREBLEU.get(code, "13a"),
            stanza=STANZA_NAMES.get(code, code if code in STANZA.split() else None),
            fasttext=FASTTEXT_NAMES.get(code, code if code in FASTTEXT.split() else None),
        )
    files = sorted((REGISTRY / "models").glob("*.yaml"))
    models = {file.stem: read_entry(ModelEntry, file) for file in files}
    chrf = read_entry(MetricEntry, REGISTRY / "metrics" / "chrf.yaml")
    arms = {name: one.evidence for name, one in models.items()} | {CHRF: chrf.evidence}
    found = Pooled(arms, drafts, models=models)
    return {code: with_default(draft, models, found) for code, draft in drafts.items()}


def with_default(draft: LanguageEntry, models: dict[str, ModelEntry], found: Pooled) -> LanguageEntry:
    """Return a language with the best model that was trained on it, if the papers' choice was not."""
    code = draft.code.partition("-")[0]
    assert draft.model is not None  # noqa: S101 - for the type checker; a draft has the papers' choice
    if code in models[draft.model].languages:
        return draft
    pool = [(one, one.name) for one in models.values() if code in one.languages and isinstance(one.layer, int)]
    best = by_evidence(pool, draft, found)[0].entry.name if pool else None
    return draft.model_copy(update={"model": best, "papers": draft.model})


def rendered() -> str:
    lines = []
    for entry in languages().values():
        fields = []
        for name, value in entry.model_dump().items():
            if name in ("model", "stanza", "fasttext"):
                fields.append(f"{name}: {scalar(value) if value else 'null'}")
            elif isinstance(value, list):
                fields += [f"{name}: [{', '.join(map(scalar, value))}]"] if value else []
            elif value is not None:
                fields.append(f"{name}: {scalar(value)}")
        lines.append(f"- {{{', '.join(fields)}}}\n")
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
