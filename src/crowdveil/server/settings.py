"""What an operator of the server may set; the defaults suit one machine behind a proxy."""

from __future__ import annotations

from dataclasses import dataclass, fields

from crowdveil.errors import InputError


@dataclass(frozen=True)
class ServerSettings:
    """Limits of the server."""

    body_bytes: int = 65_536
    """Largest request of anyone."""
    operator_body_bytes: int = 8 << 20
    """Largest request of a signed-in operator, whose area may be a list of towers."""
    requests_per_minute: int = 600
    """From one address; requests from this very machine are not limited."""
    failures_per_minute: int = 20
    """Wrong tokens from one address; this machine's are not counted."""
    commit_reports: int = 512
    """Most seats and reports in one commit."""
    waiting: int = 5_000
    """Most seats and reports that wait for a commit; who comes then is asked to come back."""
    announcement_age_s: float = 0.25
    """How old an announcement may be that is given out without looking again."""

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            least = 0 if setting.name == "announcement_age_s" else 1
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
                raise InputError(setting.name, value, f"should be a number, at least {least}")
