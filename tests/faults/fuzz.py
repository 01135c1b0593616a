"""Let schemathesis send valid and invalid requests to every operation: no 5xx, no undocumented answer.

    python -m tests.faults --only fuzz --examples 50

A server with campaigns in every state, operators of every role, and an owner's token. Requests are made from the
OpenAPI document, valid and not; half of them are turned to things that exist and plans that hold (`fuzz_hooks`), or
nearly all would end at the first check. Answers must have a status, a content type and a body that the document names.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from crowdveil.wire import CampaignPlan
from tests.faults.databases import PostgreSQL, scratch
from tests.faults.light_devices import Load, OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import HOST, ServerOptions, ServerProcesses, free_port, running
from tests.faults.table import ResultRow
from tests.town import square_town

PROMISE = "15 fuzzed API: no 5xx, no undocumented answer"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,ignored_auth,unsupported_method,only_the_paused_are_unavailable"
)
PHASES = "examples,coverage,fuzzing"
CONFIGURED = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
"""
"""A campaign that is paused answers 503; `fuzz_hooks` refuses any other reason for it."""
SETTINGS = {"failures_per_minute": 10**6, "requests_per_minute": 10**6}
"""Otherwise the operator is blocked after twenty wrong tokens, and every answer is 429."""
OPEN, DRAFT, PAUSED, FINISHED = "noise", "noise-draft", "noise-paused", "noise-finished"
MAX_TEXT = 1500
CASES = re.compile(r"(\d+) generated")


def run(
    where: str,
    postgresql: PostgreSQL,
    processes: ServerProcesses,
    *,
    examples: int,
    seed: int,
    variant: str = "",
) -> ResultRow:
    """Fuzz each operation with a number of examples."""
    row = ResultRow(PROMISE, where, 0, "requests")
    with scratch(where, postgresql) as (database, folder):
        token = new_operator(database)
        options = ServerOptions(database, free_port(), str(folder / "log"), settings=SETTINGS, variant=variant)
        with running(processes, options) as server:
            secret, tokens = asyncio.run(_prepare(options, token))
            _fuzz(row, options, token, secret, tokens, folder, examples, seed)
            server.terminate()
            row.expect(server.wait() == 0, f"the server ended with code {server.code}")
        for text in Path(options.log).read_text().splitlines():
            broke_down = '"event": "internal"' in text or '"event": "child-ended"' in text or "Traceback" in text
            row.expect(not broke_down, f"logged: {text[:MAX_TEXT]}")
    return row


def small_plan() -> CampaignPlan:
    """Make a plan with sixteen cells, so that rounds and previews take little time."""
    return plan(1000, 2, 500, square_town(4), targets=(5, 10))


async def _prepare(options: ServerOptions, token: str) -> tuple[str, list[str]]:
    """Create campaigns in every state, and operators; return a participant's secret, and ids of operators' tokens."""
    operator = OperatorConnection(lambda: options.port, token)
    new = small_plan()
    for campaign in (OPEN, PAUSED, FINISHED):
        await operator.open(campaign, new.to_bytes())
    await operator("PUT", f"/campaigns/{DRAFT}", new.to_bytes())
    load = Load([options.port], (OPEN, FINISHED), random.Random(1))
    await load.run(4, 40)
    await operator.close(FINISHED)
    await operator("PUT", f"/campaigns/{PAUSED}/state", b'{"protocol": 1, "state": "paused"}')
    tokens = []
    for name, role in (("ann", b"planner"), ("bob", b"viewer")):
        await operator("PUT", f"/operators/{name}", b'{"protocol": 1, "role": "%s"}' % role)
        for days in (b"1", b"null"):
            made = await operator("POST", f"/operators/{name}/tokens", b'{"protocol": 1, "days": %s}' % days)
            tokens.append(json.loads(made)["id"])
        await operator("PUT", f"/campaigns/{OPEN}/shares/{name}")
    operator.disconnect()
    return next(one.secret for one in load.devices if one.campaign == OPEN), tokens


def _fuzz(
    row: ResultRow,
    options: ServerOptions,
    token: str,
    secret: str,
    tokens: list[str],
    folder: Path,
    examples: int,
    seed: int,
) -> None:
    report = folder / "report.ndjson"
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.faults.fuzz_hooks",
        "FUZZ_PLAN": small_plan().to_bytes().decode(),
        "FUZZ_SECRET": secret,
        "FUZZ_TOKEN": token,
        "FUZZ_TOKENS": " ".join(tokens),
        "PYTHONPATH": os.pathsep.join([".", *sys.path[:1]]),
    }
    configured = folder / "schemathesis.toml"
    configured.write_text(CONFIGURED)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--no-color"]
    command += ["--config-file", str(configured), "run"]
    command += [f"http://{HOST}:{options.port}/openapi.json", "-H", f"Authorization: Bearer {token}"]
    command += ["--checks", CHECKS, "--phases", PHASES, "--max-examples", str(examples), "--seed", str(seed)]
    command += ["--workers", "1", "--no-shrink", "--warnings", "off", "--continue-on-failure"]
    command += [
        "--report",
        "ndjson",
        "--report-ndjson-path",
        str(report),
        "--suppress-health-check",
        "all",
        "--request-timeout",
        "70",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    (folder / "out").write_text(done.stdout + done.stderr)
    found = CASES.findall(done.stdout)
    row.trials = int(found[-1]) if found else 0
    if done.returncode != 0 or not row.trials:
        blocks = re.split(r"\n(?=_{5,} )", done.stdout)
        row.failures += [block.strip()[:MAX_TEXT] for block in blocks[1:]] or [
            done.stdout[-3000:] + done.stderr[-2000:]
        ]
