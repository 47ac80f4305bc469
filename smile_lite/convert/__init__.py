"""BERT-family safetensors into ONNX graphs made for this job, without torch (extra `convert`)."""

from smile_lite.convert.forms import PRECISIONS
from smile_lite.convert.pipeline import convert_bert

__all__ = ["PRECISIONS", "convert_bert"]
