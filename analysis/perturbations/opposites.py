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
        höher/niedriger:-,e,en,er,es,em höchst/niedrigst:e,en,er,es,em
        älter/jünger:-,e,en,er,es,em gut/schlecht:e,er,en,em,es besser/schlechter:-,e,en,er,es,em
        best/schlechtest:e,en,er,es,em stark/schwach:e,er,en,em,es stärker/schwächer:-,e,en,er,es,em
        erst/letzt:e,er,en,em,es früher/später mehr_als/weniger_als
        viele/wenige viel>wenig:en niemand>jeder nördlich/südlich:-,e,er,en,em,es
        östlich/westlich:-,e,er,en,em,es Norden/Süden Osten/Westen links/rechts link/recht:en,er
        gestiegen/gesunken steigen/sinken steigt/sinkt gewann/verlor gewannen>verloren gewonnen/verloren
        gewinnt/verliert gekauft>verkauft innerhalb/außerhalb
        positiv/negativ:-,e,er,en,em,es
        """,
    "es": """
        mayor/menor:-,es mejor/peor:-,es más/menos antes/después primer/últim:a,as,os norte/sur izquierda/derecha
        ganar/perder ganaron/perdieron
        aumentó/disminuyó aumentar/disminuir aumentado/disminuido compró/vendió comprar/vender
        comprado/vendido abiert/cerrad:o,a,os,as much/poc:os,as dentro>fuera fácil/difícil:-,es fuerte>débil
        fuertes>débiles positiv/negativ:o,a,os,as alt>baj:a,as éxito/fracaso:-,s
        """,
    "fr": """
        premier/dernier:-,s première/dernière:-,s grand/petit:-,s,e,es haut>bas hauts>bas haute>basse:-,s
        plus_de/moins_de plus_que/moins_que avant/après nord/sud
        à_gauche/à_droite la_gauche/la_droite meilleur>pire meilleurs>pires meilleure>pire meilleures>pires
        augmenté/diminué augmenter/diminuer gagne/perd gagnent/perdent acheté/vendu:-,e,s,es
        ouvert/fermé:-,e,s,es fort>faible forte>faible forts>faibles fortes>faibles supérieur/inférieur:-,e,s,es
        matin/soir riche/pauvre:-,s facile/difficile:-,s possible/impossible:-,s vrai>faux vraie>fausse
        positi/négati:f,fs,ve,ves
        """,
    "ru": """
        северн/южн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми западн/восточн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        высок/низк:ий,ого,ому,им,ом,ая,ой,ую,ое,ие,их,ими сильн/слаб:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        лучш/худш:ий,его,ему,им,ем,ая,ей,ую,ее,ие,их,ими
        положительн/отрицательн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми лев/прав:ый,ого,ому,ым,ая,ой,ую,ые,ых,ыми
        внутренн/внешн:ий,его,ему,им,ем,яя,ей,юю,ее,ие,их,ими богат/бедн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        больше/меньше более_чем/менее_чем раньше/позже выше/ниже слева/справа хорошо/плохо лучше/хуже
        север/юг:-,а,у,ом,е запад/восток:-,а,у,ом,е выиграл/проиграл:-,а,о,и выиграть/проиграть купил/продал:-,а,и
        увеличил/уменьшил:-,а,о,и,ся,ась,ось,ись увеличени/уменьшени:е,я,ю,ем,и увеличить/уменьшить:-,ся
        вырос/упал выросло/упало выросли/упали многи/немноги:е,х,м,ми
        открыт/закрыт:-,а,о,ы,ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми
        """,
    "zh": """
        增加/减少 上升/下降 提高/降低 最大/最小 最高/最低 更大/更小 更高/更低 更多/更少 之前/之后
        以上/以下 北部/南部 东部/西部 南方/北方 东方/西方 内部/外部 第一次/最后一次 支持/反对
        接受/拒绝 积极/消极 进口/出口 大多数/极少数 早期/晚期 上午/下午 左边/右边
        男性/女性 买入/卖出
        """,
    "zh-hant": """
        增加/減少 上升/下降 提高/降低 最大/最小 最高/最低 更大/更小 更高/更低 更多/更少 之前/之後
        以上/以下 北部/南部 東部/西部 南方/北方 東方/西方 內部/外部 第一次/最後一次 支持/反對
        接受/拒絕 積極/消極 進口/出口 大多數/極少數 早期/晚期 上午/下午 左邊/右邊
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
    "zh": "必须/可以 可能>一定",
    "zh-hant": "必須/可以 可能>一定",
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
        Arzt/Mediziner Anfang/Beginn Bild/Foto Samstag/Sonnabend
        aufgrund/wegen riesig/gewaltig:-,e,er,en,em,es derzeit/momentan kürzlich/neulich gemeinsam/zusammen
        """,
    "es": """
        a_menudo/con_frecuencia quizás/tal_vez sólo/solamente
        inmediatamente/enseguida tras>después_de empezar/comenzar empezó/comenzó empezaron/comenzaron empieza/comienza
        terminar/acabar terminó/acabó terminaron/acabaron elegir/escoger eligió/escogió
        obtener/conseguir obtuvo/consiguió regresar/volver regresó/volvió comprender/entender importante/relevante:-,s
        compañía/empresa:-,s automóvil/coche automóviles/coches
        objetivo/propósito:-,s enfermedad/dolencia rápidamente/velozmente
        """,
    "fr": """
        souvent/fréquemment presque/quasiment également>aussi seulement/uniquement immédiatement/aussitôt
        rapidement/vite cependant/toutefois tandis_que/alors_que commencer/débuter commence/débute commencé/débuté
        choisir/sélectionner choisi/sélectionné:-,s,e,es livre/ouvrage:-,s différents/divers
        différentes/diverses énorme/immense:-,s actuellement>maintenant
        """,
    "ru": """
        часто/нередко почти/практически сейчас/теперь возможно/вероятно сразу/немедленно очень/весьма
        заявил>сообщил:-,а,о,и показал/продемонстрировал:-,а,о,и использует/применяет используют/применяют
        использовать/применять важн/значительн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми врач/доктор:-,а,у,ом,е
        огромн/громадн:ый,ого,ому,ым,ом,ая,ой,ую,ое,ые,ых,ыми фильм/кинофильм:-,а,у,ом,е,ы,ов
        однако/впрочем лишь/только внезапно/неожиданно примерно/приблизительно
        """,
    "zh": """
        帮助/协助 购买/采购 经常/时常 几乎/差不多 也许/或许 立即/立刻 但是/可是 因为/由于 虽然/尽管
        非常/十分 目前/现在 巨大/庞大 公司/企业 错误/差错 照片/相片 汽车/轿车 宣布/宣告
        """,
    "zh-hant": """
        幫助/協助 購買/採購 經常/時常 幾乎/差不多 也許/或許 立即/立刻 但是/可是 因為/由於 雖然/儘管
        非常/十分 目前/現在 巨大/龐大 公司/企業 錯誤/差錯 照片/相片 汽車/轎車 宣佈/宣告
        """,
}

SET_PHRASES = {
    "en": r"more or less|sooner or later|after all|day after day|year after year|(?:named|look\p{Ll}*|sought) after"
    r"|(?:n?ever|as|than) before|before long|at (?:first|last)|(?:will|to|can|could|would|not) last|last but"
    r"|first of all|as (?:good|many)|many an?\b|for good|nothing (?:but|more|less|else|to)|c[oa]mes? true"
    r"|(?:get|got|be|been|was|were|is|are) lost|(?:deal|to do) with|with (?:regard|respect) to"
    r"|(?:may|must)(?: \p{Ll}+ly)? not|an? must",
    "de": r"mehr oder weniger|früher oder später|niemand anders|zu guter Letzt|(?:Nahe|Mittlere|Ferne)[rn]? Osten"
    r"|viele[nr]? (?:herzliche |liebe )?(?:Grüße|Dank)|(?:mehr|weniger) als (?:nur|bloß|genug)|(?:Leben|"
    r"Faden) verl[oi]r\p{L}*"
    r"|(?:im|des|in den) (?:letzten|ersten) Jahre?n?|nicht (?:mehr|weniger) als|klein\p{L}* \p{Lu}\p{L}+(?:chen|lein)"
    r"|(?:schlimmer|besser|mehr) als besser|zum (?:ersten|letzten) Mal|am (?:besten|schlechtesten)|(?-i:Jedoch)|"
    r"kommt \p{L}+ zusammen|zusammen(?! mit\b)"
    r"|gern[e]? (?:\p{L}+ )?(?:kann|können|könnte)\p{L}*|(?:kann|könn|konn)\p{L}* (?:\p{L}+ )?(?:gerne?|kaum|mühelos|"
    r"leicht|nichts|nur)"
    r"|nichts (?:dafür )?könn\p{L}*|gut(?:e[nrms]?)? (?:Tag|Morgen|Abend|Nacht)\p{L}*|so gut wie|recht(?:en|"
    r"e)? (?:und|oder)",
    "es": r"más o menos|más allá|(?:al|lo|a) menos|\bno\b[^.;]*? más|de nuevo|sin embargo"
    r"|sin que|sin \p{L}+[aei]r(?:se|l[aeo]s?)?|de acuerdo con|con respecto|un[oa]s poc[oa]s"
    r"|[Qq]ué más|dentro de (?:\d|un|dos|tres|poco)|se (?:deben?|debían?) a\b"
    r"|(?:deben?|debían?) de|pueden?(?: ser)? que|además de|volvi?[óe]\p{L}* a|volver a|regres\p{L}+ a ser|tras el"
    r"|(?:perd|gan)[ióa]\p{L}* (?:el|la) (?:conocimiento|vida|tiempo)|comp?uesto por"
    r"|(?:en|hasta|de|durante) (?:los |estos |las |estas )?(?:últim|primer)[oa]s (?:\p{L}+ )?(?:años|días|meses|"
    r"semanas|décadas)"
    r"|por (?:último|primera vez|última vez)|cada vez más|(?:a|por) lo (?:más|mejor|peor)|alta mar|derechos? humanos?"
    r"|(?:el|la|al|del) (?:norte|sur) \p{Lu}|\bmás (?:bien|o)|(?:cuanto|mientras) más|tal vez|antes posible"
    r"|mucho gusto|mucha suerte|much[oa]s gracias|poco a poco|un poco|en alta|intent\p{L}+ vender",
    "fr": r"(?:saison|temps|mois|ans?|année|semaine|jours?|nuit|fois|étape)s? (?:derni|premi)[eè]re?s?|"
    r"fer[aio]\p{L}* des petits|en avant|en colère après"
    r"|(?:après|avant) (?:(?:s[’']|l[’']|les? |la )?(?:avoir|être)|avoir|être)|au premier|tour puis|(?:l’|l'|un|d'|"
    r"d’)(?:avant|après)|de plus en (?:plus|moins)|(?:au|du|le|en) (?:plus|moins)\b|(?:plus|moins) de (?:la |l['’])"
    r"|(?:ces|ce|cette|cet|celui|ces) (?:derniers?|dernières?|premiers?|premières?)|une première|première? ministre"
    r"|(?:commenc|début)\p{L}+ (?:à|par|d['’])|but (?:non|de|lucratif)|(?:haut|grand)-\p{L}+|après tout|peut-être"
    r"|(?:premier|dernier) (?:lieu|temps|plan)|petit à petit|bon matin|(?:hier|demain|lundi|mardi|mercredi|jeudi|"
    r"vendredi|samedi|dimanche) (?:soir|matin)"
    r"|grande? partie|grand public|petits? (?:ami|déjeuner|pois|enfant|fils)\p{L}*|grande?s? (?:mère|père|parents|"
    r"magasins?)|haute? (?:technologie|couture|définition)"
    r"|(?:avant|après) (?:de\b|d['’]|que\b|qu['’])|d['’]avant|(?:ne|n['’])[^.;]*? plus (?:de|que)"
    r"|(?:de|à) nouveau|avec (?:du|de la|des)|à vrai dire|se p(?:eut|ouvait)"
    r"|(?:doit|doivent|devait|devaient) (?:\d|une?\b|des?\b|son|sa)",
    "ru": r"(?:вс[её] )?больше и больше|не (?:было )?больше|(?:всё|все) (?:больше|меньше|выше|ниже)|"
    r"(?:больше|меньше) всего|"
    r"как можно больше"
    r"|(?:я|ты|мы|вы)\b[^.,;]* (?:должен|должна|должны|могут)|(?:хорошо|плохо) бы|(?:лучше|хуже) (?:бы|не)|так лучше"
    r"|(?:выше|ниже) (?:указан|упомянут|перечислен|приведён|описан)\p{L}*|(?:с|в) открыт\p{L}* (?:чемпионат|море|"
    r"космос)\p{L}*"
    r"|внешн\p{L}* вид\p{L}*|северн\p{L}* (?:коре|осети|ирланди|америк)\p{L}*|южн\p{L}* (?:коре|осети|африк|"
    r"америк)\p{L}*"
    r"|(?:показал|продемонстрировал)\p{L}* себя|только это|только что|не только|если только|как только|лишь бы|"
    r"сейчас же|прямо сейчас|(?:тем )?не менее|более или менее|больше (?:не|никогда)|после того|может быть"
    r"|(?:должен|должна|должны)(?: \p{L}+)? (?:был|была|были|будет|будут)|(?:был|была|были|будет|будут) долж\p{L}+"
    r"|не (?:нужно|надо)|(?:нужно|надо)(?! (?:\p{L}+ )?\p{L}+(?:ть|ти|чь)(?:ся|сь)?\b)",
    "zh": "[不没有的尽太很变]可能|可能(?![会會是有])|(?<![我你您他她们們人者员員户戶侶民])可以|可能[性的和]|"
    "[不没让]可以|可以[了吗吧，。]|不(?:应该|必须)|必须要|^可能|必须[^，。]{1,12}才|让[^，。]{0,4}可以"
    "|[体出表呈发]现在|最多(?:可以|必须)|但可能|排除[^，。]*可能|已经可以|希望[^，。]{0,4}可以|可以(?:听|把[^，。]*看)|结果是可以|(?<=[所保])(?:必须|可以)|要求[^，。]{0,6}必须|可能最|可以[^，。]{0,3}看[到见]|有(?:更多|很多)|[经經]过[^，。]*之后|自此之后|之后$|(?<=[？！，])可能|更[大小]的?趋势|现在(?:不|就)",
    "zh-hant": "[不沒有的盡太很變]可能|可能(?![会會是有])|(?<![我你您他她们們人者员員户戶侶民])可以|可能[性的和]|"
    "[不沒讓]可以|可以[了嗎吧，。]|不(?:應該|必須)|必須要|^可能|必須[^，。]{1,12}才|讓[^，。]{0,4}可以"
    "|[體出表呈發]現在|最多(?:可以|必須)|但可能|排除[^，。]*可能|已經可以|希望[^，。]{0,4}可以|可以(?:聽|把[^，。]*看)|結果是可以|(?<=[所保])(?:必須|可以)|要求[^，。]{0,6}必須|可能最|可以[^，。]{0,3}看[到見]|有(?:更多|很多)|[经經]過[^，。]*之後|自此之後|之後$|(?<=[？！，])可能|更[大小]的?趨勢|現在(?:不|就)",
}
