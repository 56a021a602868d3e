"""ALTER … SET | UNSET of retention, and SHOW PARAMETERS.

In: the tokens of a statement. Out: an `AlterRetention` or a `ShowParameters`; None where it is neither.
Whoever runs it checks what a value may be, and at which level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.command import Name

Level = Literal["ACCOUNT", "SCHEMA", "TABLE"]
# The first two are Snowflake's parameters, the third is BigQuery's (Configure the time travel window).
RETENTION = "DATA_RETENTION_TIME_IN_DAYS"
MINIMUM = "MIN_DATA_RETENTION_TIME_IN_DAYS"
HOURS = "MAX_TIME_TRAVEL_HOURS"
PARAMETERS = (RETENTION, MINIMUM, HOURS)
_NOUNS: dict[str, Level] = {
    "ACCOUNT": "ACCOUNT", "TABLE": "TABLE", **dict.fromkeys(SCHEMA_NOUNS, "SCHEMA"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AlterRetention:
    """An ALTER that sets or unsets parameters of retention.

    Attributes:
        level: of what.
        name: of the schema or table, () for the account.
        values: parameter and text of its value, None for one that is unset, in their order.
        if_exists: nothing happens where there is no such object.
        rest: what follows and cannot be read.
    """

    level: Level
    name: Name
    values: tuple[tuple[str, str | None], ...]
    if_exists: bool = False
    rest: str = ""


@dataclass(frozen=True, slots=True)
class ShowParameters:
    """SHOW PARAMETERS.

    Attributes:
        like: a pattern of names, with % and _; "" for all.
        level: of what.
        name: of the schema or table, () for the account.
        rest: what follows and cannot be read.
    """

    like: str
    level: Level
    name: Name
    rest: str = ""


def read_alter_retention(tokens: list[Token], text: str) -> AlterRetention | None:
    """`ALTER ACCOUNT | SCHEMA s | TABLE t SET [OPTIONS (] parameter = n [)] | UNSET parameter`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "ALTER TABLE mytable SET DATA_RETENTION_TIME_IN_DAYS=30"
    >>> read_alter_retention(tokenize(sql), sql).values
    (('DATA_RETENTION_TIME_IN_DAYS', '30'),)
    """
    at = Cursor(tokens, text)
    if not at.take("ALTER"):
        return None
    level = _NOUNS.get(at.take_one(*_NOUNS))
    if level is None:
        return None
    if_exists = at.take("IF", "EXISTS")
    name = () if level == "ACCOUNT" else at.name()
    verb = at.take_one("SET", "UNSET")
    # BigQuery's form, of a schema: SET OPTIONS (max_time_travel_hours = 96).
    bracket = at.take("OPTIONS", "(")
    # Any other SET is Spark's, or about policies and tags.
    if not verb or at.word() not in PARAMETERS:
        return None
    values: dict[str, str | None] = {}
    while parameter := at.take_one(*PARAMETERS):
        values[parameter] = _value(at) if verb == "SET" else None
        at.take(",")
    if bracket:
        at.take(")")
    return AlterRetention(level, name, tuple(values.items()), if_exists, at.span())


def _value(at: Cursor) -> str:
    at.take("=")
    # Kept as text: whoever runs it names a wrong value in the error.
    return at.span(",", ")", *PARAMETERS)


def read_show_parameters(tokens: list[Token], text: str) -> ShowParameters | None:
    """`SHOW PARAMETERS [LIKE 'pattern'] [IN | FOR ACCOUNT | SCHEMA s | TABLE t]`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "SHOW PARAMETERS LIKE 'DATA%' IN TABLE s.t"
    >>> read_show_parameters(tokenize(sql), sql)
    ShowParameters(like='DATA%', level='TABLE', name=('s', 't'), rest='')
    """
    at = Cursor(tokens, text)
    if not at.take("SHOW", "PARAMETERS"):
        return None
    like = (at.string() or "") if at.take("LIKE") else ""
    level: Level = "ACCOUNT"
    name: Name = ()
    if at.take_one("IN", "FOR"):
        level = _NOUNS.get(at.take_one(*_NOUNS), "ACCOUNT")
        name = at.name()
    return ShowParameters(like, level, name, at.span())
