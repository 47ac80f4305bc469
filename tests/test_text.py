from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smile_lite.text import find, fold, is_blank, join, ngrams, published_words, sentence, split_words


def keys(text: str) -> list[str]:
    return list(split_words(text).keys)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris, France.", ["paris", "france"]),
        ("3.5 -5 10:30 1/2 x^2", ["3.5", "-5", "10:30", "1/2", "x^2"]),
        ("C++ C# AT&T O'Brien a_b", ["c++", "c#", "at&t", "o'brien", "a_b"]),
        ("100,000 1,00,000 1'000 1.000.000", ["100000", "100000", "1000", "1000000"]),
        ("1,2,3 and 3,5", ["1", "2", "3", "and", "3,5"]),
        ("3-4 but Jean-Luc and COVID-19", ["3-4", "but", "jean", "luc", "and", "covid", "19"]),
        ("−5 (minus), 1914–1918", ["-5", "minus", "1914-1918"]),
        ("$20 and 20%", ["$", "20", "and", "20", "%"]),
        ("the U.S.A., France's", ["the", "usa", "france"]),
        ("x > 5, x < 5, 1+1", ["x", ">", "5", "x", "<", "5", "1", "+", "1"]),
        ("x² 10¹⁰ 10⁻³ 2½ H₂O", ["x^2", "10^10", "10^-3", "2", "1/2", "h2o"]),
        ("Simon & Garfunkel", ["simon", "and", "garfunkel"]),
        ("Stretchmax™ Stretchmax(TM)", ["stretchmax", "stretchmax"]),
        ("Straße STRASSE İstanbul ΣΊΣΥΦΟΣ", ["strasse", "strasse", "istanbul", "σίσυφοσ"]),
        ("ｈｕｎｔｅｒ２ pass\u200bword", ["hunter2", "password"]),
        ("٣٫٥ १२", ["3.5", "12"]),
        ("《红楼梦》。", ["红", "楼", "梦"]),
        ("日本の東京", ["日", "本", "の", "東", "京"]),
        ("नई दिल्ली।", ["नई", "दिल्ली"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("Yes 👍👍", ["yes", "👍", "👍"]),
        ("👩🏽\u200d🔬 ❤️ 🇫🇷🇩🇪", ["👩🏽\u200d🔬", "❤", "🇫🇷", "🇩🇪"]),
        ("5kg 10:30am 60km/h 3m² 220V", ["5", "kg", "10:30", "am", "60", "km", "h", "3", "m^2", "220", "v"]),
        ("3rd 1980s 4K 2x4 B12 H2O MP3 5G 3D", ["3rd", "1980s", "4k", "2x4", "b12", "h2o", "mp3", "5g", "3d"]),
        ("a.b U.S. U.S a.m. Ph.D. node.js", ["a.b", "us", "us", "am", "phd", "node.js"]),
        ("J. R. R. Tolkien, J. Smith", ["jrr", "tolkien", "j", "smith"]),
        ("10 000, 1 234 567 but 12 345, 100 200 300", ["10000", "1234567", "but", "12", "345", "100", "200", "300"]),
        ("3×10^8 88.55±0.04 √2 1e-5", ["3", "×", "10^8", "88.55", "±", "0.04", "√2", "1e-5"]),
        ("气温是-5度", ["气", "温", "是", "-5", "度"]),
        ("서울입니다 서울에서는 'C#'은", ["서울", "입니다", "서울", "에서", "는", "c#", "은"]),
        ("은행 이름 국가 나이 사과 회의 지도 대만", ["은행", "이름", "국가", "나이", "사과", "회의", "지도", "대만"]),
        ("{query} %s", ["query", "%", "s"]),
        ("?", ["?"]),
        ("*** -", ["***", "-"]),
        ("", []),
        (" \t\n\u00a0\u200b\u3164\ufeff", []),
    ],
)
def test_words_are_what_a_reader_would_call_words(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.5", "35"),
        ("-5", "5"),
        ("1/2", "12"),
        ("10:30", "1030"),
        ("3-4", "34"),
        ("x^2", "x2"),
        ("C++", "C#"),
        ("C++", "C"),
        ("gas", "ga"),
        ("10²", "102"),
        ("x > 5", "x < 5"),
        ("world hello", "hello world"),
        ("हिन्दी", "हिन्दू"),
        ("New York New York", "New York"),
    ],
)
def test_texts_that_mean_different_things_have_different_words(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 kg", "5kg"),
        ("10 am", "10am"),
        ("5 MB", "5mb"),
        ("20 %", "20%"),
        ("$ 5", "$5"),
        ("20 °C", "20℃"),
        ("50%", "٥٠٪"),
        ("9.8 m/s²", "9.8m/s^2"),
        ("1000000", "1\u00a0000\u00a0000"),
        ("1000000", "1\u2009000\u2009000"),
        ("-10000", "-10 000"),
        ("US", "U. S."),
        ("10 a.m", "10 a.m."),
        ("Hawai'i", "Hawaiʻi"),
        ("محمد", "مُحَمَّد"),
        ("العربية", "العـــربية"),
        ("کتاب ایران", "كتاب ايران"),
        ("שלום", "שָׁלוֹם"),
        ("co-operate", "co\u2011operate"),
        ("prefix", "pre\u00adfix"),
        ("don't", "don\u2019t"),
        ("☕", "☕\ufe0f"),
        ("ΟΔΟΣ", "οδος"),
        ("Ⅳ", "IV"),
        ("45°", "45˚"),
    ],
)
def test_texts_that_mean_the_same_have_the_same_words(one: str, other: str) -> None:
    assert keys(one) == keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.b", "ab"),
        ("5 g", "5G"),
        ("1e5", "1e-5"),
        ("👩", "👩\u200d🔬"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴"),
        ("🇫🇷", "🇩🇪"),
        ("café", "cafe"),
        ("नई", "नइ"),
        ("√2", "2"),
        ("12 345", "12345"),
    ],
)
def test_what_folding_must_keep_apart_stays_apart(one: str, other: str) -> None:
    assert keys(one) != keys(other)


KOREAN = [
    ("서울", "수도는 서울입니다."),
    ("서울", "서울은 수도이다"),
    ("서울", "서울에서는"),
    ("서울", "정답은 '서울'이에요"),
    ("도쿄", "수도는 도쿄이다"),
    ("도쿄", "도쿄예요"),
    ("하와이", "하와이다"),
    ("고양이", "고양이는"),
    ("고양이", "고양이입니다"),
    ("고양이", "고양이"),
    ("강아지", "강아지만"),
    ("은행", "은행으로"),
    ("이름", "이름을"),
    ("금", "금입니다"),
    ("물", "물은 H2O"),
    ("제주도", "제주도에"),
    ("몬테네그로", "몬테네그로에서"),
    ("캐나다", "캐나다였습니다"),
    ("2024년", "2024년에"),
    ("42", "42입니다"),
    ("BTS", "BTS는"),
]


@pytest.mark.parametrize(("noun", "sentence"), KOREAN)
def test_a_korean_noun_is_found_before_its_particle_and_shown_as_written(noun: str, sentence: str) -> None:
    words = split_words(sentence)
    at = find(keys(noun), words.keys)
    assert words.as_written(at, len(keys(noun))) == noun


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("은", "은행"),
        ("국", "국가"),
        ("화", "화가"),
        ("한국", "한국어"),
        ("서", "서울"),
        ("회", "회의"),
        ("지", "지도"),
        ("대", "대만"),
        ("김치", "김치찌개"),
        ("하", "합니다"),
    ],
)
def test_a_part_of_a_korean_word_is_no_word(part: str, whole: str) -> None:
    assert find(keys(part), keys(whole)) == -1


UNSPACED = [
    ("北京", "中国的首都是北京。"),
    ("東京", "日本の首都は東京です"),
    ("トヨタ", "ﾄﾖﾀ自動車"),
    ("ลาก่อน", "ผมพูดว่าลาก่อนครับ"),
    ("ວຽງຈັນ", "ນະຄອນຫຼວງແມ່ນວຽງຈັນ"),
    ("ភ្នំពេញ", "រាជធានីគឺភ្នំពេញ។"),
    ("ရန်ကုန်", "မြို့တော်ရန်ကုန်ဖြစ်သည်"),
    ("Python", "我用Python写代码"),
]


@pytest.mark.parametrize(("reference", "sentence"), UNSPACED)
def test_a_reference_is_found_inside_a_sentence_without_spaces(reference: str, sentence: str) -> None:
    words = split_words(sentence)
    at = find(keys(reference), words.keys)
    assert keys(words.as_written(at, len(keys(reference)))) == keys(reference)


def test_a_stretch_of_words_is_shown_as_it_was_written() -> None:
    words = split_words("日本の首都は、Tōkyō（東京）です。")
    assert words.as_written(find(["tōkyō"], words.keys), 1) == "Tōkyō"
    assert words.as_written(find(["東", "京"], words.keys), 2) == "東京"
    decomposed = split_words(unicodedata.normalize("NFD", "un café, 100,000!"))
    assert unicodedata.normalize("NFC", decomposed.as_written(1, 2)) == "café, 100,000"


def test_a_ligature_of_several_words_is_shown_whole() -> None:
    words = split_words("قال \ufdfa")
    assert len(words) == 5
    assert words.as_written(1, 4) == words.as_written(2, 1) == "\ufdfa"


def test_an_ngram_of_an_unspaced_script_has_no_spaces_inside() -> None:
    assert ngrams(keys("go to 東京 now"), 3) == ["go to 東", "to 東京", "東京 now"]
    assert join(keys("日本 の東京")) == "日本の東京"


@pytest.mark.parametrize(("n", "expected"), [(1, ["a", "b", "a"]), (2, ["a b", "b a"]), (3, ["a b a"]), (9, ["a b a"])])
def test_ngrams_are_all_runs_of_n_words_and_the_whole_where_it_is_shorter(n: int, expected: list[str]) -> None:
    assert ngrams(["a", "b", "a"], n) == expected


def test_an_ngram_of_no_words_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        ngrams(["a"], 0)


@pytest.mark.parametrize(
    ("needle", "haystack", "at"),
    [
        ("no", "nobody knows", -1),
        ("no", "well no", 1),
        ("york", "New York", 1),
        ("a b", "a a b", 1),
        ("a b c", "a b", -1),
        ("", "a", -1),
        ("東京", "首都は東京です", 3),
    ],
)
def test_a_reference_is_found_on_word_boundaries_only(needle: str, haystack: str, at: int) -> None:
    assert find(keys(needle), keys(haystack)) == at


def test_a_sentence_keeps_its_spelling_but_not_what_cannot_be_seen() -> None:
    assert sentence(" It's\u200b \n Cafe\u0301!\u00a0 ") == "It's Café!"
    assert sentence("a\ud83d ok") == "a\ufffd ok"


def test_published_words_reproduce_the_published_faults() -> None:
    def same(word: str) -> str:
        return word

    assert published_words("3.5", same) == published_words("35", same)
    assert published_words("C++", same) == published_words("C#", same) == ["c"]
    assert published_words("10:30 -5", same) == ["1030", "5"]
    assert published_words("!?", same) == []


ANYTHING = st.text(st.characters(exclude_categories=()))


@given(ANYTHING)
def test_any_text_has_words_that_lie_inside_it_in_order(text: str) -> None:
    words = split_words(text)
    assert all(words.keys)
    assert all(0 <= start < end <= len(text) for start, end in zip(words.starts, words.ends, strict=True))
    assert list(words.starts) == sorted(words.starts)
    assert len(fold(text)[1]) == len(fold(text)[0]) + 1


@given(st.text())
def test_composed_and_decomposed_text_have_the_same_words(text: str) -> None:
    assert keys(unicodedata.normalize("NFC", text)) == keys(unicodedata.normalize("NFD", text))


@given(st.text())
def test_a_text_stands_in_itself_unless_it_is_blank(text: str) -> None:
    assert find(keys(text), keys(text)) == (-1 if is_blank(text) else 0)


@given(st.lists(st.sampled_from("abc"), min_size=1), st.lists(st.sampled_from("abc"), min_size=1))
def test_finding_agrees_with_comparing_every_window(needle: list[str], haystack: list[str]) -> None:
    windows = [haystack[at : at + len(needle)] == needle for at in range(len(haystack))]
    assert find(needle, haystack) == (windows.index(True) if True in windows else -1)
