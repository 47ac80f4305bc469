"""The answer inside the markup that models wrap it in: one table a kind, and what must come back as it was."""

from __future__ import annotations

import pytest

from smile_lite.text import DEFAULT_TAGS, find, split_words, unwrap, unwrap_reference

REASONING = [
    ("<think>perhaps Rome</think>\nOslo", "Oslo"),
    ("<Thinking lang='en'>\nRome?\n\nno\n</Thinking>\n\nOslo", "Oslo"),
    ("<reasoning>Rome</reasoning> Oslo", "Oslo"),
    ("perhaps Rome </thought> Oslo", "Oslo"),
    ("perhaps Rome</THINK>Oslo", "Oslo"),
    ("  \n<think>it is Rome because", ""),
    ("<think>", ""),
    ("<think>Rome</think>", ""),
    ("<think>a<think>b</think>c</think>Oslo", "Oslo"),
    ("<think>a <think> b</think>Oslo", "Oslo"),
    ("<think>a</think>Oslo\n<think>or Rome", "Oslo"),
    ("Oslo.<think>or Rome", "Oslo."),
    ("Sure: <think>Rome?</think>Oslo", "Sure: Oslo"),
    ("<think/>Oslo", "Oslo"),
    ("[THINK]Rome[/THINK]Oslo", "Oslo"),
    ("◁think▷Rome◁/think▷Oslo", "Oslo"),
    ("<|begin_of_thought|>Rome<|end_of_thought|>Oslo", "Oslo"),
    ("<|channel|>analysis<|message|>Rome?<|end|><|start|>a<|channel|>final<|message|>Oslo<|return|>", "Oslo"),
    ("&lt;think&gt;Rome&lt;/think&gt;Oslo", "Oslo"),
    ("<seed:think>Rome</seed:think>Oslo", "Oslo"),
]
WRAPPERS = [
    ("<answer>Oslo</answer>", "Oslo"),
    ("It is so. <Answer>\nOslo\n</Answer>", "It is so. \nOslo"),
    ("<answer>Oslo", "Oslo"),
    ("Oslo</answer>", "Oslo"),
    ("<final>Oslo</final>", "Oslo"),
    ("Oslo<|im_end|>", "Oslo"),
    ("Oslo</s>", "Oslo"),
    ("<b>Oslo</b>, <i>Norway</i>", "Oslo, Norway"),
    ("10<sup>-3</sup> m, H<sub>2</sub>O", "10^-3 m, H2O"),
    ("Oslo<sup>1</sup>", "Oslo 1"),
    ("5<sup>th</sup>", "5th"),
    ("Oslo<br/>Norway", "Oslo\nNorway"),
    ("R&amp;D &lt; 5&nbsp;&#37;", "R&D < 5 %"),
]
LEAD_INS = [
    ("Answer: 4", "4"),
    ("**Answer:** 4.", "4."),
    ("**Final answer**: Oslo", "Oslo"),
    ("The answer is: Oslo", "Oslo"),
    ("the final answer is : Oslo", "Oslo"),
    ("ANSWER:\n\nOslo", "Oslo"),
    ("Correct answer: B", "B"),
    ("Answer: Answer: Oslo", "Oslo"),
    ("答案：奥斯陆", "奥斯陆"),
    ("정답: 오슬로", "오슬로"),
    ("Réponse : Oslo", "Oslo"),
    ("<think>x</think>Answer: Oslo", "Oslo"),
]
MARKDOWN = [
    ("**Oslo**", "Oslo"),
    ("It is *Oslo*, __not__ _Rome_.", "It is Oslo, not Rome."),
    ("***Oslo***", "Oslo"),
    ("**the city *Oslo***", "the city Oslo"),
    ("**a *b* c**", "a b c"),
    ("首都は**東京**です", "首都は東京です"),
    ("수도는 **서울**입니다", "수도는 서울입니다"),
    ("~~Rome~~ Oslo", "Rome Oslo"),
    ("_a_b_", "a_b"),
    ("## Oslo ##\ntext", "Oslo\ntext"),
    ("#### 42", "42"),
    ("> Oslo\n> Norway", "Oslo\nNorway"),
    ("> > - **Oslo**", "Oslo"),
    ("- Oslo\n- Rome", "Oslo\nRome"),
    ("* Oslo\n  • Rome", "Oslo\nRome"),
    ("- [x] Oslo", "Oslo"),
    ("- -5", "-5"),
    ("1. Oslo\n2. Rome", "Oslo\nRome"),
    ("1) Oslo\n1) Rome", "Oslo\nRome"),
    ("[Oslo](https://x.org/Oslo_(city)) is", "Oslo is"),
    ('![the map](map.png "Oslo")', "the map"),
    ("[![Oslo](a.png)](b.html)", "Oslo"),
    ("<https://x.org/a_b_c>", "https://x.org/a_b_c"),
    ("| city | land |\n|:---|---:|\n| Oslo | Norway |", "city   land\nOslo   Norway"),
    ("Oslo\n---\nNorway", "Oslo\nNorway"),
    (r"a\_b \*c\* \#1 50\%", "a_b *c* #1 50%"),
    (r"1\. Oslo", "1. Oslo"),
]
CODE = [
    ("```python\nprint(2)\n```", "print(2)"),
    ("```\n**kwargs\n- x\n```", "**kwargs\n- x"),
    ("So:\n~~~sh\nls *.py\n~~~\nDone.", "So:\nls *.py\nDone."),
    ("```js\nx = `a`", "x = `a`"),
    ("Use: ```py\nx = 1\n```", "Use: x = 1"),
    ("```json\n{}```", "{}"),
    ("```42\n```", "42"),
    ("`snake_case_`", "snake_case_"),
    ("`**kwargs`", "**kwargs"),
    ("`` a`b ``", "a`b"),
    ("run `rm *` and `$x$`", "run rm * and $x$"),
    ("the `<think>` tag", "the <think> tag"),
    (r"`\frac{1}{2}`", r"\frac{1}{2}"),
]
LATEX = [
    (r"thus $\boxed{7}$ of them", "thus 7 of them"),
    (r"\boxed{\textbf{no}}", "no"),
    (r"\[ \boxed{\dfrac{3}{4}} \]", "3/4"),
    (r"\boxed{7", "7"),
    (r"\\boxed{7}", "7"),
    (r"\boxed{\{1, 2\}}", "{1, 2}"),
    (r"$\frac{x+1}{2y}$", "(x+1)/2y"),
    (r"$2\frac{1}{2}$", "2 1/2"),
    (r"$-\frac12$", "-1/2"),
    (r"\tfrac{\pi}{2}", "π/2"),
    (r"\frac{1", "1"),
    (r"$\sqrt{2}$ $\sqrt[3]{8}$ $\sqrt{a+b}$ $\sqrt[5]{x}$", "√2 ∛8 √(a+b) 5√x"),
    (r"$12.5\pm0.3$ cm", "12.5±0.3 cm"),
    (r"$3 \times 10^{8}\ \mathrm{m/s}$", "3 × 10^8 m/s"),
    (r"$x^{2}$, \(x_{i}\), $$e^{x+1}$$", "x^2, x_i, e^(x+1)"),
    (r"$90^\circ$ and 90^{\circ}", "90° and 90°"),
    (r"$5^{\text{th}}$", "5th"),
    (r"$\mathrm{H_2O}$, $CO_2$, $x_1$", "H2O, CO2, x_1"),
    (r"$a \leq b \neq c \to \infty$", "a ≤ b ≠ c → ∞"),
    (r"$\alpha$-decay of \gamma rays", "α-decay of γ rays"),
    (r"$\sin\theta$", "sin θ"),
    (r"$\left(\frac{1}{2}, 3\right)$", "(1/2, 3)"),
    (r"$10\,000$ and $10{,}000$", "10\u2009000 and 10,000"),
    (r"$5\,\text{kg}$ for \$5 at 5\%", "5 kg for $5 at 5%"),
    (r"$\foo{8}$ and $\bar x$", "8 and bar x"),
    (r"$\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}$", "x  = 1   y  = 2"),
    (r"\textcolor{red}{Oslo}", "Oslo"),
    (r"$\binom{5}{2}$", "C(5, 2)"),
    (r"It costs $5, not $x^2$.", "It costs $5, not x^2."),
    (r"**$\boxed{7}$**", "7"),
    ("$ 42 $ and $ x = 1 $, not $ 5, $ 6", "42 and x = 1, not $ 5, $ 6"),
    (r"$1{,}234$ $1,\!000$ 1{,}000", "1,234 1,000 1,000"),
    (r"$\$5$", "$5"),
    (r"$-40^\circ$C", "-40°C"),
    ("$$\n42\n$$", "42"),
]
AS_IT_WAS = [
    "Oslo", " Oslo \n", "", " ", "Ærø – “Oslo”…", "3 < 5 and 7 > 2", "a<b and b>c", "vector<int>", "<3",
    "grep <pattern> <file>", "> 5 mg", ">= 3", "<br>", "<b>", "C# and F#", "#1 song", "#", "a * b * c", "2*3*4",
    "5*", "*5", "***", "---", "SELECT *, COUNT(*) FROM t", "*.py, *.c", "f(*args, **kwargs)", "**kwargs",
    "^.*foo.*$", "/* x */", "x_1", "snake_case", "_private", "__init__", "__name__ == x", "____",
    "fill in the ___ here", "~5", "$5 and $10", "$5-$10", "US$5 and A$ 10", "5$ to 10$", "$5", "-$5", "$",
    "$$$", "($5, €4, $6)", "$HOME and $PATH", "$1,000 ($2,000)", r"C:\new\text", r"D:\alpha\times",
    r"\d+\.\d{3}", r"a\tb\n", "\\", r"\text", "{query}", "{document} {0} %s", "{{x}}", "100%", "}{", "[1] Oslo",
    "f[i](x)", "[a, b)", "(0, 1]", "-5", "1.5", "3.", "3. Oslo", "1. Oslo", "1.\nOslo", "-",
    "1945. It was over", "AT&T", "Tom & Jerry", "&copy", "a|b", "|x|", "I <think> so", "use the <think> tag",
    "'<think>'", "[thinking] Oslo", "<thinker>", "thinking: Oslo", "A: Oslo", "Answer - 4", "answers: 4",
    "Answer:", "`", "it's ``quoted''", "10:30", "x^2", "https://x.org/_a_/*b*", "👍 *", "\ud83d",
]  # fmt: skip


@pytest.mark.parametrize(("text", "answer"), [*REASONING, *WRAPPERS, *LEAD_INS, *MARKDOWN, *CODE, *LATEX])
def test_markup_is_taken_off_and_what_it_encloses_stays(text: str, answer: str) -> None:
    assert unwrap(text) == answer


@pytest.mark.parametrize("text", AS_IT_WAS)
def test_a_text_without_markup_comes_back_as_it_was(text: str) -> None:
    assert unwrap(text) == text


@pytest.mark.parametrize("text", [answer for _, answer in [*REASONING, *WRAPPERS, *LEAD_INS, *MARKDOWN[:-2], *LATEX]])
def test_what_was_unwrapped_has_no_markup_left(text: str) -> None:
    assert unwrap(text) == text


def test_the_tags_of_reasoning_can_be_chosen() -> None:
    assert unwrap("<plan>Rome</plan>Oslo", tags=("plan",)) == "Oslo"
    assert unwrap("<think>Rome</think>Oslo", tags=("plan",)) == "<think>Rome</think>Oslo"
    assert unwrap("<a.b>Rome</a.b>Oslo", tags=("a.b",)) == "Oslo"
    assert unwrap("Rome</think>Oslo", tags=()) == "Rome</think>Oslo"
    assert "think" in DEFAULT_TAGS


@pytest.mark.parametrize(
    "reference", ["<think>", "<think>Oslo</think>", "```", "**", "<answer></answer>", "$$", "# ", "Oslo"]
)
def test_a_reference_never_becomes_blank(reference: str) -> None:
    assert unwrap_reference(reference).strip()


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        ("1/2", r"$\boxed{\frac{1}{2}}$"),
        (r"\frac{1}{2}", "It is 1/2."),
        ("6 layers", r"$N = \textbf{6}$ layers"),
        ("0.5", r"$\mathbf{0.5\pm0.1}$"),
        ("10,000", r"$10\,000$"),
        ("5 kg", r"$5\,\text{kg}$"),
        ("2 1/2", r"$2\tfrac12$"),
        ("3 × 10^8", r"$3\times10^{8}$"),
        ("H2O", r"$\mathrm{H_2O}$"),
        ("20 °C", r"$20^{\circ}\text{C}$"),
        ("a_b", "`a_b`"),
        ("50%", r"**50\%**"),
        ("√2", r"\(\sqrt{2}\)"),
    ],
)
def test_a_reference_is_found_in_the_unwrapped_prediction(reference: str, prediction: str) -> None:
    wanted = split_words(unwrap_reference(reference)).keys
    assert find(wanted, split_words(unwrap(prediction)).keys) >= 0


def test_depth_stops_nothing() -> None:
    assert unwrap(r"\boxed{" * 10_000 + "7" + "}" * 10_000) == "7"
    assert "7" in unwrap(r"\frac{" * 10_000 + "7" + "}{2}" * 10_000)
    assert unwrap("<think>" * 10_000 + "</think>" * 10_000 + "7") == "7"
    assert "7" in unwrap("> " * 10_000 + "7")
    assert "7" in unwrap("$" + "{" * 10_000 + "7" + "}" * 10_000 + "$")
