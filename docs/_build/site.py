"""What MkDocs adds to docs/: the pages that lie outside of it, and links that lead to them.

In: README.md, CONTRIBUTING.md and the like, as GitHub shows them. Out: pages of the site. Links to other files of
the repository become text, since the site does not hold these.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/RESULTS.md",
}
"""Pages of the site that lie elsewhere in the repository."""

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside."""
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    del config
    here = page.file.src_uri
    source = OUTSIDE.get(here, f"docs/{here}")
    pages = {path: uri for uri, path in OUTSIDE.items()}

    def link(match: re.Match[str]) -> str:
        picture, text, path, anchor = match[1], match[2], match[3], match[4] or ""
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        uri = pages.get(target) or target.removeprefix("docs/")
        if target not in pages and not (target.startswith("docs/") and files.get_file_from_path(uri)):
            # A broken link stays as it is: MkDocs warns of it.
            return text if (ROOT / target).exists() else match[0]
        return f"{picture}[{text}]({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{anchor})"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show `a | b` in the code of tables as GitHub does: Python-Markdown leaves the backslash before the bar."""
    del page, config, files
    return re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("\\|", "|"), html)
