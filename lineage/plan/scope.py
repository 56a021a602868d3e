"""The scope of an operator: its input columns, the outer query's, and the objects that it reads.

In: the results of an operator's children. Out: `OperatorOutput`, the columns that an operator hands up, and
`Scope`, in which its expressions are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage.plan.values import NOTHING, Value, as_condition, union

Attribute = tuple[int, str]


@dataclass(slots=True)
class OperatorOutput:
    """The output of an operator.

    `out` lists its columns (expression id, name) in order; `env` gives their values by id. `indirect` holds
    the indirect sources of its rows (filters, join, group and sort keys). `direct` and `base` are sets of
    object numbers that were touched, columns or not. `named` is what subqueries read and which functions are
    called, whether or not anything uses the column that they stand in. Children's dicts are shared, never
    changed.
    """

    out: list[Attribute] = field(default_factory=list)
    env: dict[int, Value] = field(default_factory=dict)
    indirect: Value = NOTHING
    direct: int = 0
    base: int = 0
    named: Value = NOTHING

    def values(self) -> list[Value]:
        """The values of the columns, in order."""
        return [self.env[number] for number, _ in self.out]

    def everything(self) -> Value:
        """The union of all columns."""
        return union(self.values())


Outputs = list[OperatorOutput]


@dataclass(slots=True)
class Scope:
    """The columns that an operator's expressions see, and what its children have touched."""

    env: dict[int, Value]
    outer: Scope | None = None
    indirect: Value = NOTHING
    direct: int = 0
    base: int = 0
    named: Value = NOTHING

    @classmethod
    def over(cls, kids: Outputs, outer: Scope | None) -> Scope:
        """The scope of an operator above `kids`."""
        if len(kids) == 1:
            # The usual case shares the child's dict instead of copying it.
            kid = kids[0]
            return cls(kid.env, outer, kid.indirect, kid.direct, kid.base, kid.named)
        scope = cls({}, outer)
        for kid in kids:
            scope.env.update(kid.env)
            scope.touch(kid)
        return scope

    def touch(self, flow: OperatorOutput) -> None:
        """Add the objects and indirect sources of a child or a subquery."""
        self.indirect = union((self.indirect, flow.indirect))
        self.direct |= flow.direct
        self.base |= flow.base
        self.add_named(flow.named)

    def add_named(self, value: Value) -> None:
        """Add the reads of subqueries, and called functions."""
        if value is not NOTHING:
            self.named = as_condition(union((self.named, value)))

    def find(self, number: int) -> Value | None:
        """The value of a column, looked up outwards."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.env.get(number)
            if value is not None:
                return value
            scope = scope.outer
        return None

    def flow(
        self, out: list[Attribute], env: dict[int, Value], conditions: Value = NOTHING
    ) -> OperatorOutput:
        """The operator's output; `conditions` has the sources of its own conditions."""
        by = self.indirect
        if conditions is not NOTHING:
            by = Value(
                0,
                0,
                by[2] | conditions[0] | conditions[2],
                by[3] | conditions[1] | conditions[3],
            )
        return OperatorOutput(out, env, by, self.direct, self.base, self.named)
