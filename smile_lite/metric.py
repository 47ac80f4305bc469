"""SMILE, whole: rows in, scores out. The order of the steps lives here, and nothing of printing or files."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

from smile_lite import __version__
from smile_lite.encoder import Encoder, OnnxEncoder
from smile_lite.errors import InputError, UsageError
from smile_lite.gradable import Gradable, RowReader
from smile_lite.guards import FLAGS, GUARDS_VERSION, decide, row_flags
from smile_lite.health import check_golden
from smile_lite.lemmas import noun_lemma
from smile_lite.pairwise import measure
from smile_lite.plan import build_plan
from smile_lite.reading import Reading
from smile_lite.report import Report, RowScore
from smile_lite.rows import Row, rows_from_columns
from smile_lite.scoring import bin_index, combine, harmonic_mean, lexical, segmented_max
from smile_lite.signature import FALLBACK, Signature, short
from smile_lite.tasks import profile_named
from smile_lite.text import DEFAULT_TAGS, sentence
from smile_lite.verdict import VerdictRule, verdict_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from smile_lite.manifest import Calibration
    from smile_lite.prepared import PreparedSet

__all__ = ["LONG", "ON_EMPTY", "PairScore", "Smile"]

ON_EMPTY = ("zero", "null", "error")
LONG = ("truncate", "window")
_ROWS_PER_CHUNK = 512  # texts are made unique over a chunk; finished rows are written a chunk at a time
_CHARACTERS_PER_CHUNK = 150_000


@dataclass(frozen=True, slots=True)
class PairScore:
    """The parts of one row against one of its references, for explaining."""

    reference: int
    score: float
    semantic: float
    lexical: float
    exact: float
    ngram_similarity: float
    best_ngram: str


@dataclass(frozen=True, slots=True)
class _PairArrays:
    semantic: NDArray[np.float64]
    lexical: NDArray[np.float64]
    exact: NDArray[np.float64]
    ngram: NDArray[np.float64]
    position: NDArray[np.int64]
    score: NDArray[np.float64]
    average: NDArray[np.float64]
    harmonic: NDArray[np.float64]
    row_offset: NDArray[np.int64]


class Smile:
    """The SMILE metric (arXiv 2511.17432) over an encoder.

        smile = Smile.from_pretrained("minilm")
        report = smile.score(predictions=["It is Paris."], references=["Paris"], questions=["Capital of France?"])
        print(report.mean, report.signature)

    profile: "paper" (the equations) or "reference" (what the published code computes: raw cosine, lemmas, average of
    the two parts; for comparing with earlier numbers). weight: of the semantic part (paper: 0.3). exact: "contain"
    (the reference's words stand in the prediction, on word boundaries) or "strict" (they are all of it); under
    "reference" "off" or "fraction". on_empty: what an empty prediction is worth: "zero", "null" (unscored) or
    "error". verdict: "calibrated" or "paper"; threshold: one of your own instead. markup: whether reasoning, Markdown
    and LaTeX are taken off predictions and references first (not under "reference"); reasoning_tags: the elements that
    hold reasoning. long: what the semantic part sees of a prediction longer than the encoder reads: its beginning
    ("truncate", flagged), or all of it in pieces of which the nearest counts ("window"). guards: whether the flags of
    a row (`smile_lite.guards.FLAGS`) have a say in its verdict.

    Raises UsageError for a setting that does not exist.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        profile: str = "paper",
        weight: float | None = None,
        exact: str | None = None,
        on_empty: str = "zero",
        verdict: str | None = None,
        threshold: float | None = None,
        markup: bool = True,
        reasoning_tags: Sequence[str] = DEFAULT_TAGS,
        long: str = "truncate",
        guards: bool = False,
    ) -> None:
        if isinstance(encoder, str) or not hasattr(encoder, "encode"):
            raise UsageError(f"Smile takes an encoder: for a model by name, Smile.from_pretrained({encoder!r})")
        self.encoder = encoder
        self.profile = profile_named(profile)
        self.weight = self.profile.weight if weight is None else weight
        if not isinstance(self.weight, (int, float)) or not 0 <= self.weight <= 1:
            raise UsageError(f"the weight of the semantic part lies between 0 and 1, not at {self.weight!r}")
        self.exact = self.profile.exact_match(exact)
        if on_empty not in ON_EMPTY:
            raise UsageError(f"on_empty is one of {', '.join(ON_EMPTY)}, not {on_empty!r}")
        self.on_empty = on_empty
        if long not in LONG:
            raise UsageError(f"long is one of {', '.join(LONG)}, not {long!r}")
        self.long = long
        self.guards = guards
        self.reading = Reading(markup and self.profile.name == "paper", tuple(reasoning_tags))
        self.rule: VerdictRule = verdict_rule(verdict, threshold=threshold, calibration=self._calibration())
        self._lemma: Callable[[str], str] | None = None
        if self.profile.words == "published":
            noun_lemma("words")  # says at once where the extra is missing
            self._lemma = noun_lemma
        windows = getattr(encoder, "windows", None)  # an encoder need not tell where it would cut a text
        self._read = RowReader(self.reading, self.exact, windows, window=long == "window", lemma=self._lemma)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "minilm",
        *,
        precision: str = "fp32",
        threads: int | None = None,
        offline: bool = False,
        home: str | Path | None = None,
        batch_size: int | None = None,
        prepared: PreparedSet | None = None,
        notify: Callable[[str], object] | None = None,
        **settings: Any,
    ) -> Smile:
        """SMILE over `model`: a name (`smile-lite models list`), a manifest's path or a checkpoint folder.

        Pulled and converted first where it is not here yet. threads: None for what the process may use. prepared: a set
        whose vectors are looked up instead of computed again. `settings` go to the constructor. Raises UnknownModel,
        ModelUnavailable, ModelIntegrityError, ExtraMissing; UsageError where the set was prepared for another encoder.
        """
        batch = {} if batch_size is None else {"batch_size": batch_size}
        loaded = OnnxEncoder.from_pretrained(
            model, precision=precision, threads=threads, offline=offline, home=home, notify=notify, **batch
        )
        if precision != "fp32":  # integer kernels differ between processors: a graph may come from another one
            check_golden(loaded.model, precision=precision, threads=loaded.threads)
        encoder: Encoder = loaded
        return cls(prepared.known(encoder) if prepared is not None else encoder, **settings)

    def score(
        self,
        predictions: str | Iterable[str | None],
        references: str | Iterable[str | Sequence[str] | None],
        questions: str | Iterable[str | None] | None = None,
        synthetic: str | Iterable[str | Sequence[str | None] | None] | None = None,
        ids: str | int | Iterable[str | int] | None = None,
    ) -> Report:
        """Score each prediction against its reference, or the best of its references.

        A str is one item, never its letters; one str as `predictions` with a list as `references` is one row with
        several references. Without `synthetic` the semantic part compares with the reference alone and with question
        + reference, and takes the nearer. Raises UsageError where the lengths differ, InputError for what is no text.
        """
        return self.score_rows(rows_from_columns(predictions, references, questions, synthetic, ids))

    def score_rows(self, rows: Iterable[Row]) -> Report:
        """Score rows that were read or made; see `stream` for more of them than memory holds."""
        return Report(tuple(scored for _, scored in self.stream(rows)), self.environment())

    def stream(self, rows: Iterable[Row]) -> Iterator[tuple[Row, RowScore]]:
        """Score rows as they come, in order, a chunk at a time: each row once, with its score."""
        for chunk in _chunks(rows):
            yield from zip(chunk, self._score_chunk(chunk), strict=True)

    def explain(self, row: Row) -> tuple[RowScore, list[PairScore]]:
        """The score of one row, and its parts against each of its references that is not blank."""
        early, prepared = self._prepare(row)
        if prepared is None:
            return cast("RowScore", early), []
        pairs = self._measure([prepared])
        return self._assemble([prepared], pairs)[0], [
            PairScore(
                reference=reference,
                score=float(pairs.score[index]),
                semantic=float(pairs.semantic[index]),
                lexical=float(pairs.lexical[index]),
                exact=float(pairs.exact[index]),
                ngram_similarity=float(pairs.ngram[index]),
                best_ngram=prepared.as_written(reference, int(pairs.position[index])),
            )
            for index, reference in enumerate(prepared.references)
        ]

    def environment(self) -> dict[str, Any]:
        """What the signature is too short for: versions, hashes, machine."""
        libraries = ("onnxruntime", "tokenizers", "numpy")
        return {
            "smile_lite": __version__,
            **{name: metadata.version(name) for name in libraries},
            "python": platform.python_version(),
            "machine": platform.machine(),
            "system": platform.system(),
            "encoder": self.encoder.name,
            "weights_sha256": getattr(self.encoder, "weights_sha256", None),
            "tokenizer_sha256": getattr(self.encoder, "tokenizer_sha256", None),
            "threads": getattr(self.encoder, "threads", None),
        }

    def _calibration(self) -> Calibration | None:
        """The model's calibration, where the metric is set as it was when that was fitted."""
        manifest = getattr(self.encoder, "manifest", None)
        default = self.profile.name == "paper" and self.weight == self.profile.weight and self.exact == "contain"
        return manifest.calibrations.get(self.encoder.precision) if manifest and default else None

    def signature_of(self, row: Row) -> str:
        """The signature that the score of `row` has: the settings, and whether the row brings a synthetic answer."""
        given = [one is not None and bool(sentence(one)) for one in row.synthetic]
        name = row.synthetic_name
        syn = FALLBACK if not any(given) else name if all(given) else f"{name}+{FALLBACK}"
        metric = "smile" if self.profile.name == "paper" else f"smile-{self.profile.name}"
        return str(
            Signature(
                metric=metric,
                w=short(self.weight),
                em=self.exact,
                syn=syn,
                markup=self.reading.name,
                words=self.profile.words,
                refs="max",
                empty=self.on_empty,
                model=self.encoder.name,
                prec=self.encoder.precision,
                len=f"{self.encoder.max_tokens}{',window' if self.long == 'window' else ''}",
                verdict=self.rule.name,
                guards=GUARDS_VERSION if self.guards else "off",
                v=__version__,
            )
        )

    def _score_chunk(self, rows: Sequence[Row]) -> list[RowScore]:
        early = [self._prepare(row) for row in rows]
        prepared = [one for _, one in early if one is not None]
        scored = iter(self._assemble(prepared, self._measure(prepared)) if prepared else ())
        return [next(scored) if one is None else one for one, _ in early]

    def _prepare(self, row: Row) -> tuple[RowScore | None, Gradable | None]:
        """Either the row's score, where it needs no encoder, or what the encoder needs."""
        found = self._read(row)
        if isinstance(found, Gradable):
            return None, found
        return self._empty(row) if found == "empty_prediction" else self._without(row, found), None

    def _without(self, row: Row, reason: str) -> RowScore:
        nothing = (None,) * 9
        return RowScore(row.id, *nothing, reason, self.signature_of(row))

    def _empty(self, row: Row) -> RowScore:
        if self.on_empty == "error":
            raise InputError("the prediction is empty", line=row.line, field="prediction")
        if self.on_empty == "null":
            return self._without(row, "empty_prediction")
        return RowScore(
            id=row.id,
            score=0.0,
            semantic=0.0,
            lexical=0.0,
            exact=0.0,
            ngram_similarity=0.0,
            best_ngram="",
            best_reference=None,
            bin=0,
            verdict=self.rule(0.0),
            reason="empty_prediction",
            signature=self.signature_of(row),
            average=None if self._lemma is None else 0.0,
            harmonic=None if self._lemma is None else 0.0,
        )

    def _measure(self, prepared: Sequence[Gradable]) -> _PairArrays:
        plan = build_plan(one.task for one in prepared)
        found = measure(plan, self.encoder, shift=self.profile.shifted)
        words_part = found.ngram if self.exact == "off" else lexical(plan.exact, found.ngram)
        average = self.weight * found.semantic + (1 - self.weight) * words_part
        return _PairArrays(
            semantic=found.semantic,
            lexical=words_part,
            exact=plan.exact,
            ngram=found.ngram,
            position=found.position,
            score=combine(found.semantic, words_part, self.weight),
            average=average,
            harmonic=harmonic_mean(found.semantic, words_part),
            row_offset=plan.row_offset,
        )

    def _assemble(self, prepared: Sequence[Gradable], pairs: _PairArrays) -> list[RowScore]:
        _, best = segmented_max(pairs.score, pairs.row_offset)
        bins = bin_index(pairs.score[best])
        published = self._lemma is not None
        scored = []
        for number, (one, pair) in enumerate(zip(prepared, best.tolist(), strict=True)):
            reference = list(one.references)[pair - int(pairs.row_offset[number])]
            score = float(pairs.score[pair])
            flags = self._flags(one)
            scored.append(
                RowScore(
                    id=one.row.id,
                    score=score,
                    semantic=float(pairs.semantic[pair]),
                    lexical=float(pairs.lexical[pair]),
                    exact=float(pairs.exact[pair]),
                    ngram_similarity=float(pairs.ngram[pair]),
                    best_ngram=one.as_written(reference, int(pairs.position[pair])),
                    best_reference=reference,
                    bin=int(bins[number]),
                    verdict=self._verdict(score, flags),
                    reason=None,
                    signature=self.signature_of(one.row),
                    flags=tuple(flags),
                    average=float(pairs.average[pair]) if published else None,
                    harmonic=float(pairs.harmonic[pair]) if published else None,
                )
            )
        return scored

    def _flags(self, one: Gradable) -> list[str]:
        found = row_flags(one.row.question, one.row.references, one.row.prediction or "")
        return [*found, "truncated"] if one.truncated else list(found)

    def _verdict(self, score: float, flags: Sequence[str]) -> str:
        verdict = self.rule(score)
        return decide([name for name in flags if name in FLAGS], verdict) if self.guards else verdict


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += len(row.prediction or "")
        if len(chunk) >= _ROWS_PER_CHUNK or characters >= _CHARACTERS_PER_CHUNK:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
