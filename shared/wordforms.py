"""Words that say little, and what a word has in common with its other forms: for ranking only, never for what is found. Pure.

Asked in whole sentences, people use "did", "o que" or "wie" in every question and write "painted" for what the answer calls
"painting". Both lists are small on purpose: an unlisted word only counts as an ordinary one.
"""

_LITTLE = """
    a about after all also am an and any are as at be because been before being between both but by can could did do does doing done during
    each for from further get got had has have having he her here hers him his how i if in into is it its just let me might more most much
    must my no nor not of off on once only or other our out over own same shall she should so some such than that the their them then there
    these they this those through to too under until up very was we were what when where which while who whom whose why will with would you
    your

    ao aos as com como da das de do dos e ela ele eles em entre essa esse esta este eu foi isso isto lhe mais mas meu minha muito na nas
    nem nos o os ou para pela pelo por qual quais quando que quem se seu sua sao tambem te tem uma voce

    al ante cual cuando del donde el ella ellos en eran eres eso esto estan esta ha la las le les lo los mi muy ni nosotros otro pero
    porque sobre su sus tambien tu un una unos y ya yo

    au aux avec ce ces cette dans des du elle elles est et eux il ils je leur lui mais ne nous ou par pas pourquoi quand quel quelle qui
    quoi sa ses sont sur ta tes toi une vos votre vous etait ete

    aber als auch auf aus bei bin bis das dass dem den der dir ein eine einem einen einer er es fur haben hatte ich ihm ihn ihr im ist kann
    kein mein mich mir nach nicht noch nur ob oder ohne seine sich sie sind um und uns von vor wann waren warum was weil welche wem wen
    wenn wer wie wir wird wo wurde zu zum zur uber
"""
# As folded, of English, Portuguese, Spanish, French and German; what is a word of its own in another of them ("war", "son") is left out.
FUNCTION_WORDS = frozenset(_LITTLE.split())

_ENDINGS = ("ings", "ing", "ied", "ies", "ers", "ed", "es", "er", "ly", "s", "y", "e")
_DOUBLING = {"ings", "ing", "ers", "ed", "er"}  # before these a final consonant is doubled: "running"
_SHORTEST = 4  # letters; a shorter beginning is shared by words that have nothing in common


def beginning(word: str) -> str | None:
    """What other forms of an English word begin with as well: "paint" for "painted"; None for a word whose forms begin too short."""
    if not (word.isascii() and word.isalpha()):
        return None
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            if ending in _DOUBLING and word[-1] == word[-2] and word[-1] not in "lsz" and len(word) > _SHORTEST:
                word = word[:-1]
            break
    return word if len(word) >= _SHORTEST else None
