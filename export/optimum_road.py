"""The road through torch: the graph of any architecture that optimum-onnx knows, and what torch itself says."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from smile_lite_export.graph_passes import WorkGraph, keep_input_ids, pool
from smile_lite_export.linear_forms import apply_form, smoothing_factors

from smile_lite.convert.forms import FloatForm, TokenForm, WeightForm
from smile_lite.convert.pipeline import activation_bits, sample_texts
from smile_lite.errors import ModelError
from smile_lite.extras import require
from smile_lite.session import exact_length_batches, new_session
from smile_lite.tokenizer import load_tokenizer, token_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from smile_lite.encoder import Encoder
    from smile_lite.manifest import Encoding, Manifest

__all__ = [
    "SentenceTransformersEncoder",
    "TorchEncoder",
    "convert_through_optimum",
    "export_graph",
    "load_torch_model",
    "measure_smoothing",
    "quantise_dynamic",
    "quiet",
    "reference_encoder",
]

_OPSET = 18
_TOKENS_PER_BATCH = 1024


def export_graph(checkpoint: Path, folder: Path) -> Path:
    """Trace the model in `checkpoint` (feature extraction, fp32) into `folder`; gives a graph whose tensors lie in a
    file of their own beside it. Raises ModelError where optimum does not know the architecture.
    """
    exporters = require("optimum.exporters.onnx", extra="export", purpose="exporting through optimum")
    onnx = require("onnx", extra="export", purpose="exporting a model")
    with quiet():
        model = load_torch_model(checkpoint)
        try:
            exporters.onnx_export_from_model(
                model, folder, opset=_OPSET, task="feature-extraction", do_validation=False
            )
        except (ValueError, KeyError, NotImplementedError) as error:
            raise ModelError(f"optimum cannot export this {model.config.model_type}: {_first_line(error)}") from error
    del model
    traced, split = folder / "model.onnx", folder / "split.onnx"
    place = {"all_tensors_to_one_file": True, "location": "split.data", "size_threshold": 1024}
    onnx.save_model(onnx.load(traced), split, save_as_external_data=True, **place)
    for path in folder.glob("model.onnx*"):
        path.unlink()
    return split


def convert_through_optimum(
    manifest: Manifest,
    traced: Path,
    graph: Path,
    *,
    precision: str,
    factors: Mapping[str, NDArray[np.float32]] | None = None,
) -> list[Path]:
    """Write the graph of `precision` from the one that `export_graph` made; returns the files written.

    The int8 forms take the `factors` that `measure_smoothing` gave.
    """
    forms: dict[str, FloatForm | WeightForm] = {"fp32": FloatForm(), "int8": WeightForm()}
    form = forms.get(precision) or TokenForm(activation_bits())
    work = _pooled(manifest, traced)
    apply_form(work, form, factors if precision != "fp32" else None)
    return work.save(graph)


def measure_smoothing(manifest: Manifest, traced: Path, fp32: Path) -> dict[str, NDArray[np.float32]]:
    """The smoothing factor of every input channel of every layer, from running `fp32` (made by
    `convert_through_optimum`, the tokenizer beside it) over the texts that come with the package.
    """
    work, form = _pooled(manifest, traced), FloatForm(tapped=True)
    apply_form(work, form)
    weights, tapped = fp32.with_suffix(".weights"), fp32.with_name("tapped.onnx")
    work.save(tapped, taps=form.taps, weights=weights)
    session = new_session(tapped)
    tokenizer = load_tokenizer(weights.parent / manifest.tokenizer, manifest.encoding)
    largest: dict[str, Any] = dict.fromkeys(form.taps, np.float32(0))
    ids = token_ids(tokenizer, sample_texts(), manifest.encoding)
    for members in exact_length_batches([len(one) for one in ids]):
        feed = {"input_ids": np.array([ids[member] for member in members], dtype=np.int64)}
        for tap, value in zip(form.taps, session.run(list(form.taps), feed), strict=True):
            largest[tap] = np.maximum(largest[tap], np.abs(value).max(axis=0))
    tapped.unlink()
    return smoothing_factors(work, form, largest)


def _pooled(manifest: Manifest, traced: Path) -> WorkGraph:
    work = WorkGraph(traced)
    keep_input_ids(work)
    pool(work, manifest.encoding)
    return work


def quantise_dynamic(fp32: Path, graph: Path) -> list[Path]:
    """The dynamic quantisation of onnxruntime itself, for comparison only: it takes one scale over a whole batch."""
    quantization = require("onnxruntime.quantization", extra="export", purpose="int8-dynamic")
    with quiet():
        known = {"DefaultTensorType": require("onnx", extra="export", purpose="int8-dynamic").TensorProto.FLOAT}
        quantization.quantize_dynamic(fp32, graph, weight_type=quantization.QuantType.QInt8, extra_options=known)
    return [graph]


def load_torch_model(checkpoint: Path) -> Any:
    """The bare transformer in float32, from safetensors only, without code of its own."""
    transformers = require("transformers", extra="export", purpose="exporting a model")
    torch = require("torch", extra="export", purpose="exporting a model")
    options = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": True}
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    try:
        with quiet():
            model = transformers.AutoModel.from_pretrained(
                checkpoint, dtype=torch.float32, attn_implementation="eager", **options
            )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{checkpoint}: transformers cannot load it: {_first_line(error)}") from error
    return model.eval()


class TorchEncoder:
    """torch itself as an encoder (`smile_lite.encoder.Encoder`): what every artefact is held against.

    Texts of one length go together, so nothing is padded. Vectors are float32, as torch computes them, of unit length.
    """

    precision = "fp32"

    def __init__(self, checkpoint: Path, encoding: Encoding, *, tokenizer: Path | None = None) -> None:
        self._torch = require("torch", extra="export", purpose="comparing with torch")
        self._model = load_torch_model(checkpoint)
        self._encoding = encoding
        self._tokenizer = load_tokenizer(tokenizer or checkpoint / "tokenizer.json", encoding)
        self.name = f"torch:{checkpoint.name}"
        self.max_tokens = encoding.max_tokens

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] float32, one unit row a text, in order."""
        vectors = np.zeros((len(texts), self._model.config.hidden_size), dtype=np.float32)
        ids = token_ids(self._tokenizer, texts, self._encoding)
        for members in exact_length_batches([len(one) for one in ids]):
            with self._torch.inference_mode():
                tokens = self._torch.tensor([ids[member] for member in members])
                state = self._model(tokens, attention_mask=self._torch.ones_like(tokens)).last_hidden_state
                pooled = state[:, 0] if self._encoding.pooling == "cls" else state.mean(dim=1)
                vectors[members] = self._torch.nn.functional.normalize(pooled, dim=-1).numpy()
        return vectors


class SentenceTransformersEncoder:
    """sentence-transformers itself as an encoder: it reads pooling and length from the checkpoint by its own rules."""

    precision = "fp32"

    def __init__(self, checkpoint: Path) -> None:
        module = require("sentence_transformers", extra="export", purpose="comparing with sentence-transformers")
        options = {"trust_remote_code": False, "local_files_only": True, "model_kwargs": {"use_safetensors": True}}
        with quiet():
            self._model = module.SentenceTransformer(str(checkpoint), device="cpu", **options).float().eval()
        self.name = f"sentence-transformers:{checkpoint.name}"
        self.max_tokens = int(self._model.max_seq_length or 0)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[n, d] float32, one unit row a text, in order."""
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


def reference_encoder(checkpoint: Path, encoding: Encoding) -> Encoder:
    """What a checkpoint is run with to compare: sentence-transformers where it is installed and loads the folder, else
    torch with the pooling that `encoding` states. Its `name` says which.
    """
    if (checkpoint / "modules.json").is_file() and importlib.util.find_spec("sentence_transformers") is not None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return SentenceTransformersEncoder(checkpoint)
    return TorchEncoder(checkpoint, encoding)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """torch, transformers and optimum have much to say while they trace, none of it for whoever exports."""
    before = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
