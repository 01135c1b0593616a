"""Give the messages as JSON Schema, for the server's OpenAPI document and for programs in other languages."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from crowdveil.wire.message import Message


def wire_messages() -> list[type[Message]]:
    """Return every kind of message; what other rooms define to read files of their own is none."""
    return [one for one in Message.__subclasses__() if one.__module__.startswith("crowdveil.wire.")]


def json_schemas() -> dict[str, Any]:
    """Return the schema of every message, by name, with references as in an OpenAPI document."""
    messages = [(one, "validation") for one in wire_messages()]
    _, known = models_json_schema(messages, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    found: dict[str, Any] = known["$defs"]
    return found
