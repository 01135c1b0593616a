"""Define the settings of the server; the defaults suit one machine behind a proxy."""

from __future__ import annotations

from dataclasses import dataclass, fields

from crowdveil.errors import InputError

DAY_S = 24 * 3600
MAX_KEEP_DAYS = 36_500


@dataclass(frozen=True)
class ServerSettings:
    """Limits of the server: sizes, rates, queue lengths, and how long finished campaigns are kept."""

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
    """How long an announcement is cached, and a policy is taken to exist."""
    keep_days: int | None = None
    """Days after which a finished campaign is deleted; None: it is kept until an operator deletes it."""

    def __post_init__(self) -> None:
        if self.keep_days is not None and not (type(self.keep_days) is int and 1 <= self.keep_days <= MAX_KEEP_DAYS):
            raise InputError(
                "keep_days", self.keep_days, f"should be a whole number of days from 1 to {MAX_KEEP_DAYS:,}"
            )
        for setting in fields(self):
            if setting.name == "keep_days":
                continue
            value = getattr(self, setting.name)
            minimum = 0 if setting.name == "announcement_age_s" else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= minimum:
                raise InputError(setting.name, value, f"should be a number, at least {minimum}")


def delete_at(finished: int | None, keep_days: int | None) -> int | None:
    """Return when a campaign that was finished then is deleted, in seconds since 1970 (UTC); None: not by itself."""
    return None if finished is None or keep_days is None else finished + keep_days * DAY_S
