"""What an entry of the table of internals says: the members relied on, why, and what a change of them breaks.

In: nothing. Out: the value types, for `spark_members` and `pyspark_members` (the table), `probe` (which looks
for the members in a running Spark) and `page` (which writes `docs/internals.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CHECKED = {"PySpark": "4.2.0", "Spark": "4.2.0", "Delta": "4.4.0"}
"""The versions whose members the table describes."""


class Side(str, Enum):
    """Whose member it is."""

    PYSPARK = "PySpark"
    SPARK = "Spark"
    DELTA = "Delta"
    HIVE = "Hive"
    JDK = "JDK"


class Kind(str, Enum):
    """What a member is."""

    CLASS = "class"
    FIELD = "field"
    METHOD = "method"
    CONSTRUCTOR = "constructor"


@dataclass(frozen=True, slots=True)
class Member:
    """A class of the JVM, or a member of one.

    Attributes:
        kind: what it is.
        owner: the class, in full.
        name: of the field or method; "" for a class or a constructor.
        shape: a method's or constructor's number of parameters, or the class that a field is declared with.
    """

    kind: Kind
    owner: str
    name: str = ""
    shape: str = ""

    @property
    def line(self) -> str:
        """As `InternalsProbe.missing` reads it.

        >>> Member(Kind.METHOD, "a.B", "c", "0").line
        'method a.B c 0'
        """
        return " ".join(part for part in (self.kind.value, self.owner, self.name, self.shape) if part)


@dataclass(frozen=True, slots=True)
class PythonMember:
    """A member of a class or module of Python.

    Attributes:
        owner: module, or module and class.
        name: of the attribute; an attribute of instances only has `is_instance`.
        parameters: the names of a callable's first parameters without `self`, where ours are passed by them.
        is_instance: instances get it in `__init__`: its name is looked for in the code of the class.
    """

    owner: str
    name: str
    parameters: tuple[str, ...] = ()
    is_instance: bool = False

    @property
    def line(self) -> str:
        """For a message.

        >>> PythonMember("a.B", "c", ("d", "e")).line
        'a.B.c(d, e)'
        """
        return f"{self.owner}.{self.name}" + (f"({', '.join(self.parameters)})" if self.parameters else "")


@dataclass(frozen=True, slots=True)
class Surface:
    """One internal thing that the package relies on.

    Attributes:
        title: what it is called in the page.
        side: whose it is.
        used_in: files below the root of the repository.
        purpose: what it is for.
        breaks: what goes wrong when it changes.
        instead: the public way, and why it is not enough.
        members: what the probe looks for in the JVM.
        python: what it looks for in Python.
        reflective: names that the code passes to reflection (`getDeclaredField`, `call`, …) for it.
    """

    title: str
    side: Side
    used_in: tuple[str, ...]
    purpose: str
    breaks: str
    instead: str
    members: tuple[Member, ...] = ()
    python: tuple[PythonMember, ...] = ()
    reflective: frozenset[str] = frozenset()


def classes(*owners: str) -> tuple[Member, ...]:
    """Classes that have to be there."""
    return tuple(Member(Kind.CLASS, owner) for owner in owners)


def fields(owner: str, **types: str) -> tuple[Member, ...]:
    """Fields of a class, or of one above it, by name with the class that each is declared with."""
    return tuple(Member(Kind.FIELD, owner, name, of) for name, of in types.items())


def methods(owner: str, names: str) -> tuple[Member, ...]:
    """Methods of a class, in the form `name/number of parameters`, or `name` for none.

    >>> [member.line for member in methods("a.B", "c d/2")]
    ['method a.B c 0', 'method a.B d 2']
    """
    split = (name.partition("/") for name in names.split())
    return tuple(Member(Kind.METHOD, owner, name, arity or "0") for name, _, arity in split)


def python(owner: str, names: str, *, is_instance: bool = False) -> tuple[PythonMember, ...]:
    """Attributes of a Python class or module by name."""
    return tuple(PythonMember(owner, name, (), is_instance) for name in names.split())


def words(text: str) -> frozenset[str]:
    """Names in a text."""
    return frozenset(text.split())
