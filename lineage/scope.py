"""What the walk over a query carries: columns with their sources, the sources of a FROM, their scope.

In: relations that a catalog answered. Out: `Out` (a column and where it comes from), `Frame` (what a
query yields), `Scope` (what names mean at one place in a query). Sets of sources are dicts whose
keys are `Ref`s compared by identity, which keeps their order and costs no hashing of text.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage.model import Column, Relation
from lineage.types import field_name, field_type, map_types


class Entry:
    """A relation that the statement reaches; one per name (and version) and trace."""

    __slots__ = ("_refs", "index", "open", "relation", "version")

    def __init__(self, relation: Relation, version: int | None = None) -> None:
        self.relation = relation
        self.version = version if version is not None else relation.version
        self.index = {column.name.lower(): column for column in relation.columns}
        self.open = not relation.columns
        self._refs: dict[object, Ref] = {}

    def ref(self, column: Column, path: tuple[str, ...] = ()) -> Ref:
        """The one `Ref` of a column of this relation."""
        key: object = (column.name, path) if path else column.name
        found = self._refs.get(key)
        if found is None:
            found = self._refs[key] = Ref(self, column, path)
        return found


class Ref:
    """A column of a relation, or a field inside it; identical where it is the same one."""

    __slots__ = ("column", "entry", "path")

    def __init__(self, entry: Entry, column: Column, path: tuple[str, ...]) -> None:
        self.entry = entry
        self.column = column
        self.path = path


Refs = dict[Ref, None]


class Sink:
    """Sources that an expression gathers: values (direct, base) and what only shapes them."""

    __slots__ = ("base", "direct", "how", "ibase", "idirect")

    def __init__(self) -> None:
        self.how = 0  # bits of lineage.transformation
        self.direct: Refs = {}
        self.base: Refs = {}
        self.idirect: Refs = {}
        self.ibase: Refs = {}

    def shape(self, other: Sink) -> None:
        """Take everything of another sink as shaping, not as value."""
        self.idirect.update(other.direct)
        self.idirect.update(other.idirect)
        self.ibase.update(other.base)
        self.ibase.update(other.ibase)

    def merge(self, other: Sink) -> None:
        """Take values as values and shaping as shaping."""
        self.how |= other.how
        self.direct.update(other.direct)
        self.base.update(other.base)
        self.idirect.update(other.idirect)
        self.ibase.update(other.ibase)


class Out(Sink):
    """A column that a query or a relation yields; `plain` where it is one source unchanged."""

    __slots__ = ("fields", "key", "name", "plain", "type")

    def __init__(self, name: str, type_text: str = "") -> None:
        super().__init__()
        self.name = name
        self.key = name.lower()
        self.type = type_text
        self.plain = False
        self.fields: dict[str, Out] | None = None

    def renamed(self, name: str) -> Out:
        """The same column under another name."""
        if name == self.name:
            return self
        out = Out(name, self.type)
        out.direct, out.base, out.idirect, out.ibase = self.direct, self.base, self.idirect, self.ibase
        out.plain, out.fields, out.how = self.plain, self.fields, self.how
        return out

    def field(self, path: Sequence[str]) -> Out:
        """A field inside this column, as deep as `path` says."""
        if not path:
            return self
        if self.fields is not None:
            inner = self.fields.get(path[0].lower())
            return inner.field(path[1:]) if inner is not None else self
        names, kind = _walk(self.type, path)
        out = Out(names[-1] if names else path[-1], kind)
        out.idirect, out.ibase, out.how = self.idirect, self.ibase, self.how
        if self.plain and names:
            out.direct = {_deeper(ref, names): None for ref in self.direct}
            out.base = {_deeper(ref, names): None for ref in self.base}
            out.plain = True
        else:
            out.direct, out.base = self.direct, self.base
        return out


def _walk(type_text: str, path: Sequence[str]) -> tuple[tuple[str, ...], str]:
    # `m.key` on a map is an element, not a field: the path ends there.
    names: list[str] = []
    for step in path:
        if type_text and map_types(type_text) is not None:
            return tuple(names), ""
        names.append(field_name(type_text, step) if type_text else step)
        type_text = (field_type(type_text, step) or "") if type_text else ""
    return tuple(names), type_text


def _deeper(ref: Ref, names: tuple[str, ...]) -> Ref:
    return ref.entry.ref(ref.column, (*ref.path, *names))


class Frame:
    """What a query yields: its columns, what shaped its rows, and whether its columns are all known."""

    __slots__ = ("open", "outs", "shape")

    def __init__(self, outs: list[Out], shape: Sink | None = None, *, open_: bool = False) -> None:
        self.outs = outs
        self.shape = shape if shape is not None else Sink()
        self.open = open_


class Source:
    """An item of a FROM clause under its alias."""

    __slots__ = ("_index", "_outs", "alias", "entry", "open", "parts", "view")

    def __init__(
        self,
        alias: str,
        outs: list[Out] | None = None,
        *,
        entry: Entry | None = None,
        view: Frame | None = None,
        parts: tuple[str, ...] = (),
        open_: bool = False,
    ) -> None:
        self.alias = alias.lower()
        self.parts = tuple([p.lower() for p in parts])
        self._outs = outs
        self._index: dict[str, Out | None] = {}
        self.entry = entry
        self.view = view
        self.open = open_ if entry is None else entry.open
        for out in reversed(outs or ()):
            self._index[out.key] = out

    def find(self, key: str) -> Out | None:
        """The column of that (lower-case) name; tables make it on first use."""
        if key in self._index:
            return self._index[key]
        out = None
        if self.entry is not None and self._outs is None:
            column = self.entry.index.get(key)
            out = None if column is None else self._make(column)
        self._index[key] = out
        return out

    def invent(self, name: str) -> Out:
        """A column that a relation of unknown columns must have, since the statement names it."""
        out = self._make(Column(name)) if self.entry is not None else Out(name)
        self._index[out.key] = out
        return out

    def all(self) -> list[Out]:
        """Every column, in order."""
        if self._outs is None and self.entry is not None:
            columns = self.entry.relation.columns
            self._outs = [self.find(column.name.lower()) or self._make(column) for column in columns]
        return self._outs or []

    def _make(self, column: Column) -> Out:
        assert self.entry is not None  # noqa: S101  for mypy: only tables come here
        out = Out(column.name, column.type)
        ref = self.entry.ref(column)
        out.direct = {ref: None}
        out.base = out.direct
        out.plain = True
        return out


class Scope:
    """What names mean inside one SELECT: its sources, its aliases, and the scope around it."""

    __slots__ = (
        "aliases",
        "ctes",
        "group",
        "groups",
        "outer",
        "shape",
        "sources",
        "steps",
        "using",
        "windows",
    )

    def __init__(self, outer: Scope | None = None, ctes: dict[str, Frame] | None = None) -> None:
        self.outer = outer
        self.ctes: dict[str, Frame] = ctes if ctes is not None else (outer.ctes if outer else {})
        self.sources: list[Source] = []
        self.steps: list[tuple[Source, dict[str, Out]]] = []
        self.group = 0
        self.groups: list[int] = []
        self.using: dict[str, Out] = {}
        self.aliases: dict[str, Out] = {}
        self.windows: dict[str, Sink] = {}
        self.shape = Sink()

    def add(self, source: Source) -> None:
        """Bring a source into scope."""
        self.sources.append(source)
        self.steps.append((source, {}))

    def comma(self) -> None:
        """A comma begins a group of joins of its own: USING looks no further back."""
        self.group = len(self.steps)
        self.groups.append(self.group)

    def drop(self, source: Source) -> None:
        """Take a source out again: the right side of a SEMI or ANTI join."""
        self.sources.remove(source)
        self.steps = [step for step in self.steps if step[0] is not source]

    def star(self) -> list[Out]:
        """The columns of `*`: in each group of joins USING keys first, each once (Spark's order)."""
        ends = [*self.groups, len(self.steps)]
        starts = [0, *self.groups]
        pairs = zip(starts, ends, strict=True)
        return [out for start, end in pairs for out in self._group_star(self.steps[start:end])]

    def _group_star(self, steps: list[tuple[Source, dict[str, Out]]]) -> list[Out]:
        outs: list[Out] = []
        for source, keys in steps:
            if keys:
                outs = [*keys.values(), *(o for o in outs if o.key not in keys)]
                outs += [o for o in source.all() if o.key not in keys]
            else:
                outs += source.all()
        return outs
