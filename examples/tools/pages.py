"""Show the executed notebooks as pages of the site, when MkDocs builds it.

The pages are made in memory: nothing is written into `docs/`, and the site needs none of the notebooks' packages. Each
page also offers its notebook, with outputs, for downloading.

Notebooks and `docs/examples/index.md` link to files of the repository, so that their links also work outside of the
site. Here they become links between pages.
"""

from __future__ import annotations

import json
from typing import Any

from examples.tools.markdown import link_pages, page_of
from examples.tools.notebooks import NOTEBOOKS, executed, page_name
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page, its pictures and its notebook for each example."""
    for notebook in NOTEBOOKS:
        path = executed(notebook)
        if not path.exists():
            raise PluginError(f"{notebook.name} has not been executed: run `make examples` first")
        text = path.read_text(encoding="utf-8")
        page = page_name(notebook.stem)
        pictures: dict[str, bytes] = {}
        made = page_of(json.loads(text), page.removeprefix("examples/").removesuffix(".md"), pictures)
        made += f"\n[This notebook, with its outputs]({path.name}){{ download }}\n"
        files.append(File.generated(config, page, content=made))
        files.append(File.generated(config, f"examples/{path.name}", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"examples/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to notebooks into links to their pages."""
    return link_pages(markdown)
