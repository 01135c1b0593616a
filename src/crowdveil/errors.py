"""What can go wrong, as people are told about it.

    CrowdveilError            the caller can mend this; the command line prints it and exits with 2
    ├── InputError            a value given to the library: names the field, the value and what would be right
    ├── FileFormatError       a file that is truncated, altered or not one of ours
    ├── NotPrivateError       a report was asked from a policy that no certificate vouches for
    ├── Refusal               a device, or the server it asked, will not go on with a campaign, and why
    ├── NoAnswerError         the server could not be reached; trying again later is safe
    └── StoreError            the database cannot be opened, or cannot store at the moment; nothing was stored

Each is a ValueError, so that callers who know nothing of this tree catch it too.
"""

from __future__ import annotations


class CrowdveilError(ValueError):
    """Base of every error a caller can mend."""


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
        """Errors travel whole between processes."""
        return type(self), (self.field, self.value, self.expected)


class FileFormatError(CrowdveilError):
    """A file that cannot be read as what it claims to be."""


class NotPrivateError(CrowdveilError):
    """A draw from a policy without a valid certificate was refused."""


class CampaignRefused(CrowdveilError):
    """A campaign was declined, by the device's own caps, its user, or the server."""


class ServerUnreachable(CrowdveilError):
    """No answer came, or none that can be understood; what was drawn is kept and will be sent again unchanged."""


class StoreError(CrowdveilError):
    """The database refused; nothing of what was asked is stored, and the same may be asked again."""
