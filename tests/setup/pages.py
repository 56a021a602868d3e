"""What the tests of the documentation ask of a Markdown page: its headings, its sections, its links."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HEADING = re.compile(r"#{1,6} +(.+?) *#*$")
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]: +(\S+)$")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and Python-Markdown make it.

    >>> slug("What `audit purge` deletes, and when")
    'what-audit-purge-deletes-and-when'
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def prose(page: Path) -> list[str]:
    """The lines of a page outside code blocks."""
    lines, fenced = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


@cache
def sections(page: Path) -> dict[str, str]:
    """The text under each heading, up to the next one, with white space folded; by anchor."""
    found, anchor = {"": ""}, ""
    for line in prose(page):
        if heading := HEADING.match(line):
            name = slug(heading[1])
            anchor, again = name, 0
            while anchor in found:
                again += 1
                anchor = f"{name}_{again}"
            found[anchor] = ""
        else:
            found[anchor] += " ".join(line.split()) + " "
    return found


def links(page: Path) -> list[str]:
    """The targets of all links and pictures of a page."""
    found = []
    for line in prose(page):
        bare = re.sub(r"``.+?``|`[^`]*`", "", line)
        found += LINK.findall(bare) + REFERENCE.findall(bare)
    return found
