"""A report with its rows.

In: a kind or a norm, a period, the tables of a root. Out: a `Report`, which each format shows as it is. All
figures are asked for by their SQL; nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from audit.report.binding import Value, bound
from audit.report.kinds import KINDS, all_figures
from audit.report.kinds.records import COVER, RECORDS
from audit.report.model import About, Figure, Kind, Pack, Picture, Requirement, Section, Table
from audit.report.period import Period

if TYPE_CHECKING:
    from audit.query.answer import Answer
    from audit.query.tables import Tables
    from audit.report.names import Pseudonyms

SHOWN_ROWS = 500
"""The most rows of a table; the report says how many there are."""
_SHOWN: Mapping[type, int] = {Table: SHOWN_ROWS, Picture: 2_000}
_OF_A_CHART = 5_000


@dataclass(frozen=True, slots=True)
class Filled:
    """A figure with its rows.

    Attributes:
        number: in the report, from 1.
        figure: the question.
        sql: the query as it can be run; a name that may not be shown stays a parameter.
        columns: of the rows.
        rows: the first ones.
        total: how many rows there are.
        is_there: False: the root lacks what the figure reads.
    """

    number: int
    figure: Figure
    sql: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    total: int = 0
    is_there: bool = True

    def value(self, column: str) -> Any:
        """A number of a figure that has one row."""
        return self.rows[0][self.columns.index(column)] if self.rows else None


@dataclass(frozen=True, slots=True)
class Chapter:
    """A section with its rows; `again` has figures that stand in an earlier one."""

    title: str
    text: str
    figures: tuple[Filled, ...]
    again: tuple[Filled, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """By whom, when (UTC, without a zone), and by which version of this package."""

    by: str
    at: datetime
    version: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report, ready to be shown.

    Attributes:
        name: of the kind; of the norm where it has all kinds.
        title: the heading.
        text: what it answers.
        about: the object or user that it is about; "" where it is about the whole root.
        norm: under whose requirements the figures stand; None: under the report's own headings.
        root: the folder of the audit tables.
        period: its days.
        made: by whom and when.
        without_names: users have pseudonyms.
        chapters: in order.
    """

    name: str
    title: str
    text: str
    about: str
    norm: Pack | None
    root: str
    period: Period
    made: Made
    without_names: bool
    chapters: tuple[Chapter, ...]

    @property
    def figures(self) -> tuple[Filled, ...]:
        """All figures, by number."""
        return tuple(one for chapter in self.chapters for one in chapter.figures)

    def figure(self, name: str) -> Filled:
        """The figure of a name."""
        return next(one for one in self.figures if one.figure.name == name)


@dataclass(frozen=True, slots=True)
class Asking:
    """What figures are asked of, and with which values.

    Attributes:
        tables: of the root.
        values: of the parameters.
        names: the pseudonyms; None: users have their names.
        unshown: parameters whose values the report may not show.
        worked_out: the rows of figures that no query gives, by name.
    """

    tables: Tables
    values: Mapping[str, Value]
    names: Pseudonyms | None
    unshown: frozenset[str]
    worked_out: Mapping[str, Answer]

    @classmethod
    def of(cls, tables: Tables, period: Period, about: About | None, names: Pseudonyms | None) -> Asking:
        """What a report about a thing in a period asks.

        Args:
            tables: of the root.
            period: its days.
            about: the thing; None: the whole root.
            names: the pseudonyms; None: users have their names.
        """
        own = dict(about.values) if about is not None else {}
        # A name stays a parameter where the report names nobody; ids name nobody.
        unshown = {one for one, value in own.items() if isinstance(value, str)} if names is not None else ()
        worked_out = about.rows if about is not None else {}
        return cls(tables, {**period.values, **own}, names, frozenset(unshown), worked_out)

    def fill(self, figure: Figure) -> Filled:
        """A figure with its rows, not numbered yet."""
        shown = {name: value for name, value in self.values.items() if name not in self.unshown}
        sql = bound(figure.sql, shown, self.tables.schema).strip()
        if figure.needs and not self.tables.has(figure.needs):
            return Filled(0, figure, sql, is_there=False)
        most = _SHOWN.get(type(figure.shown), _OF_A_CHART)
        values = {name: self.values[name] for name in self.unshown}
        known = self.worked_out.get(figure.name)
        answer = self.tables.ask(sql, values, most + 1) if known is None else known
        rows = [tuple(row) for row in answer.rows]
        total = self._count(sql, values) if known is None and len(rows) > most else len(rows)
        if self.names is not None:
            rows = [self.names.row(answer.columns, row) for row in rows]
        return Filled(0, figure, sql, answer.columns, tuple(rows[:most]), total)

    def _count(self, sql: str, values: Mapping[str, Value]) -> int:
        counted = self.tables.ask(f"SELECT count(*) FROM ({sql})", dict(values)).rows  # noqa: S608 - the figure's own
        return int(counted[0][0])


def fill(
    asking: Asking, made: Made, period: Period, kind: Kind | None, pack: Pack | None, about: About | None
) -> Report:
    """Ask for all figures of a report.

    Args:
        asking: what is asked.
        made: by whom and when.
        period: its days.
        kind: the report; None: all figures that the norm names.
        pack: the norm under whose requirements they stand; None: under the report's own headings.
        about: what the report is about, for a kind that is about one thing.
    """
    names = asking.names
    hidden = names.text if names is not None else str
    source: Kind | Pack | None = kind or pack
    title = source.title if source else ""
    shown = _shown_name(about, asking)
    return Report(
        name=source.name if source else "",
        title=title.replace("{name}", shown),
        text=source.text if source else "",
        about=shown,
        norm=pack,
        root=hidden(asking.tables.root),
        period=period,
        made=replace(made, by=names.pseudonym(made.by)) if names is not None else made,
        without_names=names is not None,
        chapters=_numbered(asking, sections_of(kind, pack)),
    )


def _shown_name(about: About | None, asking: Asking) -> str:
    """What a report is about, as the report may name it."""
    if about is None:
        return ""
    if asking.names is None or about.is_the_asking_person:
        return about.name
    # As a whole: of a name of two words each might be somebody else's.
    return (asking.names.pseudonym if "user_name" in about.values else asking.names.text)(about.name)


def sections_of(kind: Kind | None, pack: Pack | None) -> tuple[Section, ...]:
    """The sections of a report, the last one about the records themselves.

    Args:
        kind: the report; None: all figures that the norm names.
        pack: the norm under whose requirements they stand; None: under the report's own headings.

    >>> sections_of(KINDS["access"], None)[-1].title
    'The records themselves'
    """
    return _under(pack, kind) if pack is not None else (*(kind.sections if kind else ()), RECORDS)


def _numbered(asking: Asking, sections: Iterable[Section]) -> tuple[Chapter, ...]:
    """The sections with their rows: a figure that several name stands in the first of them."""
    seen: dict[str, Filled] = {}
    chapters = []
    for section in sections:
        again = tuple(seen[one.name] for one in section.figures if one.name in seen)
        new = []
        for figure in section.figures:
            if figure.name not in seen:
                seen[figure.name] = replace(asking.fill(figure), number=len(seen) + 1)
                new.append(seen[figure.name])
        chapters.append(Chapter(section.title, section.text, tuple(new), again))
    return tuple(chapters)


def _under(pack: Pack, kind: Kind | None) -> tuple[Section, ...]:
    """The figures of a kind, or all, under the requirements of a norm; then what none of these names."""
    known = all_figures() if kind is None else {one.name: one for one in (*RECORDS.figures, *kind.figures)}
    sections = [_required(one, known, pack) for one in pack.requirements]
    named = {name for one in pack.requirements for name in one.figures}
    further = tuple(one for one in (kind.figures if kind else ()) if one.name not in named)
    if further:
        sections.append(Section("Further figures", f"{pack.title} does not ask for them.", further))
    rest = tuple(one for one in RECORDS.figures if one.name not in named)
    return (*sections, *((replace(RECORDS, figures=rest),) if rest else ()))


def _required(requirement: Requirement, known: Mapping[str, Figure], pack: Pack) -> Section:
    found = tuple(known[name] for name in requirement.figures if name in known)
    text = f"{requirement.wording}\n{requirement.text}"
    missing = [name for name in requirement.figures if name not in known]
    if missing and not found:
        text += f"\nNot in this report: `audit report {_reports_of(missing)} --pack {pack.name}` has it."
    return Section(f"{pack.called} {requirement.number}", text, found)


def _reports_of(figures: Sequence[str]) -> str:
    wanted = set(figures)
    return " or ".join(
        kind.name
        for kind in KINDS.values()
        if kind.find is None and wanted & {one.name for one in kind.figures}
    )


def cover(report: Report) -> tuple[Filled, ...]:
    """The figures whose numbers stand on the cover."""
    return tuple(report.figure(one.name) for one in COVER)
