"""What machine this is and what is installed: processor features, usable CPUs, versions, sizes on disk."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path

__all__ = [
    "cpu_features",
    "cpu_name",
    "installed_bytes",
    "recommended_precision",
    "runtime_distributions",
    "site_packages_bytes",
]

_FEATURES = {  # as /proc/cpuinfo spells them -> as people do
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx_vnni": "AVX-VNNI",
    "amx_int8": "AMX-INT8",
    "asimddp": "NEON dot product",
    "i8mm": "NEON i8mm",
}

_INTEGER_PRODUCTS = {"AVX-512 VNNI", "AVX-VNNI", "AMX-INT8", "NEON dot product", "NEON i8mm"}


def _cpuinfo(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^{key}\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def cpu_name() -> str:
    """The processor's name, as far as the system tells."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def cpu_features() -> list[str] | None:
    """The features that integer and float kernels choose by; None where the system does not tell."""
    flags = (_cpuinfo("flags") or _cpuinfo("Features")).split()
    return [name for flag, name in _FEATURES.items() if flag in flags] if flags else None


def recommended_precision() -> str:
    """What suits the processor: int8-token where it multiplies 8 bits at once and exactly, else fp32."""
    return "int8-token" if _INTEGER_PRODUCTS & set(cpu_features() or ()) else "fp32"


def runtime_distributions(name: str = "smile-lite") -> list[str]:
    """The distributions that `name` needs without any extra, itself included, as far as they are installed."""
    wanted, found = [name], dict[str, None]()
    while wanted:
        current = wanted.pop()
        key = re.sub(r"[-_.]+", "-", current).lower()
        if key in found:
            continue
        try:
            requires = metadata.requires(current) or []
        except metadata.PackageNotFoundError:
            continue
        found[key] = None
        for line in requires:
            requirement, _, marker = line.partition(";")
            if "extra" not in marker and _applies(marker):
                wanted.append(re.split(r"[\s<>=!~\[(]", requirement.strip(), maxsplit=1)[0])
    return sorted(found)


def _applies(marker: str) -> bool:
    """Enough of a requirement's marker for this use: those of other systems and older Pythons do not count."""
    if "platform_system" in marker or "sys_platform" in marker:
        return "!=" in marker or platform.system().lower() in marker.lower()
    return "python_version <" not in marker


def installed_bytes(distribution: str) -> int:
    """The size of a distribution's files, byte code left out."""
    total = 0
    for file in metadata.files(distribution) or []:
        if file.suffix != ".pyc":
            try:
                total += Path(str(file.locate())).stat().st_size
            except OSError:
                continue
    return total


def site_packages_bytes() -> int:
    """The size of the whole folder that onnxruntime is installed in, extras and pip included."""
    folder = Path(str(metadata.distribution("onnxruntime").locate_file("")))
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
