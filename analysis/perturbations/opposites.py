"""Opposites, words of must and may, and synonyms, by language: forms that fit into the same place of a sentence.

``a/b`` stands both ways, ``a>b`` one way only. Endings after a colon belong to both sides, ``-`` is none. An underscore
is a space. Where one of a language's set phrases stands (`SET_PHRASES`), the words in it mean something else.
"""

from __future__ import annotations

OPPOSITES = {
    "en": """
        north/south North/South northern/southern Northern/Southern east/west East/West eastern/western Eastern/Western
        increase/decrease:-,d,s increasing/decreasing rise/fall:-,s rising/falling rose/fell
        large/small:-,r,st big>small bigger>smaller biggest>smallest high/low:-,er,est new>old older/younger
        oldest/youngest early/late earlier/later best/worst better/worse good/bad first/last more_than/less_than
        with>without before/after many>few everyone/no_one everybody/nobody everything/nothing
        won/lost winning/losing buy/sell:-,s,ing bought/sold accept/reject:-,s,ed,ing rich/poor:-,er,est
        strong/weak:-,er,est success/failure legal/illegal true/false male/female positive/negative:-,ly
        """,
    "de": """
        groß/klein:e,er,en,em,es größer/kleiner:-,e,en,er,es,em größt/kleinst:e,en,er,es,em hoh/niedrig:e,er,en,em,es
        höher/niedriger:-,e,en,er,es,em höchst/niedrigst:e,en,er,es,em neu>alt:e,er,en,em,es
        älter/jünger:-,e,en,er,es,em gut/schlecht:e,er,en,em,es besser/schlechter:-,e,en,er,es,em
        best/schlechtest:e,en,er,es,em stark/schwach:e,er,en,em,es stärker/schwächer:-,e,en,er,es,em
        erst/letzt:e,er,en,em,es früher/später mehr_als/weniger_als vor_dem>nach_dem
        viele/wenige viel>wenig:en niemand>jeder nördlich/südlich:-,e,er,en,em,es
        östlich/westlich:-,e,er,en,em,es Norden/Süden Osten/Westen links/rechts link/recht:en,er
        stieg/sank:-,en gestiegen/gesunken steigen/sinken steigt/sinkt gewann/verlor gewannen>verloren gewonnen/verloren
        gewinnt/verliert gekauft>verkauft innerhalb/außerhalb oben/unten Erfolg/Misserfolg:-,e,en,s,es
        positiv/negativ:-,e,er,en,em,es
        """,
    "es": """
        mayor/menor:-,es mejor/peor:-,es más/menos antes/después primer/últim:a,as,os norte/sur izquierda/derecha
        nuev/viej:o,a,os,as con/sin ganó/perdió ganar/perder ganaron/perdieron ganado/perdido
        aumentó/disminuyó aumentar/disminuir aumentado/disminuido subió/bajó subir/bajar compró/vendió comprar/vender
        comprado/vendido abiert/cerrad:o,a,os,as much/poc:os,as dentro>fuera fácil/difícil:-,es fuerte>débil
        fuertes>débiles positiv/negativ:o,a,os,as alt>baj:a,as éxito/fracaso:-,s
        """,
    "fr": """
        premier/dernier:-,s première/dernière:-,s grand/petit:-,s,e,es haut>bas hauts>bas haute>basse:-,s
        nouveau/ancien nouveaux/anciens plus_de/moins_de plus_que/moins_que avant/après avec>sans nord/sud
        à_gauche/à_droite la_gauche/la_droite meilleur>pire meilleurs>pires meilleure>pire meilleures>pires
        augmenté/diminué augmenter/diminuer gagné/perdu gagne/perd gagnent/perdent acheté/vendu:-,e,s,es
        ouvert/fermé:-,e,s,es fort>faible forte>faible forts>faibles fortes>faibles supérieur/inférieur:-,e,s,es
        succès/échec matin/soir riche/pauvre:-,s facile/difficile:-,s possible/impossible:-,s vrai>faux vraie>fausse
        positi/négati:f,fs,ve,ves
        """,
    "ru": """
        северн/южн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми западн/восточн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        высок/низк:ий,ого,ому,им,ом,ая,ой,ую,ое,ие,их,ими сильн/слаб:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        нов/стар:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми лучш/худш:ий,его,ему,им,ем,ая,ей,ую,ее,ие,их,ими
        положительн/отрицательн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми лев/прав:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        внутренн/внешн:ий,его,ему,им,ем,яя,ей,юю,ее,ие,их,ими богат/бедн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        больше/меньше более_чем/менее_чем раньше/позже после>до выше/ниже слева/справа хорошо/плохо лучше/хуже
        север/юг:-,а,у,ом,е запад/восток:-,а,у,ом,е выиграл/проиграл:-,а,о,и выиграть/проиграть купил/продал:-,а,и
        увеличил/уменьшил:-,а,о,и,ся,ась,ось,ись увеличени/уменьшени:е,я,ю,ем,и увеличить/уменьшить:-,ся
        вырос/упал выросла/упала выросло/упало выросли/упали многи/немноги:е,х,м,ми
        открыт/закрыт:-,а,о,ы,ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        """,
    "zh": """
        增加/减少 上升/下降 提高/降低 最大/最小 最高/最低 更大/更小 更高/更低 更多/更少 之前/之后 以前/以后
        以上/以下 成功/失败 北部/南部 东部/西部 南方/北方 东方/西方 内部/外部 第一次/最后一次 支持/反对
        接受/拒绝 优点/缺点 积极/消极 进口/出口 大多数/极少数 很多/很少 早期/晚期 上午/下午 左边/右边
        男性/女性 买入/卖出
        """,
    "zh-hant": """
        增加/減少 上升/下降 提高/降低 最大/最小 最高/最低 更大/更小 更高/更低 更多/更少 之前/之後 以前/以後
        以上/以下 成功/失敗 北部/南部 東部/西部 南方/北方 東方/西方 內部/外部 第一次/最後一次 支持/反對
        接受/拒絕 優點/缺點 積極/消極 進口/出口 大多數/極少數 很多/很少 早期/晚期 上午/下午 左邊/右邊
        男性/女性 買入/賣出
        """,
}
MODALITY = {
    "en": "must/may",
    "de": """
        muss/kann müssen/können musste/konnte mussten/konnten müsste/könnte müssten/könnten müsst/könnt musst/kannst
        """,
    "es": "debe/puede deben/pueden debía/podía debían/podían debería/podría deberían/podrían deberá/podrá "
    "deberán/podrán",
    "fr": "doit/peut doivent/peuvent devait/pouvait devaient/pouvaient devra/pourra devront/pourront devrait/pourrait "
    "devraient/pourraient",
    "ru": "должен>может должна>может должны/могут нужно>можно надо>можно",
    "zh": "必须/可以 应该>可以 可能>一定",
    "zh-hant": "必須/可以 應該>可以 可能>一定",
}
SYNONYMS = {
    "en": """
        began>started begins>starts bought/purchased buying/purchasing requires/needs required/needed
        allow/permit:-,s,ing allowed/permitted chose/selected chosen/selected choosing/selecting obtained>got
        happen/occur:-,s happened/occurred happening/occurring says>states announces/declares announced/declared
        replied/answered explained>clarified demonstrates>shows demonstrated>showed attempted/tried attempting/trying
        constructed/built repaired/fixed repairing/fixing stayed/remained staying/remaining
        reduce>cut:-,s reducing>cutting discovered/found discovering/finding believes/thinks
        injured>hurt arrested/detained arresting/detaining destroyed>wrecked collaborate/cooperate:-,d,s
        huge/enormous big/large:-,st bigger/larger quickly/rapidly rapid/swift:-,ly significant>important
        famous>well-known rich/wealthy difficult>hard simple>easy sad/unhappy frightened/scared angry/furious
        strange/odd correct>right whole/entire sufficient>enough clever/smart courageous/brave dangerous/risky
        numerous>many various>different often/frequently rarely/seldom almost/nearly usually/normally mainly/mostly
        perhaps/maybe immediately/instantly suddenly>abruptly approximately/roughly currently/presently recently>lately
        entirely/completely nevertheless/nonetheless although/though whilst/while because_of/due_to
        in_order_to>so_as_to despite/in_spite_of toward/towards amongst/among upon>on within>inside regarding/concerning
        children/kids doctor/physician:-,s lawyer/attorney:-,s author/writer:-,s pupil/student:-,s company/firm
        companies/firms error/mistake:-,s nation/country nations/countries automobile/car:-,s film/movie:-,s
        photo/picture:-,s illness/disease illnesses/diseases garbage/rubbish region/area:-,s assistance>help
        """,
    "de": """
        jedoch>aber oft/häufig manchmal/gelegentlich bekam/erhielt bekamen/erhielten bekommt/erhält sofort/umgehend
        vielleicht/möglicherweise fast/beinahe ungefähr/circa meist/meistens lediglich>nur ebenfalls>auch
        obwohl/obgleich deshalb/deswegen trotzdem/dennoch zudem/außerdem schnell/rasch:-,e,er,en,em,es
        klug/gescheit:-,e,er,en,em,es wichtig/bedeutsam:-,e,er,en,em,es verschieden/unterschiedlich:-,e,er,en,em,es
        benutzt/verwendet benutzen/verwenden versucht>probiert erklärte>erläuterte erklärten>erläuterten Angst/Furcht
        Arzt/Mediziner Fehler/Irrtum Anfang/Beginn Auto/Fahrzeug:-,s Bild/Foto Samstag/Sonnabend Möglichkeit/Chance
        aufgrund/wegen riesig/gewaltig:-,e,er,en,em,es derzeit/momentan kürzlich/neulich gemeinsam/zusammen
        """,
    "es": """
        a_menudo/con_frecuencia casi/prácticamente quizás/tal_vez también>asimismo sólo/solamente actualmente>ahora
        inmediatamente/enseguida tras>después_de empezar/comenzar empezó/comenzó empezaron/comenzaron empieza/comienza
        terminar/acabar terminó/acabó terminaron/acabaron enviar/mandar envió/mandó elegir/escoger eligió/escogió
        obtener/conseguir obtuvo/consiguió regresar/volver regresó/volvió comprender/entender importante/relevante:-,s
        compañía/empresa:-,s automóvil/coche automóviles/coches escritor/autor:-,es,a,as error/fallo
        objetivo/propósito:-,s enfermedad/dolencia además/asimismo rápidamente/velozmente
        """,
    "fr": """
        souvent/fréquemment presque/quasiment également>aussi seulement/uniquement immédiatement/aussitôt
        rapidement/vite cependant/toutefois tandis_que/alors_que commencer/débuter commence/débute commencé/débuté
        terminer/finir terminé/fini permet/autorise choisir/sélectionner choisi/sélectionné:-,s,e,es voiture/auto:-,s
        docteur/médecin:-,s but/objectif livre/ouvrage:-,s maladie/affection:-,s différents/divers
        différentes/diverses énorme/immense:-,s actuellement>maintenant
        """,
    "ru": """
        часто/нередко почти/практически сейчас/теперь возможно/вероятно также>тоже сразу/немедленно очень/весьма
        сообщил/заявил:-,а,о,и показал/продемонстрировал:-,а,о,и использует/применяет используют/применяют
        использовать/применять важн/значительн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми врач/доктор:-,а,у,ом,е
        огромн/громадн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми фильм/кинофильм:-,а,у,ом,е,ы,ов стран/держав:а,ы,е,у,ой
        быстро/стремительно однако/впрочем лишь/только внезапно/неожиданно примерно/приблизительно
        """,
    "zh": """
        开始/着手 帮助/协助 购买/采购 经常/时常 几乎/差不多 也许/或许 立即/立刻 但是/可是 因为/由于 虽然/尽管
        非常/十分 目前/现在 巨大/庞大 困难/艰难 公司/企业 错误/差错 照片/相片 汽车/轿车 宣布/宣告 说明/表明
        获得/取得 继续/接着
        """,
    "zh-hant": """
        開始/著手 幫助/協助 購買/採購 經常/時常 幾乎/差不多 也許/或許 立即/立刻 但是/可是 因為/由於 雖然/儘管
        非常/十分 目前/現在 巨大/龐大 困難/艱難 公司/企業 錯誤/差錯 照片/相片 汽車/轎車 宣佈/宣告 說明/表明
        獲得/取得 繼續/接著
        """,
}

SET_PHRASES = {
    "en": r"more or less|sooner or later|after all|day after day|year after year|(?:named|look\p{Ll}*|sought) after"
    r"|(?:n?ever|as|than) before|before long|at (?:first|last)|(?:will|to|can|could|would|not) last|last but"
    r"|first of all|as (?:good|many)|many an?\b|for good|nothing (?:but|more|less|else|to)|c[oa]mes? true"
    r"|(?:get|got|be|been|was|were|is|are) lost|(?:deal|to do) with|with (?:regard|respect) to"
    r"|(?:may|must)(?: \p{Ll}+ly)? not|an? must",
    "de": r"mehr oder weniger|früher oder später|niemand anders|zu guter Letzt|(?:Nahe|Mittlere|Ferne)[rn]? Osten",
    "es": r"más o menos|más allá|(?:al|lo|a) menos|\bno\b[^.;]*? más|de nuevo|sin embargo"
    r"|sin que|sin \p{L}+[aei]r(?:se|l[aeo]s?)?|de acuerdo con|con respecto|un[oa]s poc[oa]s"
    r"|[Qq]ué más|dentro de (?:\d|un|dos|tres|poco)|se (?:deben?|debían?) a\b"
    r"|(?:deben?|debían?) de|pueden?(?: ser)? que",
    "fr": r"(?:avant|après) (?:de\b|d['’]|que\b|qu['’])|d['’]avant|(?:ne|n['’])[^.;]*? plus (?:de|que)"
    r"|(?:de|à) nouveau|avec (?:du|de la|des)|à vrai dire|se p(?:eut|ouvait)"
    r"|(?:doit|doivent|devait|devaient) (?:\d|une?\b|des?\b|son|sa)",
    "ru": r"(?:тем )?не менее|более или менее|больше (?:не|никогда)|после того|может быть"
    r"|(?:должен|должна|должны)(?: \p{L}+)? (?:был|была|были|будет|будут)|(?:был|была|были|будет|будут) долж\p{L}+"
    r"|не (?:нужно|надо)|(?:нужно|надо)(?! (?:\p{L}+ )?\p{L}+(?:ть|ти|чь)(?:ся|сь)?\b)",
    "zh": "[不没有的尽太很]可能|可能[性的]|[不没]可以|可以[了吗吧，。]|不(?:应该|必须)",
    "zh-hant": "[不沒有的盡太很]可能|可能[性的]|[不沒]可以|可以[了嗎吧，。]|不(?:應該|必須)",
}
