"""What an operator knows while it is read: its input columns, the outer query's, and what it touches.

In: the results of an operator's children. Out: `Flow`, the columns that an operator hands up, and
`Scope`, in which its expressions are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage.plan.values import NOTHING, Value, as_condition, union

Attribute = tuple[int, str]


@dataclass(slots=True)
class Flow:
    """What an operator hands up.

    `out` lists its columns (expression id, name) in order; `env` gives their values by id. `by` holds
    what steered its rows (filters, join, group and sort keys). `direct` and `base` are sets of object
    numbers that were touched, columns or not. `named` is what subqueries read and which functions are
    called, whether or not anything uses the column that they stand in. Children's dicts are shared, never
    changed.
    """

    out: list[Attribute] = field(default_factory=list)
    env: dict[int, Value] = field(default_factory=dict)
    by: Value = NOTHING
    direct: int = 0
    base: int = 0
    named: Value = NOTHING

    def values(self) -> list[Value]:
        """The values of the columns, in order."""
        return [self.env[number] for number, _ in self.out]

    def everything(self) -> Value:
        """The union of all columns."""
        return union(self.values())


@dataclass(slots=True)
class Scope:
    """The columns that an operator's expressions see, and what its children have touched."""

    env: dict[int, Value]
    outer: Scope | None = None
    by: Value = NOTHING
    direct: int = 0
    base: int = 0
    named: Value = NOTHING

    @classmethod
    def over(cls, kids: list[Flow], outer: Scope | None) -> Scope:
        """The scope of an operator above `kids`."""
        if len(kids) == 1:
            kid = kids[0]
            return cls(kid.env, outer, kid.by, kid.direct, kid.base, kid.named)
        scope = cls({}, outer)
        for kid in kids:
            scope.env.update(kid.env)
            scope.touch(kid)
        return scope

    def touch(self, flow: Flow) -> None:
        """Take over what a child or a subquery touched, and what steered its rows."""
        self.by = union((self.by, flow.by))
        self.direct |= flow.direct
        self.base |= flow.base
        self.name(flow.named)

    def name(self, value: Value) -> None:
        """Take over what subqueries have read, and functions that are called."""
        if value is not NOTHING:
            self.named = as_condition(union((self.named, value)))

    def unname(self, body: Value) -> None:
        """The body of a function names nothing for the statement: what it reads is base alone."""
        if self.named is not NOTHING:
            self.named = self.named._replace(direct_by=self.named.direct_by & ~(body.direct | body.direct_by))

    def find(self, number: int) -> Value | None:
        """The value of a column, looked up outwards."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.env.get(number)
            if value is not None:
                return value
            scope = scope.outer
        return None

    def flow(self, out: list[Attribute], env: dict[int, Value], steered: Value = NOTHING) -> Flow:
        """What the operator hands up; `steered` is what its own conditions read."""
        by = self.by
        if steered is not NOTHING:
            by = Value(0, 0, by[2] | steered[0] | steered[2], by[3] | steered[1] | steered[3])
        return Flow(out, env, by, self.direct, self.base, self.named)
