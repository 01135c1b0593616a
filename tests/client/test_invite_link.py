"""Invite links of both forms are read back as they were written; anything else is refused."""

from __future__ import annotations

import pytest

import crowdveil as cv
from crowdveil.client import InviteLink

KEY, TERMS, POLICY = "a" * 64, "b" * 64, "c" * 64


@pytest.mark.parametrize("server", ["https://crowd.example.org", "https://x.org/join/crowd", "http://127.0.0.1:8765"])
@pytest.mark.parametrize("invite", [None, "", "card", "a b&c=d#e/f"])
@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize("page", [None, "https://page.example.net/", "file:///home/me/page/index.html"])
def test_a_link_is_read_as_it_was_written(
    server: str, invite: str | None, policy: str | None, page: str | None
) -> None:
    link = InviteLink(server, "noise-map", invite, KEY, TERMS, policy)
    assert InviteLink.parse(link.format(page)) == link


def test_the_forms_are_those_that_pages_read() -> None:
    link = InviteLink("https://crowd.example.org", "noise-map", "card", KEY, TERMS, POLICY)
    fields = f"invite=card&key={KEY}&terms={TERMS}&policy={POLICY}"
    assert link.format() == f"https://crowd.example.org/join/noise-map#{fields}"
    elsewhere = f"https://page.example.net/#server=https://crowd.example.org&campaign=noise-map&{fields}"
    assert link.format("https://page.example.net/") == elsewhere


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noise-map",
        "https://crowd.example.org/join/noise-map",
        f"https://crowd.example.org/noise-map#key={KEY}&terms={TERMS}",
        f"https://crowd.example.org/join/Noise#key={KEY}&terms={TERMS}",
        f"https://crowd.example.org/join/noise#key={KEY}",
        f"https://crowd.example.org/join/noise#terms={TERMS}",
        f"https://crowd.example.org/join/noise#key={KEY.upper()}&terms={TERMS}",
        f"https://crowd.example.org/join/noise#key={KEY}&terms={TERMS}&policy=1",
        f"https://crowd.example.org/join/noise#key={KEY}&key={KEY}&terms={TERMS}",
        f"https://crowd.example.org/join/noise#key={KEY}&terms={TERMS}&more=1",
        f"https://crowd.example.org/join/noise#key={KEY}&&terms={TERMS}",
        f"https://page.example.net/#server=https://crowd.example.org&key={KEY}&terms={TERMS}",
        f"https://page.example.net/#server=http://crowd.example.org&campaign=noise&key={KEY}&terms={TERMS}",
        f"http://crowd.example.org/join/noise#key={KEY}&terms={TERMS}",
    ],
)
def test_what_is_no_link_is_refused(text: str) -> None:
    with pytest.raises(cv.InputError, match=r"link|url"):
        InviteLink.parse(text)


INCOMPLETE = "the link is incomplete: copy all of it$"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "https://crowd.example.org/join/noise#key",
            f"link = 'https://crowd.example.org/join/noise#key': {INCOMPLETE}",
        ),
        ("https://crowd.example.org/noise", "link = 'https://crowd.example.org/noise': should be an invite link such"),
        (f"https://crowd.example.org/join/noise#terms={TERMS}", f"link key = '': {INCOMPLETE}"),
        (f"https://crowd.example.org/join/noise#key={KEY}", f"link terms = '': {INCOMPLETE}"),
        (f"https://crowd.example.org/join/noise#key={KEY}&terms={TERMS}&policy=1", f"link policy = '1': {INCOMPLETE}"),
    ],
)
def test_a_refusal_names_what_is_missing(text: str, said: str) -> None:
    with pytest.raises(cv.InputError, match=f"^{said}"):
        InviteLink.parse(text)


def test_the_address_of_the_server_has_no_final_slash() -> None:
    assert InviteLink("https://crowd.example.org/", "noise", None, KEY, TERMS).server == "https://crowd.example.org"
