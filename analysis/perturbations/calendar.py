"""Months and weekdays by language: months first, then weekdays; those that are nothing else besides."""

from __future__ import annotations

CALENDAR = {
    "en": (
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    ),
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira",
    ),
    "ru": (
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "понедельник вторник четверг воскресенье",
    ),
    "zh": ("十二月 十一月 十月 二月 三月 四月 五月 六月 七月 八月 九月", "星期一 星期二 星期三 星期四 星期五 星期六"),
}
