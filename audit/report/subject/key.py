"""The key of a person: a comparison of one column with one value.

In: a text such as `customer_id = 7`. Out: the column, and the value as a literal.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from audit.report.errors import SubjectKeyInvalid

_WAY_OUT = (
    'write a column, =, and a number or a text in quotes: "customer_id = 7", "email = \'a@b.org\'";'
    " a quote in a text is \\'"
)


@dataclass(frozen=True, slots=True)
class Key:
    """`column = value`.

    Attributes:
        column: its name.
        value: an int, or the digits of a decimal number, or a text.
        is_text: whether the value is a text.
    """

    column: str
    value: str
    is_text: bool

    def __str__(self) -> str:
        return f"{self.column} = {exp.Literal.string(self.value).sql() if self.is_text else self.value}"


def key_of(text: str) -> Key:
    """The key that a text means. Nothing but a comparison of a column with a literal is taken.

    Raises:
        SubjectKeyInvalid: it is anything else. The message does not repeat the text.

    >>> key_of("ID = 7"), str(key_of("name = 'Ada'"))
    (Key(column='ID', value='7', is_text=False), "name = 'Ada'")
    """
    try:
        tree = parse_one(text, read="spark")
    except SqlglotError:
        # Not `from error`: a traceback would show the person's value.
        raise SubjectKeyInvalid("the key is no comparison", _WAY_OUT) from None
    if not isinstance(tree, exp.EQ):
        raise SubjectKeyInvalid("the key is not one comparison by =", _WAY_OUT)
    column, value = tree.this, tree.expression
    if not isinstance(column, exp.Column) or len(column.parts) != 1 or isinstance(column.this, exp.Star):
        raise SubjectKeyInvalid("the left side of the key is no column", _WAY_OUT)
    is_negative = isinstance(value, exp.Neg)
    literal = value.this if is_negative else value
    if not isinstance(literal, exp.Literal) or (is_negative and literal.is_string):
        raise SubjectKeyInvalid(
            "the right side of the key is neither a number nor a text in quotes", _WAY_OUT
        )
    return Key(column.name, f"-{literal.name}" if is_negative else literal.name, bool(literal.is_string))
