"""Mirrors src/crowdveil/profile."""  # noqa: A005 (nobody imports it as `profile`)
