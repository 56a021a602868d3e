"""The clauses of one statement about backups, read in any order.

In: a cursor behind the words that begin the statement. Out: values of clauses, and the first clause that is
wrong as a `WrongBackupClause` with the way out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.sql.commands.backups.statements import BackupStatement, WrongBackupClause
from lineage.sql.commands.command import Change

if TYPE_CHECKING:
    from lineage.sql.commands.command import Name
    from lineage.sql.cursor import Cursor

BACKUP = ("BACKUP", "SNAPSHOT")
"""The word for a backup; SNAPSHOT is the older one (Snowflake, CREATE SNAPSHOT SET, deprecated)."""


class Clauses:
    """Reads clauses and keeps the first one that is wrong; nothing raises.

    Args:
        at: a cursor on the statement.
        kind: the type of the statement.
        forms: the clauses that it has, for the way out.
    """

    __slots__ = ("_at", "_forms", "_kind", "_name", "_problem", "_seen")

    def __init__(self, at: Cursor, kind: str, forms: str) -> None:
        self._at = at
        self._kind = kind
        self._forms = forms
        self._name: Name = ()
        self._seen: set[str] = set()
        self._problem: tuple[str, str, str] | None = None

    @property
    def going(self) -> bool:
        """Whether there is something left to read, and nothing was wrong so far."""
        return self._problem is None and not self._at.done

    def refuse(self, problem: str, way_out: str = "", *, since: int | None = None) -> None:
        """Note a wrong clause that begins at a token, or here, unless another one was wrong before."""
        if self._problem is None:
            first = self._at.at if since is None else since
            rest = self._at.tokens[first:]
            clause = self._at.text[rest[0].start : rest[-1].end + 1] if rest else ""
            self._problem = clause, problem, way_out or f"write {self._forms}"

    def name(self, what: str) -> Name:
        """The name that has to stand here."""
        found = self._at.name()
        if not found:
            self.refuse(f"{what} has no name")
        self._name = self._name or found
        return found

    def once(self, clause: str) -> None:
        """Refuse a clause that stands twice."""
        if clause in self._seen:
            self.refuse(f"{clause} stands twice", f"leave one {clause} out", since=self._at.at - 1)
        self._seen.add(clause)

    def text(self, clause: str, example: str) -> str:
        """`[=] 'text'`, behind the word of a clause."""
        since = self._at.at - 1
        self._at.take("=")
        found = self._at.string()
        if found is None:
            self.refuse(f"{clause} has no text in quotes", f"write {clause} = '{example}'", since=since)
        return found or ""

    def number(self, clause: str, example: str) -> int:
        """`[=] n`, behind the word of a clause."""
        since = self._at.at - 1
        self._at.take("=")
        found = self._at.integer()
        if found is None:
            self.refuse(f"{clause} is no whole number", f"write {clause} = {example}", since=since)
        return found or 0

    def identifier(self) -> str:
        """`IDENTIFIER 'id'`: which backup."""
        if not self._at.take("IDENTIFIER"):
            self.refuse("no backup is named", "write IDENTIFIER '…' with an id of SHOW BACKUPS IN BACKUP SET")
            return ""
        return self.text("IDENTIFIER", "…")

    def tags_in_brackets(self) -> tuple[Change, ...]:
        """`(a = 'x', b = 'y')`, behind TAG."""
        opened = self._at.take("(")
        found = self.tags("ADD")
        if not opened or not self._at.take(")"):
            self.refuse("TAG has no list in brackets", "write TAG (name = 'value')")
        return found

    def tags(self, operation: str) -> tuple[Change, ...]:
        """`a = 'x', b = 'y'`, behind SET TAG; `a, b`, behind UNSET TAG."""
        found: list[Change] = []
        while name := self._at.name():
            value = self.text(".".join(name), "value") if operation == "ADD" else None
            found.append(Change(operation, Domain.TAG, name, value=value))
            if not self._at.take(","):
                break
        if not found:
            self.refuse("no tag is named", "write the tag's name")
        return tuple(found)

    def result(self, statement: BackupStatement) -> BackupStatement:
        """The statement, or the clause of it that is wrong."""
        if self.going:
            self.refuse("it goes on as this statement does not")
        if self._problem is None:
            return statement
        clause, problem, way_out = self._problem
        return WrongBackupClause(self._kind, self._name, clause, problem, way_out)
