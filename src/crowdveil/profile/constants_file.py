"""Read and write files with the constants of the logistic profile: `crowdveil fit`, `campaign create --constants`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.profile.logistic import LogisticConstants
from crowdveil.vocabulary import PROFILE_CONSTANTS, Period

FORMAT, VERSION = "crowdveil-profile-constants", 1


def describe_constants(constants: LogisticConstants, fitted_on: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file of constants holds: the constants to four decimals, and what they were fitted on."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "period": constants.period,
        "constants": [round(one, 4) for one in constants.values],
        "fitted_on": dict(fitted_on),
    }


def read_constants(path: Path, period: Period) -> LogisticConstants:
    """Read the constants from a file, for weeks or for days."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind, version = document["format"], document["version"]
        constants = LogisticConstants(document["period"], tuple(map(float, document["constants"])))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, LookupError, TypeError, CrowdveilError) as error:
        what = f"should hold {PROFILE_CONSTANTS} constants, as `crowdveil fit` writes them ({error})"
        raise FileFormatError(f"{path}: {what}") from None
    if (kind, version) != (FORMAT, VERSION):
        raise FileFormatError(f"{path}: format {kind!r}, version {version!r}: should be {FORMAT!r}, version {VERSION}")
    if constants.period != period:
        raise InputError("constants", str(path), f"are for a {constants.period}; the campaign predicts a {period}")
    return constants
