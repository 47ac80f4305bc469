"""The export toolchain: checkpoints to the artefacts that the runtime uses. The only place where torch lives."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before optimum imports onnxruntime; see smile_lite/session.py
