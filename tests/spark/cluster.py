"""A standalone Spark cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import site
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import pyspark

LOOPBACK = "127.0.0.1"
MAX_START_S = 120
REGISTERED = "Successfully registered with master"


@dataclass(frozen=True)
class Cluster:
    """Where the master listens, and what a driver needs in its environment."""

    address: str
    environment: Mapping[str, str]
    work: Path
    """Where workers keep what they were sent, by application."""


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster whose Python does not have this project; stop its processes afterwards."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_CONF_DIR": str(_settings(folder)),
        "PYSPARK_PYTHON": str(_python_without_the_project(folder)),
    }
    port = _free_port()
    with ExitStack() as running:
        log = running.enter_context(
            _started("master.Master", folder, environment, "--host", LOOPBACK, "--port", str(port))
        )
        _wait_for(log, "New state: ALIVE")
        for number in range(workers):
            work = folder / f"worker-{number}"
            limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
            log = running.enter_context(
                _started(
                    "worker.Worker",
                    folder,
                    environment,
                    *("--host", LOOPBACK, *limits, f"spark://{LOOPBACK}:{port}"),
                    name=f"worker-{number}",
                )
            )
            _wait_for(log, REGISTERED)
        yield Cluster(f"spark://{LOOPBACK}:{port}", environment, folder)


@contextmanager
def _started(
    what: str, folder: Path, environment: Mapping[str, str], *arguments: str, name: str = "master"
) -> Iterator[Path]:
    log = folder / f"{name}.log"
    run = [f"{environment['SPARK_HOME']}/bin/spark-class", f"org.apache.spark.deploy.{what}", "--webui-port", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen([*run, *arguments], env=dict(environment), stdout=file, stderr=subprocess.STDOUT)
        try:
            yield log
        finally:
            process.terminate()
            process.wait(timeout=60)


def _wait_for(log: Path, words: str) -> None:
    until = monotonic() + MAX_START_S
    while words not in log.read_text(errors="replace"):
        if monotonic() > until:
            raise AssertionError(f"{log.name} does not say {words!r} after {MAX_START_S} s:\n{log.read_text()[-2000:]}")
        sleep(0.1)


def _settings(folder: Path) -> Path:
    """The cluster's own settings: fewer pieces to group by than the 200 that are meant for large ones."""
    settings = folder / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 8\n")
    return settings


def _python_without_the_project(folder: Path) -> Path:
    """A Python that finds installed libraries but no project that is installed by a link, as ours is for tests."""
    libraries = os.pathsep.join(site.getsitepackages())
    script = folder / "python"
    # without `site`, Python does not read the files of links
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH{os.pathsep}{libraries}" exec "{sys.executable}" -S "$@"\n')
    script.chmod(0o755)
    found = subprocess.run([str(script), "-c", "import numpy, crowdveil"], capture_output=True, text=True, check=False)
    assert re.search("No module named 'crowdveil'", found.stderr), found.stderr
    return script


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])
