"""The values of the walk over a query: columns with their sources, the items of a FROM, scopes.

In: relations that a catalog knows. Out: `ResolvedColumn` (a column and where it comes from), `Frame` (what a
query yields), `FromItem`, `Scope` (what names mean at one place in a query). Sets of sources are dicts whose
keys are `Ref`s compared by identity: that keeps their order and hashes no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineage.model import Column, Function, Relation
from lineage.names import split_recorded
from lineage.types import field_name, field_type, map_types


class Entry:
    """A relation that the statement reaches; one per name (and version) and trace."""

    __slots__ = ("_refs", "index", "open", "relation", "resolved", "version")

    def __init__(self, relation: Relation, version: int | None = None) -> None:
        self.relation = relation
        self.version = version if version is not None else relation.version
        self.index = relation.index
        self.open = not relation.columns
        self.resolved: dict[str, ResolvedColumn] = {}
        self._refs: dict[object, Ref] = {}

    def column(self, column: Column) -> ResolvedColumn:
        """A column of this relation as what it yields: the same one in every FROM that names it."""
        name = column.name
        found = self.resolved.get(name)
        if found is None:
            found = self.resolved[name] = ResolvedColumn(name, column.type)
            found.base[self.ref(column)] = None
            found.plain = True
        return found

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
Calls = dict[str, tuple[Function, int]]
"""Functions whose results a value holds, by name, with the bits `CALLED_DIRECT` and `CALLED_BASE`."""
CALLED_DIRECT = 0b01
CALLED_BASE = 0b10


class SourceSet:
    """The sources of an expression: direct, base, and indirect ones.

    Without views, direct and base sources are the same: one dict then serves for both, until `merge`
    or `shape` brings some that differ. Whoever changes one of them in another way calls `part` before.
    """

    __slots__ = ("base", "base_indirect", "calls", "direct", "direct_indirect", "transformation")

    def __init__(self) -> None:
        self.transformation = 0  # bits of lineage.transformation
        self.calls: Calls | None = None
        self.direct: Refs = {}
        self.base = self.direct
        self.direct_indirect: Refs = {}
        self.base_indirect = self.direct_indirect

    def separate(self) -> None:
        """Keep direct and base sources apart from here on."""
        if self.direct is self.base:
            self.direct = dict(self.base)
        if self.direct_indirect is self.base_indirect:
            self.direct_indirect = dict(self.base_indirect)

    def call(self, calls: Calls | None, kinds: int = CALLED_DIRECT | CALLED_BASE) -> None:
        """Take over calls of functions, of these kinds; dicts are shared, so a new one is made."""
        mine = self.calls or {}
        more = {
            name: (function, kind & kinds | (mine[name][1] if name in mine else 0))
            for name, (function, kind) in (calls or {}).items()
            if kind & kinds and (name not in mine or kind & kinds & ~mine[name][1])
        }
        if more:
            self.calls = {**mine, **more}

    def add_indirect(self, other: SourceSet) -> None:
        """Add all sources of another sink as indirect ones."""
        if other.direct is not other.base or other.direct_indirect is not other.base_indirect:
            self.separate()
        self.base_indirect.update(other.base)
        if other.base_indirect:
            self.base_indirect.update(other.base_indirect)
        if self.direct_indirect is not self.base_indirect:
            self.direct_indirect.update(other.direct)
            self.direct_indirect.update(other.direct_indirect)

    def merge(self, other: SourceSet) -> None:
        """Add the sources of another sink: direct ones as direct, indirect ones as indirect."""
        self.transformation |= other.transformation
        if other.calls:
            self.call(other.calls)
        if other.direct is not other.base or other.direct_indirect is not other.base_indirect:
            self.separate()
        self.base.update(other.base)
        if other.base_indirect:
            self.base_indirect.update(other.base_indirect)
        if self.direct is not self.base:
            self.direct.update(other.direct)
        if self.direct_indirect is not self.base_indirect:
            self.direct_indirect.update(other.direct_indirect)


_NESTED = ("struct", "map", "array", "variant", "string")
"""Types with something behind a dot or, of JSON in a STRING, behind a colon, which is read as a dot."""


class ResolvedColumn(SourceSet):
    """A column that a query or a relation yields; `plain` where it is one source unchanged.

    `layout` is a type without the types of its fields, of what a function makes: it names columns, no more.
    Once it is in a `Frame` or a `FromItem` it does not change: several may share its dicts.
    """

    __slots__ = ("fields", "key", "layout", "name", "plain", "type")

    def __init__(self, name: str, type_text: str = "") -> None:
        super().__init__()
        self.name = name
        self.key = name.lower()
        self.type = type_text
        self.plain = False
        self.fields: dict[str, ResolvedColumn] | None = None
        self.layout = ""

    def renamed(self, name: str) -> ResolvedColumn:
        """The same column under another name."""
        return self if name == self.name else self._named(name)

    def _named(self, name: str) -> ResolvedColumn:
        out = ResolvedColumn(name, self.type)
        out.direct, out.base, out.direct_indirect, out.base_indirect = (
            self.direct,
            self.base,
            self.direct_indirect,
            self.base_indirect,
        )
        out.plain, out.fields, out.layout, out.transformation, out.calls = (
            self.plain,
            self.fields,
            self.layout,
            self.transformation,
            self.calls,
        )
        return out

    def copy(self) -> ResolvedColumn:
        """The same column as another value: two items of a FROM that share one are told apart by it."""
        return self._named(self.name)

    @property
    def has_fields(self) -> bool:
        """Whether a name may go on behind it: of `t.a` the column t of an INT is not meant."""
        return self.fields is not None or self.type == "" or self.type.lower().startswith(_NESTED)

    def field(self, path: Sequence[str]) -> ResolvedColumn:
        """A field inside this column, as deep as `path` says."""
        if not path:
            return self
        if self.fields is not None:
            inner = self.fields.get(path[0].lower())
            return inner.field(path[1:]) if inner is not None else self
        names, kind = _walk(self.type, path)
        out = ResolvedColumn(names[-1] if names else path[-1], kind)
        out.direct_indirect, out.base_indirect, out.transformation, out.calls = (
            self.direct_indirect,
            self.base_indirect,
            self.transformation,
            self.calls,
        )
        if self.plain and names:
            out.base = {_deeper(ref, names): None for ref in self.base}
            same = self.direct is self.base
            out.direct = out.base if same else {_deeper(ref, names): None for ref in self.direct}
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
    """The output of a query: columns, indirect sources of its rows, and whether all columns are known.

    `origins` says of each column from which item of the FROM it comes as it is; None where nobody asks.
    """

    __slots__ = ("columns", "indirect", "open", "origins")

    def __init__(
        self, columns: list[ResolvedColumn], indirect: SourceSet | None = None, *, open_: bool = False
    ) -> None:
        self.columns = columns
        self.indirect = indirect if indirect is not None else SourceSet()
        self.open = open_
        self.origins: list[FromItem | None] | None = None


class FromItem:
    """An item of a FROM clause under its alias.

    `index` says which (lower-case) names it has: columns made already, or still the relation's own. Behind
    `|>` columns keep the names of the items that they came from: `origins` has these.
    """

    __slots__ = ("_outs", "_own", "_parts", "alias", "entry", "index", "open", "origins", "view")

    def __init__(
        self,
        alias: str,
        outs: list[ResolvedColumn] | None = None,
        *,
        entry: Entry | None = None,
        view: Frame | None = None,
        parts: Sequence[str] | str = (),
        open_: bool = False,
    ) -> None:
        self.alias = alias.lower()
        self._parts = parts if isinstance(parts, str) else tuple([part.lower() for part in parts])
        self._outs = outs
        self.entry = entry
        self.view = view
        self.open = open_ if entry is None else entry.open
        self.origins: dict[ResolvedColumn, FromItem] = {}
        # Reversed: of two columns of one name the first one counts.
        self._own: dict[str, ResolvedColumn | Column] = {out.key: out for out in reversed(outs or ())}
        self.index: Mapping[str, ResolvedColumn | Column] = (
            self._own if entry is None or entry.open else entry.index
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """The qualifiers of its columns beside the alias; a full name is split on first use."""
        if isinstance(self._parts, str):
            self._parts = split_recorded(self._parts.lower())
        return self._parts

    def is_named(self, keys: Sequence[str]) -> bool:
        """Whether a qualifier, in lower case, means this item."""
        if len(keys) == 1:
            return self.alias == keys[0]
        return self.parts[-len(keys) :] == tuple(keys)

    def find(self, key: str) -> ResolvedColumn | None:
        """The column of that (lower-case) name; tables make it on first use."""
        found = self.index.get(key)
        if found is None or isinstance(found, ResolvedColumn):
            return found
        assert self.entry is not None  # noqa: S101  for mypy: only tables have columns not yet made
        return self.entry.resolved.get(found.name) or self.entry.column(found)

    def add_unknown(self, name: str) -> ResolvedColumn:
        """A column that a relation of unknown columns must have, since the statement names it."""
        out = self.entry.column(Column(name)) if self.entry is not None else ResolvedColumn(name)
        self._own[out.key] = out
        return out

    def columns(self) -> list[ResolvedColumn]:
        """Every column, in order."""
        if self._outs is None and self.entry is not None:
            self._outs = [self.entry.column(column) for column in self.entry.relation.columns]
        return self._outs or []


class UsingKeys(dict[str, ResolvedColumn]):
    """The keys that a USING makes one of two; `side` is its join's: LEFT, RIGHT, FULL or none."""

    def __init__(self, keys: Mapping[str, ResolvedColumn] | None = None, side: str = "") -> None:
        super().__init__(keys or {})
        self.side = side


_NO_KEYS = UsingKeys()
OwnedColumns = list[
    tuple[FromItem | None, ResolvedColumn]
]  # nobody owns the key that a FULL JOIN makes of both


def _taken(outs: OwnedColumns, keys: UsingKeys) -> tuple[OwnedColumns, OwnedColumns]:
    """The first column of each key, and the rest.

    A self-join before leaves a second one of a name (Spark 4.2, Analyzer.commonNaturalJoinProcessing).
    """
    found: dict[str, tuple[FromItem | None, ResolvedColumn]] = {}
    rest: OwnedColumns = []
    for pair in outs:
        key = pair[1].key
        if key in keys and key not in found:
            found[key] = pair
        else:
            rest.append(pair)
    return [found[key] for key in keys if key in found], rest


class Scope:
    """What names mean inside one SELECT: its sources, its aliases, and the scope around it."""

    __slots__ = (
        "_joined_so_far",
        "aliases",
        "ctes",
        "indirect",
        "known",
        "origins",
        "outer",
        "rows",
        "sources",
        "steps",
        "using",
        "windows",
    )

    def __init__(self, outer: Scope | None = None, ctes: dict[str, Frame] | None = None) -> None:
        self.outer = outer
        self.rows: Scope | None = None  # where names inside aggregates are looked up, if elsewhere
        self.ctes: dict[str, Frame] = ctes if ctes is not None else (outer.ctes if outer else {})
        self.sources: list[FromItem] = []
        self.steps: list[tuple[FromItem | Scope, UsingKeys]] = []
        self._joined_so_far: tuple[int, OwnedColumns, OwnedColumns] = (0, [], [])
        self.using: dict[str, ResolvedColumn] = {}
        self.aliases: dict[str, ResolvedColumn] = {}
        self.windows: dict[str, SourceSet] = {}
        self.origins: list[FromItem | None] | None = None  # of the select list: see `Frame`
        self.indirect = SourceSet()
        # Columns of its own sources by the (table, column) that the query writes: see `resolve_column`.
        self.known: dict[tuple[str | None, str], ResolvedColumn] = {}

    def add(self, source: FromItem) -> None:
        """Bring a source into scope."""
        self.sources.append(source)
        self.steps.append((source, _NO_KEYS))
        self.known.clear()

    def add_group(self, inner: Scope) -> None:
        """Bring joins in parentheses into scope: one side of a join, of which each source has its name."""
        self.sources += inner.sources
        self.steps.append((inner, _NO_KEYS))
        self.using.update(inner.using)
        self.known.clear()

    def merge_keys(self, merged: UsingKeys) -> None:
        """USING: from here on these columns stand for those of the last step and of what was before it."""
        self.using.update(merged)
        self.steps[-1] = (self.steps[-1][0], merged)
        self._changed()

    def drop_last(self) -> None:
        """Take the last step out again: the right side of a SEMI or ANTI join. Its keys still come first."""
        item, keys = self.steps.pop()
        gone = len(item.sources) if isinstance(item, Scope) else 1
        del self.sources[-gone:]
        if keys:
            self.steps.append((FromItem("", []), keys))
        self.using = {}
        for left, own in self.steps:
            self.using.update({**left.using, **own} if isinstance(left, Scope) else own)
        self._changed()

    def replace_all(self, source: FromItem) -> None:
        """Replace all items so far by one: the result of a PIVOT or UNPIVOT."""
        self.sources, self.steps, self.using = [source], [(source, _NO_KEYS)], {}
        self._changed()

    def _changed(self) -> None:
        self.known.clear()
        self._joined_so_far = (
            (0, [], []) if self._joined_so_far[0] >= len(self.steps) else self._joined_so_far
        )

    def star(self) -> list[ResolvedColumn]:
        """The columns of `*`: USING keys first, each once (Spark's order)."""
        return [out for _, out in self.joined()[0]]

    def star_of(self, source: FromItem) -> list[ResolvedColumn]:
        """The columns of `t.*`: keys of USING that `*` leaves out come first (UnresolvedStar.expand)."""
        if all(isinstance(item, FromItem) and not keys for item, keys in self.steps):
            return source.columns()
        visible, hidden = self.joined()
        return [out for owner, out in (*hidden, *visible) if owner is source]

    def last(self) -> OwnedColumns:
        """The columns of the last step."""
        item = self.steps[-1][0]
        return item.joined()[0] if isinstance(item, Scope) else [(item, out) for out in item.columns()]

    def joined(self) -> tuple[OwnedColumns, OwnedColumns]:
        """What the joins yield, and what they hide: Spark's names for them, in Spark's order."""
        done, visible, hidden = self._joined_so_far
        for item, keys in self.steps[done:]:
            below: OwnedColumns = []
            if isinstance(item, Scope):
                added, below = item.joined()
            else:
                added = [(item, out) for out in item.columns()]
            if not keys:
                visible, hidden = visible + added, hidden + below
                continue
            left, visible = _taken(visible, keys)
            right, added = _taken(added, keys)
            kept, gone = (right, left) if keys.side == "RIGHT" else (left, right)
            owners = {} if keys.side == "FULL" else {out.key: owner for owner, out in kept}
            first: OwnedColumns = [(owners.get(key), out) for key, out in keys.items()]
            visible = [*first, *visible, *added]
            hidden = [*(left if keys.side == "FULL" else ()), *gone, *hidden, *below]
        self._joined_so_far = (len(self.steps), visible, hidden)
        return visible, hidden


class LambdaScope(Scope):
    """The parameters of a lambda, which hide what is around it."""

    __slots__ = ()
