"""`smile-lite doctor`: processor, threads, versions, sizes, and whether the models here are sound."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from typing import Any

import click

from smile_lite import __version__


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> None:
    """Say what this machine and installation can do. Exit 3 where a model that is here is damaged."""
    from smile_lite.errors import ModelIntegrityError

    facts = {
        "machine": _machine(),
        "versions": _versions(),
        "installed": _sizes(),
        "home": _home(),
        "models": _models(),
    }
    click.echo(json.dumps(facts, indent=1, ensure_ascii=False) if as_json else "\n".join(_lines(facts)))
    damaged = [name for name, state in facts["models"].items() if state.get("error")]
    if damaged:
        raise ModelIntegrityError(f"not sound: {', '.join(damaged)}")


def _machine() -> dict[str, Any]:
    from smile_lite.machine import cpu_features, cpu_name, recommended_precision
    from smile_lite.session import available_cpus, cgroup_quota, thread_count

    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {
        "processor": cpu_name(),
        "architecture": platform.machine(),
        "features": cpu_features(),
        "recommended_precision": recommended_precision(),
        "cpus": os.cpu_count(),
        "affinity": affinity,
        "cgroup_quota": cgroup_quota(),
        "usable_cpus": available_cpus(),
        "threads": thread_count(),
    }


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"smile-lite": __version__, "python": platform.python_version()}
    for name in (
        "onnxruntime",
        "tokenizers",
        "numpy",
        "click",
        "onnx",
        "safetensors",
        "lemminflect",
        "pyarrow",
        "huggingface_hub",
    ):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _sizes() -> dict[str, Any]:
    from smile_lite.machine import installed_bytes, runtime_distributions, site_packages_bytes

    parts = {name: installed_bytes(name) for name in runtime_distributions()}
    return {
        "runtime_bytes": sum(parts.values()),
        "site_packages_bytes": site_packages_bytes(),
        "parts": parts,
    }


def _home() -> dict[str, Any]:
    from smile_lite.store import default_home

    home = default_home()
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    return {"path": str(home), "exists": home.exists(), "writable": os.access(nearest, os.W_OK)}


def _models() -> dict[str, dict[str, Any]]:
    from smile_lite.errors import SmileLiteError
    from smile_lite.health import check_golden
    from smile_lite.manifest import known_models, load_manifest
    from smile_lite.store import Store

    states: dict[str, dict[str, Any]] = {}
    for name in known_models():
        try:
            found = Store().find(load_manifest(name))
            if found is None:
                continue
            states[name] = {"bytes": found.bytes, "folder": str(found.folder), "origin": found.origin}
            found.verify(thorough=True)
            states[name]["golden_difference"] = {one: check_golden(found, precision=one) for one in found.precisions}
        except SmileLiteError as error:
            states.setdefault(name, {})["error"] = str(error)
    return states


def _lines(facts: dict[str, Any]) -> list[str]:
    machine, sizes, home = facts["machine"], facts["installed"], facts["home"]
    quota = "none" if machine["cgroup_quota"] is None else f"{machine['cgroup_quota']:g} CPUs"
    features = "unknown" if machine["features"] is None else ", ".join(machine["features"]) or "none of note"
    lines = [
        (f"processor    {machine['processor']} ({machine['architecture']}); {features}; "
        f"recommended: --precision {machine['recommended_precision']}"),
        (f"CPUs         {machine['usable_cpus']} usable (of {machine['cpus']}; affinity {machine['affinity']}, "
        f"cgroup quota {quota}); {machine['threads']} threads"),
        "versions     " + ", ".join(f"{name} {version or '-'}" for name, version in facts["versions"].items()),
        (f"installed    runtime {_mb(sizes['runtime_bytes'])} (its packages alone, no byte code); "
        f"site-packages {_mb(sizes['site_packages_bytes'])} in all"),
        "             " + ", ".join(
            f"{name} {_mb(size)}" for name, size in sorted(sizes["parts"].items(), key=lambda part: -part[1])
            if size >= 5e5
        ),
        (f"home         {home['path']} ({'exists' if home['exists'] else 'not made yet'}, "
        f"{'writable' if home['writable'] else 'read-only'})"),
    ]  # fmt: skip
    if not facts["models"]:
        lines.append("models       none here yet: smile-lite models pull minilm")
    for name, state in facts["models"].items():
        if state.get("error"):
            lines.append(f"model        {name}: NOT SOUND: {state['error']}")
            continue
        golden = [f"{one} {value:.1e}" for one, value in state["golden_difference"].items() if value is not None]
        known = f"known vectors within {', '.join(golden)}" if golden else "no known vectors"
        lines.append(f"model        {name}: {_mb(state['bytes'])} with tokenizer, files match, {known}")
    return lines


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
