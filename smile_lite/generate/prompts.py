"""What a chat model is asked for a synthetic answer. The words are this project's own; change one, change the version.

Two questions can be put: freely, and, where that failed its checks, with the template's sentence as a draft. Both go
behind the same solved examples, so that a model in this process reads those once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smile_lite.generate.template import template_answer

if TYPE_CHECKING:
    from smile_lite.chat.protocol import Message

__all__ = ["ATTEMPTS", "PROMPT_VERSION", "messages"]

PROMPT_VERSION = "p1"
ATTEMPTS = 2

_INSTRUCTION = (
    "Write the answer as one plain sentence. Repeat the words of the answer exactly. Add nothing that the question and "
    "the answer do not say."
)
_WITH_DRAFT = 1
_EXAMPLES = (  # question, reference, the sentence
    ("who painted the ceiling of the sistine chapel", "Michelangelo",
     "Michelangelo painted the ceiling of the Sistine Chapel."),
    ("how tall is the post tower in bonn", "162.5 metres", "The Post Tower in Bonn is 162.5 metres tall."),
    ("when did the first season of the harbour start", "4 May 2003",
     "The first season of The Harbour started on 4 May 2003."),
    ("are bats blind", "no", "No, bats are not blind."),
    ("who plays the nurse in the long winter", "Ann Brook", "Ann Brook plays the nurse in The Long Winter."),
    ("where was the treaty signed", "at Ghent", "The treaty was signed at Ghent."),
    ("river that flows through vienna", "Danube", "The river that flows through Vienna is the Danube."),
    ("how many players are in a water polo team", "7", "There are 7 players in a water polo team."),
)  # fmt: skip


def messages(question: str, reference: str, attempt: int) -> list[Message]:
    """The conversation of attempt 0 or 1: the examples as turns that were answered, then the question."""
    turns: list[Message] = [{"role": "system", "content": _INSTRUCTION}]
    for number, (asked, given, answer) in enumerate(_EXAMPLES):
        shown = _shown(asked, given, number % ATTEMPTS)
        turns += [{"role": "user", "content": shown}, {"role": "assistant", "content": answer}]
    return [*turns, {"role": "user", "content": _shown(question, reference, attempt)}]


def _shown(question: str, reference: str, attempt: int) -> str:
    draft = f"Draft: {template_answer(question, reference)}\n" if attempt == _WITH_DRAFT else ""
    return f"Question: {question}\nAnswer: {reference}\n{draft}Sentence:"
