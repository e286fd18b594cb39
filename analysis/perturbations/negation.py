"""Negation put in or taken out, by rules for each language that act on the first place they fit.

They change words they know: auxiliaries, copulas, modals, articles. Sentences with none of these are left alone, which
is counted; a wrong negation would measure something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import regex

from bsx.analysis.perturbations.base import Item, register

Rule = tuple[str, str | Callable[[regex.Match[str]], str]]


def _capital(match: regex.Match[str]) -> str:
    return str(match[1]).upper()


_EN_NEGATIVE = r"(?!\s+(?:not|never|no|nothing|nobody|none|neither|nowhere|hardly|only|just|all)\b)"
_EN_SUBJECT = r"(?!\s+(?:I|you|he|she|it|we|they|this|these|those|there|been)\b)"
_EN_AUXILIARY = "is|are|was|were|am|will|would|can|could|should|must|may|might|shall"
_EN_PARTICIPLE = (
    r"(?:\p{Ll}{2,}ed|been|become|begun|broken|brought|built|bought|caught|chosen|come|cut|done|drawn|driven|fallen|"
    r"felt|found|forgotten|given|gone|grown|had|heard|held|kept|known|led|left|lost|made|meant|met|paid|put|read|risen|"
    r"run|said|seen|sent|set|shown|spent|spoken|stood|taken|thought|told|understood|won|worn|written)"
)
_DE_NOT_AFTER = (  # words that cannot follow "nicht" here: articles, pronouns, particles, conjunctions
    r"(?:der|die|das|den|dem|des|(?:d?ein|kein|mein|sein|ihr|unser)\p{Ll}{0,2}|ich|du|er|sie|es|wir|man|sich|mich|dich|"
    r"uns|euch|mir|dir|ihm|ihn|ihnen|dies\p{Ll}*|jed\p{Ll}+|all\p{Ll}+|viel\p{Ll}*|einig\p{Ll}+|beid\p{Ll}+|nicht|nie|"
    r"niemals|niemand|nichts|auch|nur|ja|doch|noch|schon|nun|also|aber|denn|und|oder|sondern|wie|als|wenn|dass|dabei|da|"
    r"dort|hier|jetzt|heute|gestern|dann|so|damit|daher|deshalb|wohl|bereits|wer|was|wo)"
)
_DE_BEFORE = (  # "kein" behind them would not deny the sentence
    "in|im|an|auf|aus|bei|mit|nach|von|zu|für|durch|gegen|über|unter|vor|seit|während|wegen|hinter|neben|zwischen|ab|bis|"
    "als|wie|oder|und|aber|sowie|sogar|je|pro|laut|trotz|statt|anstatt|dank|noch|so|solch|welch|manch|mancher|mehr|fast|etwa|knapp|rund|"
    "einst|gerade|erst|schon|ebenfalls|zudem|dann|mal|auch nur|innerhalb|außerhalb|anhand|mittels|entlang"
)
_FR_BEFORE = r"(?:(?:me|te|se|le|la|les|lui|leur|nous|vous|y|en)\s+|[mtsl]['’])*"
_ES_CLITICS = r"(?:(?:me|te|se|le|les|lo|la|los|las|nos|os)\s)*"
_ES_NOT_VERB = (
    r"(?!(?:en|de|a|con|por|para|el|la|los|las|un|una|sólo|solo|solamente|dej\p{L}+|obstante|más|menos|tan|muy|siempre|"
    r"todos?|todas?|cabe|hay dudas?|es (?:que|sólo|solo|de)|del?|bien|fuera|sea|haya|hubiera|tener|ser)\s)"
)
_FR_NEGATIVE = r"(?!\s+(?:pas|jamais|plus|rien|personne|que|aucune?|point|guère|ni)\b)"
_FR_FREE = (
    r"(?<=\p{L}\s)(?<!\b(?:me|te|se|le|la|les|lui|leur|nous|vous|y|en|ne|à|de|du|vers|que?|dont|où|peu|mieux|"
    r"autant|plus|moins)\s)"
)
_ES_FREE = (
    r"(?<=\p{L}\s)(?<!\b(?:me|te|se|le|les|lo|la|los|las|nos|os|no|nunca|ni|tampoco|jamás|nada|nadie|o sea|"
    r"cómo|qué|cual|tal como|como|más|menos|así|o|cuando)\s)"
)
_ZH_NOT_BEFORE_IS = "但可还還于於总總只要或凡正算乃老若不倒既先却都就也又便即如仅僅"

_IT_VERBS = (
    "è|sono|era|erano|fu|furono|sarà|saranno|ha|hanno|aveva|avevano|può|possono|poteva|potrebbe|deve|devono|"
    "vuole|vogliono"
)
_IT_CLITICS = "mi|ti|si|ci|vi|lo|la|li|le|ne|gli|che cosa|non|dove|come|quale|più|meno|cui|né|o|cioè"
_IT_AFTER = (
    r"(?!\s+(?:già|ancora|anche|solo|stato già|più|sempre|quasi|pure|dei|degli|delle|del|qualche|alcun\p{L}|bisogno)\b)"
)
_PT_VERBS = (
    "é|são|era|eram|foi|foram|será|serão|está|estão|estava|estavam|pode|podem|podia|poderia|deve|devem|"
    "deveria|quer|querem"
)
_PT_CLITICS = "só|me|te|se|lhe|lhes|o|a|os|as|nos|vos|não|como|onde|ou|isto|mais|menos|quanto"
_PT_AFTER = r"(?!\s+(?:que|só|apenas|já|ainda|também|mais|sempre|quase|muito|alguns?|algumas?)\b)"
_PL_VERBS = (
    "może|mogą|mógł|mogła|mogli|mogły|będzie|będą|został|została|zostało|zostały|zostali|zostanie|zostaną|są|"
    "powinien|powinna|powinno|powinni|powinny"
)
_PL_BEFORE = "nie|jak|co|tylko|być|ani|choć|niż|żeby|aby|by"
_PL_AFTER = r"(?!\s+(?:też|także|jeszcze|już|tylko|nie|może|nawet)\b)"
_CS_VERBS = {
    "je": "není", "jsou": "nejsou", "byl": "nebyl", "byla": "nebyla", "bylo": "nebylo", "byli": "nebyli",
    "byly": "nebyly", "bude": "nebude", "budou": "nebudou", "může": "nemůže", "mohou": "nemohou", "mohl": "nemohl",
    "mohla": "nemohla",
    "má": "nemá", "mají": "nemají", "měl": "neměl", "měla": "neměla", "chce": "nechce", "chtěl": "nechtěl",
}  # fmt: skip
_ID_VERBS = "bisa|dapat|akan|harus|mau|boleh|ingin|mampu|mungkin|perlu"
_SV_SUBJECTS = "Det|Han|Hon|De|Vi|Jag|Den|Detta|Dessa|Denna"
_SV_VERBS = "är|var|har|hade|kan|kunde|ska|skulle|måste|vill|ville|blev"
_NL_SUBJECTS = r"(?:De|Het|Een|Deze|Dit|Zijn|Haar|Hun|Die) \p{L}+|Hij|Zij|Ze|Het|Dit|Dat|Zij|We|Wij"

# Taking a negation out, tried first.
_REMOVE: dict[str, Sequence[Rule]] = {
    "en": (
        (r"\b([Cc]an)not\b", r"\1"),
        (r"\b([Cc])a ?n['’]t\b", r"\1an"),
        (r"\b([Ww])o ?n['’]t\b", r"\1ill"),
        (r"\b([Ss]ha) ?n['’]t\b", r"\1ll"),
        (r"(?i:\b(is|are|was|were|do|does|did|has|have|had|would|could|should|must|might|need)) ?n['’]t\b", r"\1"),
        (rf"\b((?i:{_EN_AUXILIARY}|do|does|did|has|have|had)) not\b(?!\s+(?:only|just|least|all)\b)", r"\1"),
        (r"(?<=\w )never\s+(?!before|again|mind)", ""),
    ),
    "de": (
        (
            r"(?<=\w)\s+nicht\b(?!\s+(?:nur|wahr|einmal|zuletzt|mehr|weniger|zu|da\p{L}+|als|an|auf|bei|für|in|mit|um|von|unbedingt|ganz)\b)",
            "",
        ),
        (r"\bk(ein|einem|eines)\b", r"\1"),
        (r"\bK(e)(?=in(?:em|es)?\b)", _capital),
        (r"(?<!\bnoch )\b(?:nie|niemals)\b(?!\s+(?:mehr|wieder|zuvor)\b)", "immer"),
    ),
    "es": (
        (rf"(?<=\p{{L}},? )(?<!\b(?:si|pero|y|o|ya|que si) )no (?={_ES_CLITICS}\p{{Ll}}{{2,}}){_ES_NOT_VERB}", ""),
        (rf"^No (\p{{Ll}})(?=\p{{Ll}}){_ES_NOT_VERB}", _capital),
    ),
    "fr": (
        (r"\b([Cc])e n['’](est|était)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1'\2"),
        (rf"\b([Jj])e n['’]({_FR_BEFORE}\p{{L}}+)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1'\2"),
        (rf"\b(?:ne\s+|n['’])({_FR_BEFORE}\p{{L}}+)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1"),
    ),
    "ru": (
        (
            r"(?<=\p{L} )(?<!\b(?:[Аа]|[Тт]ак и|бы|и|ли) )не (?=(?:был[аои]?|будет|будут|может|могут|мог|могл[аи]|"
            r"явля[ею]тся|стал[аи]?|сможет|"
            r"смогут|должен|должна|должны|знает|знают|знал[аи]?)\b)(?!\p{L}+ (?:бы|быть|не|более)\b)",
            "",
        ),
        (r"^Это не (?!то|так|тот|та|все|всё|только|очень)(?=\p{L})", "Это "),
    ),
    "zh": (
        ("(?<!是)(?<![也，])不是(?![吗嗎所每])", "是"),
        ("(?<![有从從并並还還也都曾乎人])(?:没|沒)有(?![的到开開人比任想料了，。、么麼些过過什])", "有"),
        (
            "(?<![能会會要想该該可也从從决決绝絕并並还還都])不(?=能|会|會|可以|应该|應該|需要)(?!能不|会不|會不|得不)",
            "",
        ),
    ),
    "it": (
        (rf"(?<=\p{{L}},? )(?<!\b(?:se|e|o|che|ma) )non (?=(?:{_IT_VERBS})\b)", ""),
        (rf"^Non (\p{{Ll}})(?=\p{{L}}*)(?<=^Non (?=(?:{_IT_VERBS})\b)\p{{Ll}})", _capital),
    ),
    "pt": ((rf"(?<=\p{{L}},? )(?<!\b(?:se|e|ou|que) )não (?=(?:{_PT_VERBS})\b)", ""),),
    "nl": (
        (
            r"(?<=\w)(?<!\bal dan)\s+niet\b(?!-|\s+(?:alleen|eens|meer|minder|zo|zozeer|waar|te|langer|eerder|dat|"
            r"best)\b)",
            "",
        ),
    ),
    "pl": ((rf"(?<=\p{{L}} )nie (?=(?:{_PL_VERBS})\b)", ""),),
    "cs": tuple((rf"(?<=\p{{L}} ){no}\b", yes) for yes, no in _CS_VERBS.items()),
    "tr": (
        (r"\byoktur(?=[.!]?$)", "vardır"),
        (r"\byoktu(?=[.!]?$)", "vardı"),
        (r"(?<=\w)\s+değil(?=[.!]?$)", ""),
    ),
    "hi": ((r"(?<=\S )नहीं (?=(?:है|हैं|था|थी|थे|सकत[ाेी])(?:\s|।|$))", ""),),
    "id": ((rf"(?<=\w )tidak (?=(?:{_ID_VERBS})\b)", ""),),
    "ko": (
        (r"(?<=\S )없습니다(?=[.]|$)", "있습니다"),
        (r"(?<=\S )없다(?=[.]|$)", "있다"),
        (r"(?<=\S )없었다(?=[.]|$)", "있었다"),
        (r"(?<=수 )없는(?= )", "있는"),
    ),
    "sv": ((rf"^((?:{_SV_SUBJECTS}) (?:{_SV_VERBS})) inte (?!(?:bara|heller|ens|längre)\b)", r"\1 "),),
}
# Putting one in.
_INSERT: dict[str, Sequence[Rule]] = {
    "en": (
        (
            rf"(?<=[\w,] )(?<!\b(?:the|a|an|his|her|their|my|our|your|free|good|ill) )(?<!^(?:Who|What|Where|How|Why) )"
            rf"({_EN_AUXILIARY})\b(?=\s+\w){_EN_NEGATIVE}{_EN_SUBJECT}",
            lambda match: "cannot" if match[1] == "can" else f"{match[1]} not",
        ),
        (rf"(?<=\w )(has|have|had)\b{_EN_NEGATIVE}(?=\s+(?:\p{{Ll}}+ly\s+)?{_EN_PARTICIPLE}\b)", r"\1 not"),
        (
            rf"\b(I['’]m|(?:[Yy]ou|[Ww]e|[Tt]hey)['’]re|(?:I|[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey)['’]ll)\b(?=\s+\w)"
            rf"{_EN_NEGATIVE}",
            r"\1 not",
        ),
        (
            r"(?<!\b(?i:do|did|will|would|can|could|should|must|may|might|shall) )\b(I|[Yy]ou|[Ww]e|[Tt]hey) (think|"
            r"know|want|need|like|believe|love|see|feel|understand|agree|remember|expect|hope)\b",
            r"\1 do not \2",
        ),
    ),
    "de": (
        (rf"(?<=\w )(ist|sind|war|waren|wird|wurde|wurden|bin|bist)(?=\s\p{{Ll}})(?!\s{_DE_NOT_AFTER}\b)", r"\1 nicht"),
        (
            rf"(?<!\b(?:nur|um|auch|was für|sondern|{_DE_BEFORE}) )(?<!, )\b([Ee])(in(?:e|en)?)\b(?!\s(?:paar|"
            rf"bisschen|wenig|Tages|"
            r"Morgens|Abends|d\p{{Ll}}{{2}}|jede[rs]?|unser\p{{Ll}}*|meiner|seiner|ihrer|großer|Teil|gewisse\p{{Ll}}*|Stück|Jahr\p{{L}}*|Hälfte|"
            rf"Drittel|Mal|Weile|Reihe|Vielzahl|Gruppe|Ende|einzig\p{{Ll}}*|Beispiel|Dutzend|Sprecher\p{{L}}*|weitere\p{{Ll}}*)\b)"
            rf"(?=\s(?:\p{{Ll}}{{2,}}e[nrsm]?\s){{0,2}}\p{{Lu}}\p{{L}}+)",
            lambda match: ("K" if match[1] == "E" else "k") + "e" + match[2],
        ),
    ),
    "es": (
        (
            rf"{_ES_FREE}(es|son|está|están|era|eran|fue|fueron|será|serán|ha|han|había|habían|puede|pueden|podría|"
            r"debe|deben|quiere|quieren)\b(?=\s+\p{L})(?!\s+(?:decir|que|de|casi|apenas|todos?|muy|bastante|algunos?|algunas?)\b)",
            r"no \1",
        ),
    ),
    "fr": (
        (rf"\b([Cc])['’](est|était)\b(?=\s+\p{{L}}){_FR_NEGATIVE}", r"\1e n'\2 pas"),
        (
            rf"{_FR_FREE}(est|était|étaient|a|ont|avait|avaient|aura|auront)\b(?=\s+\p{{L}}){_FR_NEGATIVE}"
            r"(?!\s+(?:un|une|du|des|de|d['’]\p{L}*|l['’]\p{L}*|priori|posteriori|fortiori|contrario|aussi|également|surtout|même|"
            r"en|toujours|encore|déjà|presque|seulement|notamment|parfois|souvent|peut-être|certes|\d+)\b)",
            r"n'\1 pas",
        ),
        (
            rf"{_FR_FREE}(sont|sera|seront|serait|peut|peuvent|pourrait|doit|doivent|va|vont|faut|veut|veulent)\b"
            rf"(?=\s+\p{{L}}){_FR_NEGATIVE}",
            r"ne \1 pas",
        ),
    ),
    "ru": (
        (
            r"(?<=\p{L} )(?<!\b(?:[Нн]е|[Нн]и|[Мм]ожно|[Нн]ужно|[Нн]адо|[Дд]олжен|[Дд]олжна|[Дд]олжны|[Тт]ак|[Дд]о|"
            r"[Сс]|[Кк]|[Оо]|[Тт]акже|[Вв]с[её]|[Чч]то|[Кк]то|"
            r"[Кк]оторых|[Оо]дин|[Уу]|[Нн]евозможно|[Тт]рудно|[Зз]десь|[Тт]ам|[Тт]ут|[Ее]сть|[Уу] \p{L}+|[Вв] \p{L}+|"
            r"[Нн]а \p{L}+|г\.) )(был|была|было|были|будет|будут|может|могут|мог|могла|могли|должен|должна|должны|"
            r"является|являются|хочет|хотят|знает)\b(?!\s+(?:быть|бы|не|более|ли|только|лишь|даже|всего|также|ещё|еще|у|в|и|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|так\p{L}+|две)\b)(?=\s+\p{Ll})",
            r"не \1",
        ),
    ),
    "zh": (
        (
            rf"(?<![{_ZH_NOT_BEFORE_IS}]|[幸惜]的|最多|[说說像則则必真硬全皆均該该還还就別别])是(?![否的非不吗嗎，。、在因由从從以为為如指这這怎谁誰何])",
            "不是",
        ),
        ("(?<![不所还還都也就只才你您码碼少保])可以(?![把将將看说說，。、吗嗎了])", "不能"),
        ("(?<![不所还還都也就只才])(应该|應該|能够|能夠|需要)(?![的，。、])", r"不\1"),
    ),
    "it": ((rf"(?<=\p{{L}} )(?<!\b(?:{_IT_CLITICS}) )({_IT_VERBS})\b(?=\s+\p{{L}}){_IT_AFTER}", r"non \1"),),
    "pt": ((rf"(?<=\p{{L}} )(?<!\b(?:{_PT_CLITICS}) )({_PT_VERBS})\b(?=\s+\p{{L}}){_PT_AFTER}", r"não \1"),),
    "nl": (
        (
            rf"^((?:{_NL_SUBJECTS}) (?:is|was|zijn|waren|wordt|werd|worden|werden))(?=\s(?:\p{{Ll}}+(?:isch|lijk|"
            rf"baar|ig|erd|eld|end)|"
            r"ge\p{Ll}+[dt]|ge\p{Ll}+en|groot|klein|goed|nieuw|waar|oud|bekend)\b)",
            r"\1 niet",
        ),
    ),
    "pl": ((rf"(?<=\p{{L}} )(?<!\b(?:{_PL_BEFORE}) )({_PL_VERBS})\b(?=\s+\p{{L}}){_PL_AFTER}", r"nie \1"),),
    "cs": tuple(
        (rf"(?<=\p{{L}} )(?<!\b(?:by|ať) ){yes}\b(?=\s+\p{{L}})(?!\s+(?:jen|pouze|stále|velmi|všech\p{{L}}+)\b)", no)
        for yes, no in _CS_VERBS.items()
    ),
    "tr": ((r"\bvardır(?=[.!]?$)", "yoktur"), (r"\bvardı(?=[.!]?$)", "yoktu")),
    "hi": ((r"(?<=\S) (\p{L}[\p{L}\p{M}]* सकत[ाेी])(?=\s(?:है|हैं|था|थी|थे)(?:\s|।|$))", r" नहीं \1"),),
    "id": (
        (
            rf"(?<=\w )(?<!\b(?:yang|tidak|untuk|dan|atau) )({_ID_VERBS})\b(?=\s+\p{{L}})(?!\s+(?:jadi|saja)\b)",
            r"tidak \1",
        ),
    ),
    "ko": (
        (r"(?<=\S )있습니다(?=[.]|$)", "없습니다"),
        (r"(?<=[가이은는] )있다(?=[.]|$)", "없다"),
        (r"(?<=수 )있다(?=[.]|$)", "없다"),
        (r"(?<=수 )있었다(?=[.]|$)", "없었다"),
        (r"(?<=수 )있는(?= )", "없는"),
    ),
    "sv": (
        (
            rf"^((?:{_SV_SUBJECTS}) (?:{_SV_VERBS}))(?=\s+\p{{Ll}})(?!\s+(?:sig|mig|dig|oss|honom|henne|dem|den|det|"
            rf"man|jag|han|hon|de|vi)\b)",
            r"\1 inte",
        ),
    ),
}
# Where such words stand, a negation belongs to something else in the sentence: it is not taken out.
_TIED = {
    "de": r"(?i)\b(?:sondern|weder|ohne|bevor|bis|wenn nicht|falls|mehr denn)\b|\?",
    "fr": r"(?i)\b(?:aucune?|rien|personne|ni|si je ne|d['’]autre|sans que|ne \p{L}+ pas que|moins que|pas encore)\b|"
    r"[^ ] mais (?:plutôt|bien)|\?",
    "zh": r"而[是不]|任何|好久|不是.{1,20}而是|[？?]|除非|不是.{1,10}就是|从来|從來|并没|並沒|之前|还没|還沒|要不|"
    r"没有比|沒有比",
    "it": r"(?i)\b(?:né|mai|nessun\p{L}*|niente|nulla|neanche|nemmeno|neppure|ma|bensì|più|ancora|finché|che non|"
    r"meno che|solo|solamente)\b|\?",
    "pt": r"(?i)\b(?:nem|nunca|nenhum\p{L}*|ninguém|nada|mas|sequer|mais|ainda|só|apenas|senão|menos que|não só)\b|\?",
    "nl": r"(?i)\b(?:maar|niet alleen|niet meer|nog niet|noch|ook niet|geen enkele?|tenzij|zelfs|meer|niet eens)\b|\?",
    "pl": r"(?i)\b(?:ni\p{L}+|ani|lecz|ale|tylko|żad\p{L}+|już|jeszcze|dopóki|póki)\b|\?",
    "cs": r"(?i)\b(?:ni\p{L}+|žádn\p{L}+|ani|ale|nýbrž|dokud|už|ještě|jen)\b|\?",
    "tr": r"(?i)\b(?:hiç\p{L}*|asla|ne|sadece|yalnızca|kimse|henüz|artık)\b|\?",
    "hi": r"\?|कोई|कभी|कुछ|किसी|बल्कि|केवल|सिर्फ|लेकिन|अभी",
    "id": r"(?i)\b(?:melainkan|tetapi|tapi|namun|siapa\p{L}*|apa\p{L}*|hanya|lagi|pernah|sama sekali|satu pun|juga|"
    r"belum)\b|\?",
    "ko": r"\?|아무|전혀|밖에|조차|결코|더 이상|아직|누구도",
    "sv": r"(?i)\b(?:utan|bara|heller|längre|ens|än|förrän|någon\p{L}*|något|några|men)\b|\?",
    "es": r"(?i)\b(?:nada|nadie|nunca|jamás|ning[uú]n\p{L}*|tampoco|ni|sino)\b",
    "ru": r"(?i)\bни\p{L}*\b|, а\b|терпеть|\b(?:пока|как бы|чтобы|разве|если|так и|вовсе|ещё|еще|отнюдь|больше|хочу|"
    r"хочет|нужно)\b|\?",
}
# Where such words stand, there is a negation already that could not be taken out: no second one is put in.
_NEGATIVE = {
    "de": r"(?i)\b(?:nicht|kein\p{L}*|nie|niemals|niemand|nichts|ohne|weder|noch|kaum|ebensowenig|wenn|falls|ob|weder|"
    r"sondern|sowohl|entweder|zwar|eine?[rnms]? (?:oder|und)|was|wer|wann|warum|wieso)\b|\?",
    "es": _TIED["es"]
    + r"|\?|(?i:\b(?:no|poc[oa]s?|apenas|sin|a[uú]n|ya|todavía|cuanto|más bien|como si|a menos|cómo|qué)\b)",
    "fr": r"(?i)\?|\b(?:si|s['’]il|peu|aucune?|rien|personne|jamais|ni|sans|ne|n['’]\p{L}+|quel\p{L}*|comment|"
    r"pourquoi|non)\b",
    "ru": _TIED["ru"] + r"|\?|(?i:\b(?:не|нет|нельзя|едва|даже|лишь|пока|хотя|без|ли|как|что за)\b)",
    "zh": r"[？?]|什[么麼]|[哪谁誰]|多少|怎[么麼样樣]|[几幾][个個]|如何|呢|还是|還是|是否|才|而是|或者|也許|也许|不|"
    r"没|沒|无|無|除",
    "it": r"(?i)\?|\b(?:non|né|mai|nessun\p{L}*|niente|nulla|neanche|nemmeno|senza|poc[oah]\p{L}?|appena|se|come|"
    r"anche|ancora|già)\b",
    "pt": r"(?i)\?|\b(?:não|nem|nunca|nenhum\p{L}*|ninguém|nada|sem|pouc[oa]s?|apenas|se|como|também|ainda|já)\b",
    "nl": r"(?i)\?|\b(?:niet|geen|nooit|niemand|niets|noch|zonder|nauwelijks|als|of|ook|wel|nog|al)\b",
    "pl": r"(?i)\?|\b(?:nie|ni\p{L}+|ani|bez|jeśli|czy|jak|też|także|jeszcze|już|ledwo|mało)\b",
    "cs": r"(?i)\?|\b(?:ne\p{L}*|ni\p{L}+|žádn\p{L}+|ani|bez|jestli|zda|jak|také|ještě|už|již|sotva|málo)\b",
    "tr": r"(?i)\?|\b(?:değil\p{L}*|yok\p{L}*|ne|hiç|asla|henüz|eğer|m[ıiuü])\b|\p{L}+m[ae]z\b",
    "hi": r"\?|नहीं|न |मत |बिना|कोई|क्या|अगर|यदि|केवल|सिर्फ|ही ",
    "id": r"(?i)\?|\b(?:tidak\p{L}*|bukan\p{L}*|belum|jangan|tanpa|tak|tiada|hanya|apa\p{L}*|jika|kalau|apakah|juga|"
    r"masih|sudah)\b",
    "ko": r"\?|않|없|못|아니|안 |말[고지라]|밖에|조차|아무|누구|무엇|어떤|왜|만 ",
    "sv": r"(?i)\?|\b(?:inte|ej|icke|ingen|inget|inga|ingenting|aldrig|utan|knappt|om|också|ännu|redan|bara)\b",
}
LANGUAGES = tuple(sorted(_REMOVE))


def _compiled(rules: dict[str, Sequence[Rule]]) -> dict[str, list[tuple[regex.Pattern[str], object]]]:
    return {lang: [(regex.compile(pattern), to) for pattern, to in listed] for lang, listed in rules.items()}


_REMOVALS, _INSERTIONS = _compiled(_REMOVE), _compiled(_INSERT)


def _negation(item: Item, strength: float, rng: random.Random) -> str | None:
    for rules, unless in ((_REMOVALS, _TIED), (_INSERTIONS, _NEGATIVE)):
        if item.lang in unless and regex.search(unless[item.lang], item.text):
            continue
        for pattern, to in rules[item.lang]:
            text = pattern.sub(to, item.text, count=1)
            if text != item.text:
                return str(text)
    return None


register(
    "negation",
    "takes a negation out of the text, or puts one in if there is none to take out",
    False,
    _negation,
    languages=LANGUAGES,
    acts_on="texts with an auxiliary, copula, modal or article that the rules know",
    aim="sem",
    place=50,
)
