"""Korean words: the particles and endings that stand behind a noun without a space are words of their own.

서울 is found in 서울은 and 서울입니다. There is no dictionary, so 고양이 (cat) is cut too, into 고양 and 이;
what is cut depends on nothing behind it, so 고양이 and the beginning of 고양이는 are cut alike.
"""

from __future__ import annotations

__all__ = ["cut_particles"]

_FIRST, _LAST = "가", "힣"
_FINALS = 28  # a syllable's code point, from 가 on, is (initial * 21 + vowel) * 28 + final; final 0 is none, 8 is ㄹ
_RIEUL = 8

# What stands before (a vowel, a consonant, either) and how many syllables of it at least. One syllable is enough where
# hardly a noun ends that way: 회의, 지도, 국가, 결과, 대만 and 도로 are whole words, and so is 나이.
_ROWS = """
consonant 1  은 을 이 으로 으로서 으로써
vowel     1  는 를 예요 였다 였습니다
either    1  에 에서 에게 입니다 입니까 까지 부터 처럼 한테
consonant 2  과
vowel     2  가 와 다 나 라 랑 고 며 야 죠 지 니까 라서
open      2  로 로서 로써
either    2  이 의 도 만 뿐 요 께 께서 에선 엔 에게서 한테서 보다 조차 밖에 하고 에요 었다 었습니다 인데
"""
_RULES = [
    (particle, before, int(least))
    for before, least, *particles in (row.split() for row in _ROWS.strip().splitlines())
    for particle in particles
]
_LONGEST = max(len(particle) for particle, _, _ in _RULES)
_PARTICLES: dict[str, list[tuple[str, int]]] = {}
for _particle, _before, _least in _RULES:
    _PARTICLES.setdefault(_particle, []).append((_before, _least))


def cut_particles(word: str) -> list[int]:
    """Where the words begin of which `word`, a run of Hangul, is made: 0, and the place of each particle behind."""
    starts: list[int] = []
    end = len(word)
    while length := _particle_before(word, end):
        end -= length
        starts.append(end)
    return [0, *reversed(starts)]


def _particle_before(word: str, end: int) -> int:
    """The length of the longest particle that ends at `end`, or 0."""
    for length in range(min(_LONGEST, end - 1), 0, -1):
        for before, least in _PARTICLES.get(word[end - length : end], ()):
            if end - length >= least and _fits(word[end - length - 1], before, word[end - length : end]):
                return length
    return 0


def _fits(syllable: str, before: str, particle: str) -> bool:
    if before == "either":
        return True
    if not _FIRST <= syllable <= _LAST or (particle == "다" and syllable == "니"):  # 합니다 is one verb
        return False
    final = (ord(syllable) - ord(_FIRST)) % _FINALS
    return {"vowel": final == 0, "consonant": final != 0, "open": final in (0, _RIEUL)}[before]
