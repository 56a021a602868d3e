"""What a report is made of: figures in sections.

In: nothing. Out: frozen values. `audit.report.kinds` has them, `audit.report.answers` asks for their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.report.binding import Value
from audit.report.period import Period

if TYPE_CHECKING:
    from audit.query.answer import Answer
    from audit.query.tables import Tables


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below each other; `is_wide`: on paper they need a page that lies on its side."""

    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The columns of the one row, as numbers with a label each."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each `label`, as long as `value`.

    Where it is divided, `part` names by what, and `total` the column with the sum of its parts.
    """

    label: str
    value: str
    part: str = ""
    total: str = ""


@dataclass(frozen=True, slots=True)
class Days:
    """A bar for each `day` of the period (or week, or month), as high as `value`, divided by `part`."""

    day: str
    value: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Hours:
    """A line for each `row`, 24 fields in it, as dark as `value`: a heat map of the day (UTC)."""

    row: str
    hour: str
    value: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes with arrows from source to target: the columns are those of `audit.report.forms.picture`."""


Shown = Table | KeyFigures | Bars | Days | Hours | Picture


@dataclass(frozen=True, slots=True)
class Figure:
    """A question, and the SQL that answers it.

    Attributes:
        name: as csv, json and packs call it; no two figures share one.
        title: the heading.
        question: what it answers; ends with a question mark.
        sql: one query in Spark's SQL, with parameters `:from_day`, `:to_day` and those of `About`.
        shown: the form in which its rows are shown.
        needs: a table or view that a root may lack; "": it reads only what each root has.
        worked_out: how its rows are made from the answer of the SQL; "": they are the answer.
    """

    name: str
    title: str
    question: str
    sql: str
    shown: Shown = Table()
    needs: str = ""
    worked_out: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Figures that belong together, with what there is to say of all of them."""

    title: str
    text: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class About:
    """What a report is about.

    Attributes:
        name: the user's, the object's, or a person's key.
        values: of the parameters.
        rows: of figures that are worked out, by name.
        is_the_asking_person: the name is of the person who gets the report: no pseudonym hides it.
    """

    name: str
    values: Mapping[str, Value]
    rows: Mapping[str, Answer] = field(default_factory=dict)
    is_the_asking_person: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A report.

    Attributes:
        name: as the command line calls it.
        title: the heading of the cover; `{name}` stands for the name that it is about.
        text: what it answers, in a sentence or two.
        sections: its figures.
        find: finds what a name means, for a report that is about one; None: it is about the whole root.
    """

    name: str
    title: str
    text: str
    sections: tuple[Section, ...]
    find: Callable[[Tables, str, Period], About] | None = None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in order."""
        return tuple(figure for section in self.sections for figure in section.figures)


WORDING = (
    "Only what stands in quotation marks is quoted from the norm. The rest is a paraphrase, titles of"
    " requirements included; the text of the norm decides."
)
"""What each report under a norm says of how it names requirements."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of a norm.

    Attributes:
        number: as the norm counts it.
        wording: what it asks for, in other words where no quotation marks stand.
        text: what the figures show of it, and what they cannot show.
        figures: the names of the figures, in order.
    """

    number: str
    wording: str
    text: str
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """A norm, as an order of figures.

    Attributes:
        name: as the command line calls it.
        title: the norm.
        text: what the figures show of it.
        called: what the norm calls its parts: Requirement, Section, Article.
        requirements: in the norm's order.
    """

    name: str
    title: str
    text: str
    called: str
    requirements: tuple[Requirement, ...]
