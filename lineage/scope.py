"""What the walk over a query carries: columns with their sources, the sources of a FROM, their scope.

In: relations that a catalog answered. Out: `Out` (a column and where it comes from), `Frame` (what a
query yields), `Scope` (what names mean at one place in a query). Sets of sources are dicts whose
keys are `Ref`s compared by identity, which keeps their order and costs no hashing of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineage.model import Column, Function, Relation
from lineage.names import split_name
from lineage.types import field_name, field_type, map_types


class Entry:
    """A relation that the statement reaches; one per name (and version) and trace."""

    __slots__ = ("_refs", "index", "open", "outs", "relation", "version")

    def __init__(self, relation: Relation, version: int | None = None) -> None:
        self.relation = relation
        self.version = version if version is not None else relation.version
        self.index = relation.index
        self.open = not relation.columns
        self.outs: dict[str, Out] = {}
        self._refs: dict[object, Ref] = {}

    def out(self, column: Column) -> Out:
        """A column of this relation as what it yields: the same one in every FROM that names it."""
        name = column.name
        found = self.outs.get(name)
        if found is None:
            found = self.outs[name] = Out(name, column.type)
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


class Sink:
    """Sources that an expression gathers: values (direct, base) and what only shapes them.

    Without views, direct and base sources are the same: one dict then serves for both, until `merge`
    or `shape` brings some that differ. Whoever changes one of them in another way calls `part` before.
    """

    __slots__ = ("base", "calls", "direct", "how", "ibase", "idirect")

    def __init__(self) -> None:
        self.how = 0  # bits of lineage.transformation
        self.calls: Calls | None = None
        self.direct: Refs = {}
        self.base = self.direct
        self.idirect: Refs = {}
        self.ibase = self.idirect

    def part(self) -> None:
        """Keep direct and base sources apart from here on."""
        if self.direct is self.base:
            self.direct = dict(self.base)
        if self.idirect is self.ibase:
            self.idirect = dict(self.ibase)

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

    def shape(self, other: Sink) -> None:
        """Take everything of another sink as shaping, not as value."""
        if other.direct is not other.base or other.idirect is not other.ibase:
            self.part()
        self.ibase.update(other.base)
        if other.ibase:
            self.ibase.update(other.ibase)
        if self.idirect is not self.ibase:
            self.idirect.update(other.direct)
            self.idirect.update(other.idirect)

    def merge(self, other: Sink) -> None:
        """Take values as values and shaping as shaping."""
        self.how |= other.how
        if other.calls:
            self.call(other.calls)
        if other.direct is not other.base or other.idirect is not other.ibase:
            self.part()
        self.base.update(other.base)
        if other.ibase:
            self.ibase.update(other.ibase)
        if self.direct is not self.base:
            self.direct.update(other.direct)
        if self.idirect is not self.ibase:
            self.idirect.update(other.idirect)


class Out(Sink):
    """A column that a query or a relation yields; `plain` where it is one source unchanged.

    Once it is in a `Frame` or a `Source` it does not change: several may share its dicts.
    """

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
        out.plain, out.fields, out.how, out.calls = self.plain, self.fields, self.how, self.calls
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
        out.idirect, out.ibase, out.how, out.calls = self.idirect, self.ibase, self.how, self.calls
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
    """What a query yields: its columns, what shaped its rows, and whether its columns are all known."""

    __slots__ = ("open", "outs", "shape")

    def __init__(self, outs: list[Out], shape: Sink | None = None, *, open_: bool = False) -> None:
        self.outs = outs
        self.shape = shape if shape is not None else Sink()
        self.open = open_


class Source:
    """An item of a FROM clause under its alias.

    `index` says which (lower-case) names it has: columns made already, or still the relation's own.
    """

    __slots__ = ("_outs", "_own", "_parts", "alias", "entry", "index", "open", "view")

    def __init__(
        self,
        alias: str,
        outs: list[Out] | None = None,
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
        self._own: dict[str, Out | Column] = {out.key: out for out in reversed(outs or ())}
        self.index: Mapping[str, Out | Column] = self._own if entry is None or entry.open else entry.index

    @property
    def parts(self) -> tuple[str, ...]:
        """What may qualify its columns beside the alias; a full name is split when first asked for."""
        if isinstance(self._parts, str):
            self._parts = _name_parts(self._parts.lower())
        return self._parts

    def find(self, key: str) -> Out | None:
        """The column of that (lower-case) name; tables make it on first use."""
        found = self.index.get(key)
        if found is None or isinstance(found, Out):
            return found
        assert self.entry is not None  # noqa: S101  for mypy: only tables have columns not yet made
        return self.entry.outs.get(found.name) or self.entry.out(found)

    def invent(self, name: str) -> Out:
        """A column that a relation of unknown columns must have, since the statement names it."""
        out = self.entry.out(Column(name)) if self.entry is not None else Out(name)
        self._own[out.key] = out
        return out

    def all(self) -> list[Out]:
        """Every column, in order."""
        if self._outs is None and self.entry is not None:
            self._outs = [self.entry.out(column) for column in self.entry.relation.columns]
        return self._outs or []


def _name_parts(name: str) -> tuple[str, ...]:
    # The name of a location is no dotted name: it need not be one that splits.
    return split_name(name) if "`" in name else tuple(name.split("."))


class Merged(dict[str, Out]):
    """The keys that a USING makes one of two; `side` is its join's: LEFT, RIGHT, FULL or none."""

    def __init__(self, keys: Mapping[str, Out] | None = None, side: str = "") -> None:
        super().__init__(keys or {})
        self.side = side


_NO_KEYS = Merged()
Owned = list[tuple[Source | None, Out]]  # nobody owns the key that a FULL JOIN makes of both


def _taken(outs: Owned, keys: Merged) -> tuple[Owned, Owned]:
    """The first column of each key, and the rest.

    A self-join before leaves a second one of a name (Spark 4.2, Analyzer.commonNaturalJoinProcessing).
    """
    found: dict[str, tuple[Source | None, Out]] = {}
    rest: Owned = []
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
        "_folded",
        "aliases",
        "ctes",
        "known",
        "outer",
        "rows",
        "shape",
        "sources",
        "steps",
        "using",
        "windows",
    )

    def __init__(self, outer: Scope | None = None, ctes: dict[str, Frame] | None = None) -> None:
        self.outer = outer
        self.rows: Scope | None = None  # where names inside aggregates are looked up, if elsewhere
        self.ctes: dict[str, Frame] = ctes if ctes is not None else (outer.ctes if outer else {})
        self.sources: list[Source] = []
        self.steps: list[tuple[Source | Scope, Merged]] = []
        self._folded: tuple[int, Owned, Owned] = (0, [], [])
        self.using: dict[str, Out] = {}
        self.aliases: dict[str, Out] = {}
        self.windows: dict[str, Sink] = {}
        self.shape = Sink()
        # Columns of its own sources by the (table, column) that the query writes: see Resolver.column.
        self.known: dict[tuple[str | None, str], Out] = {}

    def add(self, source: Source) -> None:
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

    def merge_keys(self, merged: Merged) -> None:
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
            self.steps.append((Source("", []), keys))
        self.using = {}
        for left, own in self.steps:
            self.using.update({**left.using, **own} if isinstance(left, Scope) else own)
        self._changed()

    def turn(self, source: Source) -> None:
        """From here on one source stands for all so far: a PIVOT or UNPIVOT has turned them."""
        self.sources, self.steps, self.using = [source], [(source, _NO_KEYS)], {}
        self._changed()

    def _changed(self) -> None:
        self.known.clear()
        self._folded = (0, [], []) if self._folded[0] >= len(self.steps) else self._folded

    def star(self) -> list[Out]:
        """The columns of `*`: USING keys first, each once (Spark's order)."""
        return [out for _, out in self.joined()[0]]

    def star_of(self, source: Source) -> list[Out]:
        """The columns of `t.*`: keys of USING that `*` leaves out come first (UnresolvedStar.expand)."""
        if all(isinstance(item, Source) and not keys for item, keys in self.steps):
            return source.all()
        visible, hidden = self.joined()
        return [out for owner, out in (*hidden, *visible) if owner is source]

    def last(self) -> Owned:
        """The columns of the last step."""
        item = self.steps[-1][0]
        return item.joined()[0] if isinstance(item, Scope) else [(item, out) for out in item.all()]

    def joined(self) -> tuple[Owned, Owned]:
        """What the joins yield, and what they hide: Spark's names for them, in Spark's order."""
        done, visible, hidden = self._folded
        for item, keys in self.steps[done:]:
            below: Owned = []
            if isinstance(item, Scope):
                added, below = item.joined()
            else:
                added = [(item, out) for out in item.all()]
            if not keys:
                visible, hidden = visible + added, hidden + below
                continue
            left, visible = _taken(visible, keys)
            right, added = _taken(added, keys)
            kept, gone = (right, left) if keys.side == "RIGHT" else (left, right)
            owners = {} if keys.side == "FULL" else {out.key: owner for owner, out in kept}
            first: Owned = [(owners.get(key), out) for key, out in keys.items()]
            visible = [*first, *visible, *added]
            hidden = [*(left if keys.side == "FULL" else ()), *gone, *hidden, *below]
        self._folded = (len(self.steps), visible, hidden)
        return visible, hidden


class Lambda(Scope):
    """The parameters of a lambda, which hide what is around it."""

    __slots__ = ()
