"""Define what all messages share: strict reading, the canonical form, and the types of their fields.

Both sides hash canonical bytes (a receipt's digest, the terms of a campaign). What is hashed holds only text and whole
numbers, because programs in other languages write real numbers differently: `real_digits` makes text of them.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from crowdveil.codec import canonical_json, parse_json
from crowdveil.errors import FileFormatError, InputError

PROTOCOL: Final = 1
POLICY_MEDIA_TYPE = "application/vnd.crowdveil.policy"
MAX_WHOLE = 2**53 - 1
"""The largest whole number that every language's JSON reads exactly."""
MAX_OFFER_BYTES = 3000
"""Largest size of an offer as JSON text, so that it fits into a status of fixed size."""


def _plain_json(value: dict[str, Any]) -> dict[str, Any]:
    """Accept only text, whole numbers, lists and objects: what `Area.describe` gives, and all languages hash alike."""
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, bool) or not isinstance(one, str | int):
            raise ValueError(f"contains {one!r}; should contain only text, whole numbers, lists and objects")
    return value


def _short_enough(offer: str) -> str:
    size = len(canonical_json(offer))
    if size > MAX_OFFER_BYTES:
        raise ValueError(f"takes {size:,} bytes as JSON; should take at most {MAX_OFFER_BYTES:,}")
    return offer


def _known_protocol(number: int) -> int:
    if number != PROTOCOL:
        raise ValueError(f"should be {PROTOCOL}, the only version this program supports")
    return number


Item = TypeVar("Item")
Many = Annotated[tuple[Item, ...], Strict(False)]
"""A list in JSON, a tuple in Python; its items are read strictly."""
Protocol = Annotated[int, AfterValidator(_known_protocol), Field(json_schema_extra={"const": PROTOCOL})]
Whole = Annotated[int, Field(ge=0, le=MAX_WHOLE)]
Positive = Annotated[int, Field(ge=1, le=MAX_WHOLE)]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 in hex")]
PublicKey = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="Ed25519 public key in hex")]
Signature = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$", description="Ed25519 signature in hex")]
Seed = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="256 bits in hex")]
CAMPAIGN_ID = r"^[a-z0-9][a-z0-9-]{0,62}$"
CAMPAIGN_ID_EXPECTED = "should be small letters, digits and - (at most 63), such as coffee"
CampaignId = Annotated[str, Field(pattern=CAMPAIGN_ID)]
OPERATOR_NAME_EXPECTED = "should be small letters, digits and - (at most 63), such as ann"
OperatorName = Annotated[str, Field(pattern=CAMPAIGN_ID)]
"""The names of operators are of the same form as the ids of campaigns."""
INVISIBLE = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Control characters beyond ASCII, other line breaks, and marks that turn the direction of what follows: with them the
name of a campaign could forge or reorder the sentences around it."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=rf"^[^\x00-\x1f{INVISIBLE}]+$")]
OfferText = Annotated[
    str,
    Field(min_length=1, max_length=MAX_OFFER_BYTES, pattern=rf"^[^\x00-\x09\x0b-\x1f{INVISIBLE}]+$"),
    AfterValidator(_short_enough),
]
AreaObject = Annotated[dict[str, Any], AfterValidator(_plain_json), Field(description="as Area.describe() gives")]
Targets = Annotated[tuple[Whole, ...], Strict(False), Field(min_length=1)]
TargetNames = Annotated[tuple[Name, ...], Strict(False), Field(min_length=1)]
"""What the targets are called, in their order."""
Secret = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")]


class Message(BaseModel):
    """A frozen value that refuses unknown fields and does not convert types.

    The fields of a `plain` message are whole numbers, and texts that JSON writes as they are. Its canonical form is a
    template with these fields, which takes a fraction of the time; every report and its receipt need it.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    plain: ClassVar[bool] = False
    _template: ClassVar[str | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        if cls.plain:
            fields = sorted(cls.model_fields.items())
            parts = (
                f'"{name}":' + (f"%({name})d" if one.annotation is int else f'"%({name})s"') for name, one in fields
            )
            cls._template = f"{{{','.join(parts)}}}"

    def to_bytes(self) -> bytes:
        """Return the canonical form: sorted keys, no spaces, ASCII."""
        if self._template is not None:
            return (self._template % self.__dict__).encode("ascii")
        return canonical_json(self.model_dump(mode="json")).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a message from JSON; raise an InputError that names the field if it is not valid."""
        try:
            document = parse_json(data.decode("utf-8"), cls.__name__)
        except (UnicodeDecodeError, FileFormatError) as error:
            raise InputError("body", data[:40], f"should be JSON in UTF-8 ({error})") from None
        if not isinstance(document, dict):
            raise InputError("body", document, "should be a JSON object")
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise first_error(error.errors(include_url=False)) from None


def first_error(errors: Sequence[Mapping[str, Any]]) -> InputError:
    """Turn the first of pydantic's errors into an InputError: field, value, and what would be right."""
    one = errors[0]
    field = ".".join(str(part) for part in one["loc"]) or "fields"
    if one["type"] == "missing":
        return InputError(field, None, "is missing")
    if one["type"] == "extra_forbidden":
        return InputError(field, one["input"], "is not a field of this message")
    if one.get("ctx", {}).get("pattern") == CAMPAIGN_ID:
        named = field.rpartition(".")[2] in ("name", "operator")
        return InputError(field, one["input"], OPERATOR_NAME_EXPECTED if named else CAMPAIGN_ID_EXPECTED)
    said = re.sub(r"^(Input|String|List|Tuple) should", "should", str(one["msg"]).removeprefix("Value error, "))
    return InputError(field, one["input"], said)


def policy_etag(policy_hash: str) -> str:
    """Return the ETag of a policy's bytes: its hash, quoted."""
    return f'"{policy_hash}"'


def secret_digest(secret: str) -> str:
    """Return the hash of a secret (a device's, an operator's token, a lottery's seed): SHA-256 of its text, in hex.

    A server stores devices' and operators' secrets only under it. Secrets have 256 random bits, so a plain hash cannot
    be reversed by guessing. There is no salt, because the server looks secrets up by their hash.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


MAX_SELECTIONS = 1000
"""A panel answers at most so many selections."""


def selection_seed(last: str, number: int, selections: int) -> str:
    """Return the seed of a selection's lottery, where `last` is that of the last of so many selections.

    Each seed is the hash of the next one. So the hash of the first, announced before the first report, fixes all of
    them, and a published seed says nothing about those that follow to anyone who does not know the last one; the
    operator does.
    """
    for _ in range(selections - 1 - number):
        last = secret_digest(last)
    return last


def real_digits(number: float) -> str:
    """Return the 16 hexadecimal digits of a real number's IEEE double, which every language writes alike."""
    return struct.pack(">d", number).hex()
