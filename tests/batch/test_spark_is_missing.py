"""Where something that Spark needs is missing or too old, one line says what, and how to get it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crowdveil.batch.spark_engine import SparkEngine
from crowdveil.errors import CrowdveilError


def install_java(home: Path, version: str) -> None:
    """Something that says its version as Java does."""
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    (home / "bin" / "java").chmod(0o755)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, r"Spark needs Java, and there is none; install Java 17"),
        ("11.0.2", r"Spark needs Java 17 or later, .*java is openjdk version \"11\.0\.2\" 2024-01-16; install Java 17"),
        ("1.8.0_402", r"Spark needs Java 17 or later, .* \"1\.8\.0_402\""),
        ("17.0.10", r"pyspark is not installed; run: pip install 'crowdveil\[spark\]'"),
        ("21.0.2", r"pyspark is not installed"),
    ],
)
def test_what_spark_lacks_is_said(
    version: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    if version is not None:
        install_java(tmp_path, version)
    with pytest.raises(CrowdveilError, match=f"^engine = 'spark': {said}"):
        SparkEngine("local[1]")
