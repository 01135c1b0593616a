"""Move a ledger to another device, as a JSON file that programs in every language read and write alike.

    {"format": "crowdveil-ledger", "version": 1,
     "events": [[number, server_key, campaign, report, kind, body, digest], ...],     body as text, as it was hashed
     "pending": [[server_key, campaign, report, terms_hash, cell, grade], ...],
     "excluded": [[latitude, longitude, radius_km], ...],
     "head": [number, digest]}

The last event says that the device of origin is retired. A file without it is refused: it could be a copy of a ledger
that is still in use. That a file is imported on two devices cannot be prevented without a third party; the file should
be deleted after it was imported.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Self

from crowdveil.client.events import LedgerEvent, ReportKey, read_events
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.ledger_file import VERSION, sync_folder
from crowdveil.codec import canonical_json, parse_json, read_text
from crowdveil.errors import CrowdveilError, FileFormatError
from crowdveil.profile.place import Place

FORMAT = "crowdveil-ledger"
FIELDS = {"format", "version", "events", "pending", "excluded", "head"}


@dataclass(frozen=True)
class PendingPlace:
    """The place of a report that was picked and not drawn from yet."""

    key: ReportKey
    terms_hash: str
    place: Place

    def row(self) -> tuple[str, str, int, str, int, int]:
        """Return the place as a row of the table."""
        return *self.key, self.terms_hash, *self.place


@dataclass(frozen=True)
class TransferredLedger:
    """All that a ledger holds, on its way from one device to another."""

    events: Sequence[LedgerEvent]
    pending: Sequence[PendingPlace]
    excluded: Sequence[ExcludedPlace]

    def to_json(self) -> str:
        """Return the text of the file."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "events": [event.row() for event in self.events],
            "pending": [one.row() for one in self.pending],
            "excluded": [astuple(place) for place in self.excluded],
            "head": [self.events[-1].number, self.events[-1].digest],
        }
        return canonical_json(document) + "\n"

    @classmethod
    def read(cls, file: str | Path) -> Self:
        """Read a file and check everything in it; one clear refusal if it is not what was exported."""
        try:
            return cls._of(parse_json(read_text(file), "ledger"))
        except FileFormatError as error:
            raise FileFormatError(f"{file}: {str(error).removeprefix(f'{file}: ')}") from None
        except (CrowdveilError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise FileFormatError(f"{file}: the exported ledger was altered or truncated ({error})") from None

    @classmethod
    def _of(cls, document: Any) -> Self:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FileFormatError("is not an exported ledger")
        if document.get("version") != VERSION:
            raise FileFormatError(
                f"was exported by another version (its version is {document.get('version')!r}, this program's "
                f"{VERSION}); import it with that one"
            )
        if set(document) != FIELDS:
            raise FileFormatError(f"should have exactly the fields {', '.join(sorted(FIELDS))}")
        events = read_events(document["events"], document["head"])
        if events[-1].kind != "retired":
            raise FileFormatError(
                "the device that exported this ledger is not retired, so that both could answer; export it again"
            )
        pending = [
            PendingPlace(ReportKey(key, campaign, report), terms_hash, Place(cell, grade))
            for key, campaign, report, terms_hash, cell, grade in document["pending"]
        ]
        return cls(events, pending, [ExcludedPlace(*place) for place in document["excluded"]])


def write_transfer(file: Path, retire: Callable[[], TransferredLedger]) -> None:
    """Write an export: reserve a file first, so that a full disk is found in time; then retire, then write.

    `retire` marks the ledger as moved and returns its content; whatever fails later can be repeated.
    """
    draft = None
    try:
        if file.exists():
            raise FileFormatError(f"{file}: exists already; export to a new file")
        handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        draft = Path(name)
        with os.fdopen(handle, "wb") as out:
            out.write(retire().to_json().encode())
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, file)
        sync_folder(file)
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be written ({error.strerror or error}); export again") from None
    finally:
        if draft is not None:
            draft.unlink()
