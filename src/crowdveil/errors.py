"""Define every exception of the project, in one tree.

    CrowdveilError            the caller can fix this; the command line prints it and exits with 2
    ├── InputError            a value given to the library: names the field, the value and what would be right
    ├── FileFormatError       a file that is truncated, altered or not one of ours
    ├── MissingExtraError     a part of the project that is not installed; names the extra to install
    ├── NotPrivateError       a draw from a policy without a valid certificate
    ├── CampaignRefused       a device does not take part in a campaign, and why
    │   ├── InviteNeeded      the campaign is for people with an invite, and the device was given none
    │   ├── OutsideLimits     the campaign asks for more than the owner's limits allow
    │   │   └── LimitReached  the owner's limit for all campaigns together does not allow another one like this
    │   ├── OwnerDeclined     the device's owner was asked and said no
    │   ├── NoOpenRound       no round is open at the moment; asking again later may succeed
    │   └── ServerRefused     the server refused permanently, with the kind and detail of its problem document
    ├── ServerUnreachable     no readable answer came; trying again later is safe
    ├── StoreError            the database cannot be opened or written to; nothing was stored
    └── EngineError           DuckDB or Spark gave up; finished parts are kept

Each is a ValueError, so that callers who know nothing of this tree catch it too.

`server.refusals.RequestRefused` is not part of the tree: it is an HTTP answer that never leaves the server as an
exception, and a client raises `ServerRefused` for it.
"""

from __future__ import annotations


class CrowdveilError(ValueError):
    """Base of every error that a caller can fix."""

    figures: str = ""
    """The exact numbers behind a message that is written for participants; empty for all other errors."""


class InputError(CrowdveilError):
    """A value that cannot be used: `field = value: what would be right`."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        super().__init__(f"{field} = {shown}: {expected}")
        self.field = field
        self.value = value
        self.shown = shown
        self.expected = expected

    def __reduce__(self) -> tuple[type[InputError], tuple[str, object, str]]:
        """Keep all fields when the error is sent to another process."""
        return type(self), (self.field, self.value, self.expected)


class FileFormatError(CrowdveilError):
    """A file that cannot be read as what it claims to be."""


class MissingExtraError(CrowdveilError, ImportError):
    """A part of the project whose libraries are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra `{extra}`: pip install 'crowdveil[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        """Keep all fields when the error is sent to another process."""
        return type(self), (self.what, self.extra)


class NotPrivateError(CrowdveilError):
    """A draw from a policy without a valid certificate; `figures` may hold the exact numbers."""

    def __init__(self, message: str, figures: str = "") -> None:
        super().__init__(message)
        self.figures = figures

    def __reduce__(self) -> tuple[type[NotPrivateError], tuple[str, str]]:
        """Keep all fields when the error is sent to another process."""
        return type(self), (str(self), self.figures)


class CampaignRefused(CrowdveilError):
    """A device does not take part: its limits, its owner or the server said no.

    The message is for the participant; `figures` holds the exact numbers, or nothing where there are none.
    """

    def __init__(self, message: str, figures: str = "") -> None:
        super().__init__(message)
        self.figures = figures

    def __reduce__(self) -> tuple[type[CampaignRefused], tuple[str, ...]]:
        """Keep all fields when the error is sent to another process."""
        return type(self), (str(self), self.figures)


class InviteNeeded(CampaignRefused):
    """The campaign is for people with an invite, and the device was given none."""


class OutsideLimits(CampaignRefused):
    """The campaign asks for more than the limits of the device's owner allow."""


class LimitReached(OutsideLimits):
    """The owner's limit for all campaigns together does not allow another one like this."""


class OwnerDeclined(CampaignRefused):
    """The device's owner was asked and said no; nothing was sent."""


class NoOpenRound(CampaignRefused):
    """No round is open at the moment; asking again later may succeed."""


class ServerRefused(CampaignRefused):
    """The server refused permanently, in the words of its problem document."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"the server refused ({kind}): {detail}")
        self.kind = kind
        self.detail = detail

    def __reduce__(self) -> tuple[type[ServerRefused], tuple[str, ...]]:
        """Keep all fields when the error is sent to another process."""
        return type(self), (self.kind, self.detail)


class ServerUnreachable(CrowdveilError):
    """No answer came, or none that can be read; what was drawn is kept and will be sent again unchanged."""


class StoreError(CrowdveilError):
    """The database refused; nothing of what was asked is stored, and the same may be asked again."""


class EngineError(CrowdveilError):
    """The batch engine gave up; finished parts are kept, and running the same again continues from there."""
