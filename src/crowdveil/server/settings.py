"""Define the settings of the server; the defaults suit one machine behind a proxy."""

from __future__ import annotations

from dataclasses import dataclass, fields

from crowdveil.errors import InputError


@dataclass(frozen=True)
class ServerSettings:
    """Limits of the server: sizes, rates and queue lengths."""

    body_bytes: int = 65_536
    """Largest body of a request by a device."""
    operator_body_bytes: int = 8 << 20
    """Largest body of a request by an operator, whose area may be a list of towers."""
    requests_per_minute: int = 600
    """Largest number of requests from one address; requests from this machine are not limited."""
    failures_per_minute: int = 20
    """Largest number of wrong tokens from one address; those from this machine are not counted."""
    seats_per_address: int = 20
    """Largest number of seats from one address in an open campaign; those from this machine are not counted."""
    request_s: float = 10.0
    """How long a request may take to arrive; every 8 kB that it brings add a second."""
    commit_reports: int = 512
    """Largest number of seats and reports in one commit."""
    max_queue_length: int = 5_000
    """Largest number of seats and reports waiting for a commit; further requests are answered with 503."""
    announcement_age_s: float = 0.25
    """How long an announcement is cached."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            minimum = 0 if setting.name == "announcement_age_s" else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= minimum:
                raise InputError(setting.name, value, f"should be a number, at least {minimum}")
