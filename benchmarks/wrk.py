"""Send requests with wrk, a load generator in C; each device is a line of a Lua script with a token of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

DEVICES = 64
SECRET = "device-%08d"
"""Of the device of a number."""
SCRIPT = """
local kind, first, campaign, policy_hash, symbols, digests
local number, lines

function init(args)
  kind, number, campaign, policy_hash, symbols = args[1], tonumber(args[2]), args[3], args[4], tonumber(args[5])
  if kind == "seats" then lines = io.lines(args[6]) end
end

local function sent(method, what, token, body)
  return string.format(
    "%s /v1/campaigns/%s/%s HTTP/1.1\\r\\nhost: localhost\\r\\n%scontent-type: application/json\\r\\n" ..
    "content-length: %d\\r\\n\\r\\n%s", method, campaign, what, token, #body, body)
end

function request()
  local device = number
  number = number + 1
  if kind == "seats" then
    return sent("POST", "seats", "", '{"protocol":1,"secret_digest":"' .. lines() .. '"}')
  elseif kind == "reports" then
    local body = string.format(
      '{"policy_hash":"%s","protocol":1,"round":0,"symbol":"%08d"}', policy_hash, device % symbols)
    return sent("PUT", "report", string.format("authorization: Bearer device-%08d\\r\\n", device), body)
  end
  return "GET /v1/ping HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n"
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'RESULT {"requests": %d, "seconds": %f, "refused": %d, "lost": %d, "median_ms": %f, "p99_ms": %f, "max_ms": %f}',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
"""


@dataclass(frozen=True)
class Block:
    """What wrk counted in a stretch of requests of one kind; all of them were answered with success."""

    requests: int
    seconds: float
    refused: int
    lost: int
    median_ms: float
    p99_ms: float
    max_ms: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def digest(device: int) -> str:
    """The digest of a device's secret."""
    return sha256((SECRET % device).encode()).hexdigest()


class Wrk:
    """wrk on some cores, with a script in a folder."""

    def __init__(self, folder: Path, cores: Collection[int]) -> None:
        found = shutil.which("wrk")
        if found is None:
            raise FileNotFoundError("wrk is not installed: install the package wrk")
        self._folder = folder
        self._script = folder / "devices.lua"
        self._script.write_text(SCRIPT, encoding="ascii")
        self._command = ["taskset", "-c", ",".join(map(str, cores)), found, "-t1", f"-c{DEVICES}"]

    def block(
        self,
        port: int,
        kind: str,
        *,
        seconds: int = 1,
        first: int = 0,
        campaign: str = "none",
        policy_hash: str = "none",
        symbols: int = 1,
        at_most: int = 0,
    ) -> Block:
        """Send requests for some seconds, for devices from the first one on; anything but success is an error.

        `at_most` is how many devices there are for seats and reports.
        """
        digests = self._folder / "digests"
        if kind == "seats":
            digests.write_text("".join(f"{digest(one)}\n" for one in range(first, first + at_most)), encoding="ascii")
        given = [kind, first, campaign, policy_hash, symbols, digests]
        command = [*self._command, f"-d{seconds}s", "-s", str(self._script), f"http://127.0.0.1:{port}", "--"]
        done = subprocess.run([*command, *map(str, given)], capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            raise RuntimeError(f"wrk failed: {done.stdout[-500:]} {done.stderr[-500:]}")
        found = Block(**json.loads(lines[0].removeprefix("RESULT ")))
        if found.refused or found.lost or found.requests == 0:
            raise RuntimeError(f"{kind}: {found}")
        if kind in ("seats", "reports") and found.requests + 2 * DEVICES > at_most:
            raise RuntimeError(f"{kind}: {at_most} devices are not enough for {seconds} s: {found}")
        return found
