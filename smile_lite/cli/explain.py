"""`smile-lite explain`: one answer, every part of its score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from smile_lite.cli.options import load_smile, metric_options, model_options
from smile_lite.errors import UsageError

if TYPE_CHECKING:
    from smile_lite.metric import PairScore, Smile
    from smile_lite.report import RowScore
    from smile_lite.rows import Row


_TRUNCATED = "the semantic part saw the beginning of the prediction only (--long window)"
_EXACT = {  # what 0 and more than 0 mean
    "contain": ("the reference does not stand in the prediction", "the reference stands in the prediction"),
    "strict": ("the prediction is not the reference", "the prediction is the reference"),
    "fraction": ("none of the reference's words", "share of the reference's words"),
    "off": ("not used", "not used"),
}


@click.command("explain")
@click.option("-q", "--question", default="", help="The question.")
@click.option("-r", "--reference", "references", multiple=True, required=True, help="A right answer; may be repeated.")
@click.option("-p", "--prediction", required=True, help="The answer to grade.")
@click.option(
    "-s",
    "--synthetic",
    multiple=True,
    help="The reference as a model would phrase it; one, or one a reference.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
@metric_options
@model_options
def command(
    question: str,
    references: tuple[str, ...],
    prediction: str,
    synthetic: tuple[str, ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Grade one answer and show where its score comes from: which n-gram, which reference, which threshold."""
    from smile_lite.rows import Row

    if synthetic and len(synthetic) not in (1, len(references)):
        raise UsageError(f"there are {len(references)} references and {len(synthetic)} synthetic answers")
    row = Row(
        id=1,
        question=question or None,
        references=references,
        prediction=prediction,
        synthetic=synthetic * len(references) if len(synthetic) == 1 else synthetic or (None,) * len(references),
    )
    smile = load_smile(**settings)
    score, pairs = smile.explain(row)
    if as_json:
        details = {
            **score.to_dict(),
            "threshold": smile.rule.threshold,
            "pairs": [_pair(row, pair) for pair in pairs],
        }
        click.echo(json.dumps(details, ensure_ascii=False, indent=1, allow_nan=False))
        return
    click.echo("\n".join(_lines(smile, row, score, pairs)))


def _pair(row: Row, pair: PairScore) -> dict[str, Any]:
    shown = {name: getattr(pair, name) for name in type(pair).__slots__}
    return {**shown, "reference_text": row.references[pair.reference]}


def _lines(smile: Smile, row: Row, score: RowScore, pairs: list[PairScore]) -> list[str]:
    from smile_lite.guards import FLAGS
    from smile_lite.report import plain

    lines = [f"question     {plain(row.question or '-')}", f"prediction   {plain(row.prediction or '-')}"]
    for pair in pairs:
        best = " (best)" if pair.reference == score.best_reference else ""
        given = row.synthetic[pair.reference]
        against = plain(given) if given else "the reference alone, or question + reference"
        exact = _EXACT[smile.exact][bool(pair.exact)]
        lines += [
            "",
            f"reference {pair.reference}  {plain(row.references[pair.reference])}{best}",
            f"  meaning    {pair.semantic:.4f}  against {against}",
            f"  exact      {pair.exact:.4f}  {exact}",
            f"  n-gram     {pair.ngram_similarity:.4f}  nearest: {plain(pair.best_ngram)}",
            f"  wording    {pair.lexical:.4f}  {'n-gram alone' if smile.exact == 'off' else '(exact + n-gram) / 2'}",
            f"  score      {pair.score:.4f}  {smile.weight:g} x meaning + {1 - smile.weight:g} x wording",
        ]
    lines.append("")
    if score.score is None:
        lines.append(f"not scored: {score.reason}")
    else:
        reason = f" ({score.reason})" if score.reason else ""
        lines.append(f"score {score.score:.4f}{reason}, bin {score.bin} of 0..5")
        relation = "at or above" if score.score >= smile.rule.threshold else "under"
        decided = "" if score.verdict == smile.rule(score.score) else ", turned round by the flags"
        lines.append(f"{score.verdict}: {relation} {smile.rule.threshold:.4f} ({smile.rule.kind}){decided}")
    for name in score.flags:
        lines.append(f"flag {name}: {FLAGS[name].meaning if name in FLAGS else _TRUNCATED}")
    lines.append(score.signature)
    return lines
