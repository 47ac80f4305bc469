"""What LaTeX commands stand for, as data. A command that is not here keeps its argument, or its name."""

from __future__ import annotations

__all__ = ["ARGUMENTS", "DROPPED", "FUNCTIONS", "ROOTS", "SYMBOLS"]

_SYMBOL_ROWS = """
alpha α  beta β  gamma γ  delta δ  epsilon ε  varepsilon ε  zeta ζ  eta η  theta θ  vartheta θ  iota ι  kappa κ
lambda λ  mu μ  nu ν  xi ξ  pi π  rho ρ  varrho ρ  sigma σ  varsigma ς  tau τ  upsilon υ  phi φ  varphi φ  chi χ
psi ψ  omega ω  Gamma Γ  Delta Δ  Theta Θ  Lambda Λ  Xi Ξ  Pi Π  Sigma Σ  Upsilon Υ  Phi Φ  Psi Ψ  Omega Ω
pm ±  mp ∓  times ×  div ÷  cdot ·  ast *  circ ∘  degree °  textdegree °  percent %  prime ′  infty ∞
le ≤  leq ≤  leqslant ≤  ge ≥  geq ≥  geqslant ≥  ne ≠  neq ≠  lt <  gt >  approx ≈  sim ~  simeq ≈  equiv ≡  cong ≅
propto ∝  to →  rightarrow →  leftarrow ←  Rightarrow ⇒  Leftarrow ⇐  leftrightarrow ↔  Leftrightarrow ⇔  implies ⇒
iff ⇔  mapsto ↦  in ∈  notin ∉  ni ∋  subset ⊂  subseteq ⊆  supset ⊃  supseteq ⊇  cup ∪  cap ∩  emptyset ∅
varnothing ∅  setminus ∖  forall ∀  exists ∃  neg ¬  lnot ¬  land ∧  wedge ∧  lor ∨  vee ∨  oplus ⊕  otimes ⊗
sum ∑  prod ∏  int ∫  oint ∮  partial ∂  nabla ∇  angle ∠  perp ⊥  parallel ∥  triangle △  ell ℓ  hbar ℏ  Re ℜ  Im ℑ
ldots ...  dots ...  cdots ...  vdots ...  ddots ...  mid |  vert |  Vert ‖  langle ⟨  rangle ⟩  lfloor ⌊
rfloor ⌋  lceil ⌈  rceil ⌉  lbrace {  rbrace }  lbrack [  rbrack ]  backslash \\  dagger †  star ⋆  bullet •
euro €  pounds £  textdollar $  textpercent %  textendash –  textemdash —  checkmark ✓  aleph ℵ
"""
_SYMBOLS = _SYMBOL_ROWS.split()
SYMBOLS = dict(zip(_SYMBOLS[::2], _SYMBOLS[1::2], strict=True))

_FUNCTION_ROWS = """
sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim max min sup inf det gcd lcm deg dim arg
ker hom mod bmod Pr
"""
FUNCTIONS = frozenset(_FUNCTION_ROWS.split())
# Commands without a trace: sizes, spaces, modes.
_DROPPED_ROWS = """
left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle scriptstyle
limits nolimits nonumber notag hline centering newline linebreak noindent bf it rm sf tt em cal bfseries itshape
mathstrut strut protect null
"""
DROPPED = frozenset(_DROPPED_ROWS.split())
# How many arguments a command takes that is more than a change of type, and what becomes of them.
ARGUMENTS = {
    "frac": (2, "{0}/{1}"),
    "dfrac": (2, "{0}/{1}"),
    "tfrac": (2, "{0}/{1}"),
    "cfrac": (2, "{0}/{1}"),
    "sfrac": (2, "{0}/{1}"),
    "nicefrac": (2, "{0}/{1}"),
    "binom": (2, "C({0}, {1})"),
    "tbinom": (2, "C({0}, {1})"),
    "dbinom": (2, "C({0}, {1})"),
    "sqrt": (1, "√{0}"),
    "overset": (2, "{1} {0}"),
    "underset": (2, "{1} {0}"),
    "stackrel": (2, "{1} {0}"),
    "textcolor": (2, "{1}"),
    "colorbox": (2, "{1}"),
    "href": (2, "{1}"),
    "begin": (1, " "),
    "end": (1, " "),
    "hspace": (1, " "),
    "vspace": (1, " "),
    "color": (1, ""),
    "label": (1, ""),
}
ROOTS = {"3": "∛", "4": "∜"}
