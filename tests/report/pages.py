"""What a page shows, read back from its HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Element:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.inside)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """All elements in it of a tag, with these attributes."""
        found = []
        for one in self.inside:
            if isinstance(one, Element):
                fits = all(
                    one.attributes.get(name.rstrip("_")) == value for name, value in attributes.items()
                )
                found += [one] if fits and tag in ("", one.tag) else []
                found += one.all(tag, **attributes)
        return found

    def first(self, tag: str = "", **attributes: str) -> Element:
        """The first of them."""
        return self.all(tag, **attributes)[0]


class Reader(HTMLParser):
    """Makes elements of HTML."""

    EMPTY = ("meta", "wbr", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.path = [self.root]

    def handle_starttag(self, tag, attrs):
        """Opens one."""
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.path[-1].inside.append(made)
        if tag not in self.EMPTY:
            self.path.append(made)

    def handle_startendtag(self, tag, attrs):
        """One without anything in it."""
        self.path[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        """Closes one: the innermost, or the page is not well formed."""
        assert self.path[-1].tag == tag, f"</{tag}> closes <{self.path[-1].tag}>"
        self.path.pop()

    def handle_data(self, data):
        """Text."""
        self.path[-1].inside.append(data)


def read(page: str) -> Element:
    """The page as elements; fails where it is not well formed."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.path) == 1, [one.tag for one in reader.path]
    return reader.root


def table(figure: Element) -> list[list[str]]:
    """The cells of the rows of a figure's table."""
    [body] = figure.all("tbody")
    return [[cell.text for cell in row.all("td")] for row in body.all("tr")]


def sql(page: Element, number: int) -> str:
    """The query of a figure, as the appendix has it."""
    return page.first(id=f"sql-{number}").first("pre").text
