"""Perturbations as native speakers read them: what changes in a language, and what is better left alone."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.perturbation_samples import VERDICTS, count, read_verdicts
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import PERTURBATIONS
from tests.analysis.perturbations.test_catalogue import changed
from tests.analysis.perturbations.test_parsed import one, parse


@pytest.mark.parametrize(
    ("name", "lang", "text", "expected"),
    [
        # German: kein denies the sentence only where no preposition, comma or conjunction stands before it.
        ("negation", "de", "Der Verein gewinnt einen Preis.", "Der Verein gewinnt keinen Preis."),
        ("negation", "de", "Sie arbeitet in einem Büro.", None),
        ("negation", "de", "Er rannte wie ein Hase.", None),
        ("negation", "de", "Die Dauer einer Sitzung ist begrenzt.", "Die Dauer einer Sitzung ist nicht begrenzt."),
        ("negation", "de", "Er lobt das Meer und nicht danach.", None),
        ("opposites", "de", "Viele Grüße aus Köln.", None),
        ("opposites", "de", "Die linke und die rechte Seite.", None),
        ("opposites", "de", "Die App ist neu.", None),
        ("opposites", "de", "Drei Jahre später kam er.", "Drei Jahre früher kam er."),
        ("synonyms", "de", "Da kommt einiges zusammen.", None),
        ("synonyms", "de", "Jedoch regnet es.", None),
        ("modality", "de", "Ich kann gerne helfen.", None),
        ("spelling", "de", "GRÖSSE", "GROESSE"),
        ("quotes", "de", "``Gut'', sagte sie.", "„Gut“, sagte sie."),
        ("quotes", "de", 'Das ist 5" lang.', None),
        # Spanish
        ("negation", "es", "¿Qué es para ti el pan?", None),
        ("negation", "es", "Eso no deja de doler.", None),
        ("negation", "es", "Vino por dinero y no por amor.", None),
        ("opposites", "es", "Bebe el té con azúcar.", None),
        ("opposites", "es", "Es más caro.", "Es menos caro."),
        ("synonyms", "es", "Además de pan hay vino.", None),
        ("synonyms", "es", "También vino Ana.", None),
        # French
        ("negation", "fr", "Peu est dit sur lui.", None),
        ("negation", "fr", "Elle a des amis.", None),
        ("negation", "fr", "On le sait a posteriori.", None),
        ("opposites", "fr", "Il vient avec sa mère.", None),
        ("opposites", "fr", "Il dort de plus en plus.", None),
        ("synonyms", "fr", "Une association à but non lucratif.", None),
        # Russian
        ("negation", "ru", "Можно было пойти пешком.", None),
        ("negation", "ru", "Жди, пока я не приду.", None),
        ("synonyms", "ru", "Там также жил мой дед.", None),
        ("modality", "ru", "Я должен идти.", None),
        ("modality", "ru", "Директор должен уйти.", "Директор может уйти."),
        ("opposites", "ru", "Спор между правом и долгом.", None),
        ("opposites", "ru", "Цены всё больше и больше.", None),
        ("numbers", "ru", "Он сказал: &#39;да&#39;", None),
        ("dates", "ru", "Приходи во вторник.", None),
        # Chinese
        ("negation", "zh", "他是医生。", "他不是医生。"),
        ("negation", "zh", "这是什么？", None),
        ("negation", "zh", "他住在山上，而不是海边。", None),
        ("negation", "zh", "窗户可以打开。", "窗户不能打开。"),
        ("negation", "zh", "我没有任何问题。", None),
        ("opposites", "zh", "他毕业于成功大学。", None),
        ("modality", "zh", "天气应该会好转。", None),
        ("modality", "zh", "你可以等我。", "你必须等我。"),
        ("synonyms", "zh", "新规定体现在合同里。", None),
        ("function-words", "zh", "他的父亲很高。", "他父亲很高。"),
        ("function-words", "zh", "由他写的书很贵。", None),
        ("typos", "zh", "草地很大。", None),
        # The next ten
        ("negation", "it", "La porta è chiusa.", "La porta non è chiusa."),
        ("negation", "it", "La porta non è chiusa.", "La porta è chiusa."),
        ("negation", "it", "Nessuno è venuto.", None),
        ("negation", "pt", "A porta está fechada.", "A porta não está fechada."),
        ("negation", "pt", "Ele nunca está em casa.", None),
        ("negation", "nl", "Dat lukt niet.", "Dat lukt."),
        ("negation", "nl", "Het resultaat is bekend.", "Het resultaat is niet bekend."),
        ("negation", "nl", "Een al dan niet vaste baan.", None),
        ("negation", "pl", "Dom został sprzedany.", "Dom nie został sprzedany."),
        ("negation", "pl", "Nikt nie może spać.", None),
        ("negation", "cs", "Dům je starý.", "Dům není starý."),
        ("negation", "cs", "Dům není starý.", "Dům je starý."),
        ("negation", "tr", "Evde su vardır.", "Evde su yoktur."),
        ("negation", "tr", "Bu kolay değil.", "Bu kolay."),
        ("negation", "hi", "वह तैर सकता है।", "वह नहीं तैर सकता है।"),
        ("negation", "hi", "यह सच नहीं है।", "यह सच है।"),
        ("negation", "id", "Dia bisa berenang.", "Dia tidak bisa berenang."),
        ("negation", "id", "Tidak ada yang bisa tidur.", None),
        ("negation", "ko", "나는 수영할 수 있다.", "나는 수영할 수 없다."),
        ("negation", "sv", "Det är en katt.", "Det är inte en katt."),
        ("negation", "sv", "Vi ses imorgon.", None),
    ],
)
def test_what_changes_and_what_does_not(name: str, lang: str, text: str, expected: str | None) -> None:
    assert changed(name, text, lang) == expected


def test_numbers_can_stand_where_they_stand() -> None:
    for seed in range(25):
        day = (changed("numbers", "Am 31. Dezember", "de", seed=seed) or "").split()[1]
        assert 2 <= int(day.rstrip(".")) <= 28
        assert (changed("numbers", "В 3 домах", "ru", seed=seed) or "")[2] in "24"
        assert int((changed("numbers", "出生于1987年", "zh", seed=seed) or "")[3:7]) in range(1900, 2000)
        new = changed("numbers", "Son las 10:45", "es", seed=seed) or ""
        hours, minutes = new.split()[-1].split(":")
        assert int(hours) < 24
        assert int(minutes) < 60
        assert changed("numbers", "Ein Buch, 1 Euro", "de", seed=seed) is None
        assert changed("numbers", "1990–1995", "fr", seed=seed) is None
        assert changed("numbers", "Yıl 2004'te bitti.", "tr", seed=seed) is None
    assert changed("numbers", "On the 31st it cost 1 euro", "en") is not None  # English is as it was


def test_chinese_days_and_months() -> None:
    for seed in range(10):
        assert (changed("dates", "我们周五见。", "zh", seed=seed) or "")[3] in "一二三四六"
        assert (changed("dates", "星期天下雨。", "zh", seed=seed) or "")[2] in "一二三四五六"
        month = (changed("dates", "他3月来。", "zh", seed=seed) or "")[1:].partition("月")[0]
        assert int(month) in set(range(1, 13)) - {3}
    assert changed("dates", "他三个月没来。", "zh") is None


def test_a_french_month_fits_what_is_shortened_before_it() -> None:
    found = {changed("dates", "Le pont date d'avril.", "fr", seed=seed) for seed in range(20)}
    assert found == {"Le pont date d'août.", "Le pont date d'octobre."}


def test_nouns_change_places_only_where_their_articles_fit() -> None:
    masculine, feminine = "Case=Nom|Gender=Masc|Number=Sing", "Case=Nom|Gender=Fem|Number=Sing"
    for second, feats, expected in (
        ("Baum", masculine, "Der Baum sieht, dass der Hund fällt."),
        ("Lampe", feminine, None),
    ):
        article = "der" if feats == masculine else "die"
        text = f"Der Hund sieht, dass {article} {second} fällt."
        tree = parse(
            f"Der/2/DET/det/{masculine} Hund/3/NOUN/nsubj/{masculine} sieht/0/VERB/root ,/8/PUNCT/punct "
            f"dass/8/SCONJ/mark {article}/7/DET/det/{feats} {second}/8/NOUN/nsubj/{feats} fällt/3/VERB/ccomp "
            "./3/PUNCT/punct"
        )
        assert one(text, "noun-swap", tree, "de") == expected


def test_a_form_lacks_no_feature_of_the_verb() -> None:
    finite = "Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin"
    present, past = ("leiten", "leiten", "VERB", finite), ("leiteten", "leiten", "VERB", finite.replace("Pres", "Past"))
    forms = Inflections([present, ("geleitet", "leiten", "VERB", "VerbForm=Part|Tense=Past"), past])
    assert forms.form("leiten", "VERB", finite, {"Tense": "Past"}) == "leiteten"
    bare = Inflections([present, ("geleitet", "leiten", "VERB", "Tense=Past")])
    assert bare.form("leiten", "VERB", finite, {"Tense": "Past"}) is None


def test_what_is_withdrawn_says_why() -> None:
    for perturbation in PERTURBATIONS.values():
        for lang, why in perturbation.withdrawn.items():
            lacking = perturbation.lacks(lang, source=True, parse=True, inflections=True)
            assert lacking == f"is withdrawn for {lang}: {why}"
            assert perturbation.languages is None or lang not in perturbation.languages


def test_nine_of_ten_outputs_are_good_in_every_language_and_rule() -> None:
    verdicts = count()
    assert {lang for lang, _ in verdicts} >= {"de", "es", "fr", "ru", "zh"}
    for (lang, rule), counted in verdicts.items():
        assert set(counted) <= {"good", "bad"}, (lang, rule)
        assert counted["good"] >= 0.9 * counted.total(), (lang, rule)
        assert PERTURBATIONS[rule].lacks(lang, source=True, parse=True, inflections=True) is None, (lang, rule)


def test_a_bad_verdict_has_a_reason() -> None:
    for file in VERDICTS.glob("*.tsv"):
        rows = read_verdicts(file)
        assert all(bool(row["why"]) == (row["verdict"] == "bad") for row in rows), file.name
        assert max(Counter((row["rule"], row["text"]) for row in rows).values()) == 1
