"""The closed lists of words that the checks of synthetic answers go by (English)."""

from __future__ import annotations

__all__ = ["ABBREVIATIONS", "FUNCTION_WORDS", "NEGATIONS", "NUMBERS", "OPENERS", "UNITS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERS = _words(  # numbers in words ("one" is too common to tell)
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    trillion dozen half second third fourth fifth sixth seventh eighth ninth tenth twice
    """
)
UNITS = _words(  # units, currencies and signs, in the singular
    """
    % percent ‰ ° degree celsius fahrenheit kelvin $ € £ ¥ ₹ dollar euro pound yen rupee cent mm cm m km metre
    meter kilometre kilometer centimetre centimeter millimetre millimeter mile inch foot feet ft yard acre hectare
    mg g kg gram kilogram milligram tonne ton ounce oz lb litre liter ml millilitre milliliter gallon pint ms
    second minute hour day week month year decade century mph kmh knot watt kw mw volt amp hz khz mhz ghz byte kb
    mb gb tb joule calorie kcal pascal bar psi am pm bc ad
    """
)
NEGATIONS = _words(
    """
    no not never none nobody nothing neither nor without cannot n't
    """
)
ABBREVIATIONS = _words(  # a full stop behind one of these ends no sentence
    """
    mr mrs ms dr st prof jr sr vs no vol gen col lt capt rev hon etc e.g i.e u.s u.k d.c
    """
)
OPENERS = _words(  # words that may open an English sentence, whatever was asked
    """
    a an the this that these those it its he she they his her their there here in on at by from to of for about
    after before during since until between among as with both all some many most one each every yes true false
    and but so when where while if because according is are was were people it's
    """
)
FUNCTION_WORDS = OPENERS | _words(  # words that add no content
    """
    have been being will would could should does done into onto upon over under than then also such only very just
    each other others more less much were named called known located found made took take place happened occurred
    came won titled within around whose whom itself himself themselves used
    """
)
