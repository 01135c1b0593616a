"""Write an executed notebook as Markdown, for the site."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

from examples.tools.notebooks import page_name

TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LOOK = re.compile(r"<style.*?</style>|(?<=<table) [^>]*|(?<=<tr) style=[^>]*", re.DOTALL)
"""How frames would look in a notebook; on the site they look like its other tables."""
PRINTED = 'text title="Output"'
LINK = re.compile(r"\]\((?:\.\./\.\./examples/)?(\w+)\.py\)")


def link_pages(markdown: str) -> str:
    """Turn links to notebooks, from a notebook or from `docs/examples/index.md`, into links to their pages."""
    return LINK.sub(lambda found: f"]({page_name(found[1]).removeprefix('examples/')})", markdown)


def page_of(document: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """Write an executed notebook as Markdown; its pictures are put into `pictures`, by the names of their files."""
    parts = []
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../"))
            continue
        parts.append(_fenced("python", source))
        alt = cell["metadata"].get("alt", "")
        parts += [_shown(output, alt, name, pictures) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: dict[str, Any], alt: str, name: str, pictures: dict[str, bytes]) -> str:
    """Write one output, in the richest form that a page can show."""
    if output["output_type"] == "stream":
        return _fenced(PRINTED, TERMINAL_COLOURS.sub("", "".join(output["text"])))
    data = output["data"]
    if "text/html" in data:
        # Markdown leaves HTML alone up to the end of its outermost element.
        return f"<div>\n{LOOK.sub('', ''.join(data['text/html']))}\n</div>"
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = b64decode("".join(data["image/png"]))
        return f'![{alt}]({file}){{ width="760" }}'
    return _fenced(PRINTED, "".join(data["text/plain"]))


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
