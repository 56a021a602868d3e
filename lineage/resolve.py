"""Names to columns, relations and functions, as Spark resolves them.

In: name parts and a scope; a catalog. Out: `Out`s and `Entry`s, and a ledger of what was named and
touched. What cannot be resolved is a doubt, and a trace with doubts is partial, never silently wrong.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from sqlglot import exp

from lineage.catalog import Catalog
from lineage.errors import BadNameError
from lineage.model import Domain, Function, Relation
from lineage.names import qualify, quote_name, split_name
from lineage.pipes import PIPED
from lineage.scope import CALLED_BASE, CALLED_DIRECT, Calls, Entry, Frame, Out, Refs, Scope, Sink, Source

# Spark reads these without parentheses when no column has the name (ResolveReferences,
# LiteralFunctionResolution); sqlglot leaves some of them as columns.
_LITERAL_FUNCTIONS = frozenset(
    {"current_date", "current_timestamp", "current_user", "user", "session_user", "current_time",
     "grouping__id", "localtimestamp"}
)  # fmt: skip


_Identifier = exp.Identifier


class Ledger:
    """What a statement named and touched, in order."""

    __slots__ = ("base", "base_entries", "base_functions", "direct", "direct_entries", "functions")

    def __init__(self) -> None:
        self.direct: Refs = {}
        self.base: Refs = {}
        self.direct_entries: dict[Entry, None] = {}
        self.base_entries: dict[Entry, None] = {}
        self.functions: dict[str, Function] = {}
        self.base_functions: dict[str, Function] = {}

    def touch(self, sink: Sink) -> None:
        """Columns that were read, as value or shape."""
        self.direct.update(sink.direct)
        self.base.update(sink.base)
        if sink.ibase:
            self.base.update(sink.ibase)
        if sink.idirect:
            self.direct.update(sink.idirect)


class Resolver:
    """The part of the tracer that knows the catalog."""

    def __init__(self, catalog: Catalog, current: tuple[str, str] | None = None) -> None:
        self.catalog = catalog
        self.current = current
        self.ledger = Ledger()
        self.doubts: dict[str, None] = {}
        # Session variables that earlier statements of a script declared.
        self.variables: Container[str] = getattr(catalog, "variables", frozenset())
        # True while the statement's own text is read: whatever it names is accessed. Inside a view
        # only what the used columns need is (Snowflake records columns that the plan evaluates).
        self.keep = True
        self.depth = 0
        self._entries: dict[tuple[object, ...], Entry | None] = {}
        self._frames: dict[Entry, Frame] = {}
        self._functions: dict[tuple[str, ...], Function | None] = {}

    def doubt(self, reason: str) -> None:
        """Note a construct that is not understood."""
        self.doubts.setdefault(reason)

    def split(self, text: str) -> list[str]:
        """The parts of a name inside a literal."""
        try:
            return list(split_name(text))
        except BadNameError:
            self.doubt(f"name {text!r}")
            return [text]

    # -- relations ---------------------------------------------------------------------------

    def entry(self, parts: Sequence[str], version: object = None) -> Entry:
        """The entry of a table's name; an unknown one is kept with unknown columns."""
        key = (*parts, version, self.current)
        found = self._entries.get(key)
        if found is None:
            relation = self.lookup(parts)
            if relation is None:
                self.doubt(f"unknown table {quote_name(parts)}")
                full = qualify(parts, self.current or self.catalog.current)
                relation = Relation(quote_name(full))
            named = (relation.name, relation.domain, version)
            found = self._entries.get(named)
            if found is None:
                found = Entry(relation, version if isinstance(version, int) else None)
                self._entries[named] = found
            self._entries[key] = found
        return found

    def lookup(self, parts: Sequence[str]) -> Relation | None:
        """What the catalog knows under a name; `delta.`/p`` is a path."""
        if len(parts) == 2 and ("/" in parts[1] or ":" in parts[1]) and parts[0].isidentifier():  # noqa: PLR2004
            return self.catalog.path(parts[0].lower(), parts[1])
        return self.catalog.relation(parts, self.current)

    # -- functions ---------------------------------------------------------------------------

    def function(self, parts: Sequence[str]) -> Function | None:
        """The user's function of that name, None for a built-in."""
        key = tuple(parts)
        if key not in self._functions:
            self._functions[key] = self.catalog.function(key, self.current)
        return self._functions[key]

    def saw_function(self, function: Function) -> Calls:
        """Record a function: direct where the statement names it, base where its body is not SQL."""
        kinds = 0
        if self.keep:
            self.ledger.functions.setdefault(function.name, function)
            kinds = CALLED_DIRECT
        if function.body is None or function.domain is Domain.PROCEDURE:
            self.ledger.base_functions.setdefault(function.name, function)
            kinds |= CALLED_BASE
        return {function.name: (function, kinds)} if kinds else {}

    # -- columns -----------------------------------------------------------------------------

    def name(self, parts: Sequence[str], scope: Scope) -> Out | None:
        """The column that dotted parts mean, searched from the inside out."""
        at: Scope | None = scope
        keys = [part.lower() for part in parts]
        while at is not None:
            out = self._in_scope(keys, parts, at)
            if out is not None:
                return out
            at = at.outer
        return self._unfound(keys, parts, scope)

    def column(self, node: exp.Expr, scope: Scope) -> Out | None:
        """The column that a node names, None for a star; each spelling is looked up once a scope."""
        args = node.args
        this, table = args["this"], args.get("table")
        if type(this) is not _Identifier or args.get("db") is not None:
            return None if type(this) is exp.Star else self.name(column_parts(node), scope)
        name: str = this.args["this"]
        qualifier: str | None = None if table is None else table.args["this"]
        found = scope.known.get((qualifier, name))
        if found is not None:
            return found
        if qualifier is None:
            found = self._of_sources(name.lower(), scope)
        else:
            source = _aliased(qualifier.lower(), scope)
            found = None if source is None else source.find(name.lower())
        if found is None:
            return self.name(column_parts(node), scope)
        scope.known[qualifier, name] = found
        return found

    def _in_scope(self, keys: list[str], parts: Sequence[str], scope: Scope) -> Out | None:
        for width in range(min(3, len(keys) - 1), 0, -1):
            source = qualified(keys[:width], scope)
            if source is not None:
                out = source.find(keys[width])
                if out is not None:
                    return out.field(parts[width + 1 :])
        found = self._of_sources(keys[0], scope) or scope.aliases.get(keys[0])
        return None if found is None else found.field(parts[1:])

    def _of_sources(self, key: str, scope: Scope) -> Out | None:
        merged = scope.using.get(key)
        if merged is not None:
            return merged
        found: Source | None = None
        for source in scope.sources:
            if key in source.index:
                if found is not None:
                    self.doubt(f"ambiguous column {key}")
                    break
                found = source
        return None if found is None else found.find(key)

    def _unfound(self, keys: list[str], parts: Sequence[str], scope: Scope) -> Out | None:
        at: Scope | None = scope
        while at is not None:
            if piped := self._piped(keys, parts, at):
                return piped
            for width in range(min(3, len(keys) - 1), 0, -1):
                source = qualified(keys[:width], at)
                if source is not None and source.open:
                    return source.invent(parts[width]).field(parts[width + 1 :])
            open_sources = [s for s in at.sources if s.open]
            if open_sources:
                if len(at.sources) > 1:
                    self.doubt(f"column {keys[0]} of a relation with unknown columns")
                return open_sources[0].invent(parts[0]).field(parts[1:])
            at = at.outer
        if "_metadata" in keys[:2] or (len(keys) == 1 and keys[0] in _LITERAL_FUNCTIONS):
            # `_metadata` is the hidden column of file sources (Spark 3.3): facts about files, no column.
            return None
        if keys[0] in ("session", "system") or keys[0] in self.variables or keys[-1] in self.variables:
            return None
        self.doubt(f"unknown column {quote_name(parts)}")
        return None

    def _piped(self, keys: list[str], parts: Sequence[str], scope: Scope) -> Out | None:
        # After `|>` a table further back may name a column: `FROM t |> EXTEND a + 1 AS b |> SELECT t.a`.
        for source in scope.sources:
            for width in range(min(3, len(keys) - 1), 0, -1) if source.alias == PIPED else ():
                found = [out for out in source.all() if out.key == keys[width]]
                if found:
                    if len(found) > 1:
                        self.doubt(f"{quote_name(parts)} after |>")
                    return found[0].field(parts[width + 1 :])
        return None

    # -- stars -------------------------------------------------------------------------------

    def star(self, node: exp.Expr, scope: Scope) -> list[Out]:
        """The columns that `*`, `t.*`, `s.*` (a struct) stand for, EXCEPT left out."""
        star = node if isinstance(node, exp.Star) else node.args["this"]
        outs = self._all(scope) if star is node else self._qualified_star(node, scope)
        excluded = star.args.get("except_")
        if excluded:
            outs = self._except(outs, excluded, scope)
        replaced = star.args.get("replace")
        if replaced:
            outs = self._replaced(outs, replaced, scope)
        if star.args.get("rename"):
            self.doubt("star with RENAME")
        return outs

    def _replaced(self, outs: list[Out], items: Sequence[exp.Expr], scope: Scope) -> list[Out]:
        # * REPLACE (e AS a): the column a takes the value of e, where it stands.
        values = {item.alias.lower(): self.out_of(item.args["this"], scope, item.alias) for item in items}
        if not values.keys() <= {out.key for out in outs}:
            self.doubt("star with REPLACE of an unknown column")
        return [values[out.key].renamed(out.name) if out.key in values else out for out in outs]

    def out_of(self, node: exp.Expr, scope: Scope, name: str = "") -> Out:
        """An expression as a column."""
        raise NotImplementedError

    def _all(self, scope: Scope) -> list[Out]:
        if not scope.sources:
            self.doubt("star without FROM")
        for source in scope.sources:
            if source.open:
                self.doubt("star over unknown columns")
        return scope.star()

    def _qualified_star(self, node: exp.Expr, scope: Scope) -> list[Out]:
        parts = [node.args[k].name for k in ("catalog", "db", "table") if node.args.get(k)]
        keys = [part.lower() for part in parts]
        at: Scope | None = scope
        while at is not None:
            source = qualified(keys, at)
            if source is not None:
                if source.open:
                    self.doubt("star over unknown columns")
                return at.star_of(source)
            at = at.outer
        return self._struct_star(self.name(parts, scope))

    def _struct_star(self, out: Out | None) -> list[Out]:
        if out is None:
            self.doubt("star over what is no column")
            return []
        if out.fields is not None:
            return list(out.fields.values())
        from lineage.types import struct_fields

        fields = struct_fields(out.type)
        if not fields:
            self.doubt("star over a struct of unknown fields")
            return [out]
        return [out.field((field,)).renamed(field) for field, _ in fields]

    def _except(self, outs: list[Out], excluded: Sequence[exp.Expr], scope: Scope) -> list[Out]:
        gone: set[str] = set()
        owned: set[tuple[Source, str]] = set()
        for item in excluded:
            names = [i.name.lower() for i in item.find_all(exp.Identifier)]
            if not isinstance(item, exp.Column):
                gone.update(names)
                continue
            *qualifier, key = [part.lower() for part in column_parts(item)]
            source = qualified(qualifier, scope) if qualifier else None
            if source is not None:
                owned.add((source, key))
            elif qualifier:
                self.doubt("EXCEPT of a struct field")
            else:
                gone.add(key)
        if owned:
            # t.* has nothing of another table; `*` has what the joins yield.
            taken = {id(out) for source in {s for s, _ in owned} for out in scope.star_of(source)}
            pairs = scope.joined()[0]
            if [out for _, out in pairs] == outs:
                outs = [out for owner, out in pairs if (owner, out.key) not in owned]
            else:
                keys = {key for _, key in owned}
                outs = [out for out in outs if not (id(out) in taken and out.key in keys)]
        return [out for out in outs if out.key not in gone]


def column_parts(node: exp.Expr) -> list[str]:
    """The dotted parts of a Column, outermost first."""
    args = node.args
    parts = [args["this"].args["this"] if type(args["this"]) is exp.Identifier else args["this"].name]
    for key in ("table", "db", "catalog"):
        part = args.get(key)
        if part is None:
            break
        parts.append(part.name)
    parts.reverse()
    return parts


def _aliased(key: str, scope: Scope) -> Source | None:
    for source in scope.sources:
        if source.alias == key:
            return source
    return None


def qualified(keys: list[str], scope: Scope) -> Source | None:
    """The source that a qualifier means."""
    if len(keys) == 1:
        return _aliased(keys[0], scope)
    wanted = tuple(keys)
    for source in scope.sources:
        if source.parts and source.parts[-len(keys) :] == wanted:
            return source
    return None
