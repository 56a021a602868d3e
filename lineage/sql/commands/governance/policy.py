"""DDL on policies: CREATE, ALTER, DROP, and SET on tables, views and columns.

In: a cursor at the start of a statement. Out: a `PolicyChange`, None where it is not about policies. The
syntax is that of the access-history document and of the policies' own documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import TokenType

from lineage.model import Domain, Policy
from lineage.sql.commands.command import Change, Command
from lineage.sql.cursor import Cursor

_POLICIES = {"MASKING": Domain.MASKING_POLICY, "ROW": Domain.ROW_ACCESS_POLICY}
# EXEMPT_OTHER_POLICIES changes no enforcement; it is read, so that it is no part of the body.
_OPTIONS = ("COMMENT", "EXEMPT_OTHER_POLICIES")


@dataclass(frozen=True, slots=True)
class PolicyChange(Command):
    """CREATE, ALTER, RENAME or DROP of a policy."""


@dataclass(frozen=True, slots=True)
class TablePolicyChange(Command):
    """CREATE or DROP of a row access policy of BigQuery's, which belongs to the table `on`."""


def take_policy(at: Cursor) -> Domain | None:
    """`MASKING POLICY` or `ROW ACCESS POLICY`, moved past; None where neither stands here."""
    if at.take("MASKING", "POLICY"):
        return Domain.MASKING_POLICY
    if at.take("ROW", "ACCESS", "POLICY"):
        return Domain.ROW_ACCESS_POLICY
    return None


def take_if(at: Cursor) -> bool:
    """`IF [NOT] EXISTS`."""
    return at.take("IF", "EXISTS") or at.take("IF", "NOT", "EXISTS")


def create_policy(at: Cursor, domain: Domain, *, replace: bool) -> PolicyChange | TablePolicyChange | None:
    """`name AS (val STRING, …) RETURNS STRING -> body [COMMENT = '…']`, the cursor after POLICY."""
    if_clause = take_if(at)
    name = at.name()
    # Behind the name BigQuery has the table, Snowflake the signature: AS (…).
    if domain is Domain.ROW_ACCESS_POLICY and at.take("ON"):
        return _granted_rows(at, name, if_clause=if_clause, replace=replace)
    if not name or not at.take("AS"):
        return None
    parameters = at.columns()
    data_type = at.type_span("->") if at.take("RETURNS") else ""
    if not data_type or not at.take("->") or at.done:
        return None
    options = _cut_options(at)
    policy = Policy(".".join(name), domain, at.span(), parameters, None, data_type)
    return PolicyChange(
        f"CREATE_{_noun(domain)}", domain, name, if_clause=if_clause, replace=replace, policy=policy,
        properties=options,
    )  # fmt: skip


def _granted_rows(
    at: Cursor, name: tuple[str, ...], *, if_clause: bool, replace: bool
) -> TablePolicyChange | None:
    """`t [GRANT TO ('user:a@b', …)] FILTER USING (expression)`, the cursor after ON: BigQuery's."""
    table = at.name()
    grantees: tuple[str, ...] = ()
    if at.take("GRANT", "TO", "("):
        grantees = at.strings()
        if not grantees or not at.take(")"):
            return None
    if len(name) != 1 or not table or not at.take("FILTER", "USING", "("):
        return None
    body = at.span(")")
    if not body or not at.take(")") or not at.done:
        return None
    domain = Domain.ROW_ACCESS_POLICY
    return TablePolicyChange(
        f"CREATE_{_noun(domain)}", domain, name, if_clause=if_clause, replace=replace,
        policy=Policy(name[0], domain, body, data_type="BOOLEAN"), on=table, grantees=grantees,
    )  # fmt: skip


def alter_policy(at: Cursor, domain: Domain) -> PolicyChange | TablePolicyChange | None:
    """`name SET BODY -> … | RENAME TO … | SET | UNSET COMMENT`, the cursor after POLICY."""
    if_clause = take_if(at)
    name = at.name()
    kind = f"ALTER_{_noun(domain)}"
    if not name:
        return None
    if at.take("RENAME", "TO"):
        return PolicyChange(f"RENAME_{_noun(domain)}", domain, name, if_clause=if_clause, new_name=at.name())
    if at.take("SET", "BODY", "->"):
        return PolicyChange(kind, domain, name, if_clause=if_clause, properties=(("body", at.span()),))
    properties = take_comment(at)
    return (
        None
        if properties is None
        else PolicyChange(kind, domain, name, if_clause=if_clause, properties=properties)
    )


def drop_policy(at: Cursor, domain: Domain) -> PolicyChange | TablePolicyChange | None:
    """`[IF EXISTS] name [ON t]`, the cursor after POLICY."""
    if_clause = take_if(at)
    name = at.name()
    table: tuple[str, ...] = ()
    # A policy of BigQuery's lives in its table, so its name has no schema.
    if domain is Domain.ROW_ACCESS_POLICY and len(name) == 1 and at.take("ON"):
        table = at.name()
        if not table:
            return None
    if not name or not at.done:
        return None
    kind = f"DROP_{_noun(domain)}"
    if table:
        return TablePolicyChange(kind, domain, name, if_clause=if_clause, on=table)
    return PolicyChange(kind, domain, name, if_clause=if_clause)


def take_comment(at: Cursor) -> tuple[tuple[str, str | None], ...] | None:
    """`SET COMMENT = '…'` or `UNSET COMMENT` as a property; None for anything else."""
    if at.take("UNSET", "COMMENT"):
        return (("comment", None),)
    if at.take("SET", "COMMENT"):
        at.take("=")
        return (("comment", at.string()),)
    return None


def read_masking_clause(at: Cursor, column: str) -> Change | None:
    """`p [USING (…)]`, the cursor after MASKING POLICY."""
    name = at.name()
    using = at.names() if at.word(1) == "(" and at.take("USING") else ()
    return Change("ADD", Domain.MASKING_POLICY, name, column, using) if name else None


def row_access(at: Cursor) -> Change | None:
    """`p ON (…)`, the cursor after ROW ACCESS POLICY."""
    name = at.name()
    columns = at.names() if at.take("ON") else ()
    return Change("ADD", Domain.ROW_ACCESS_POLICY, name, columns=columns) if name else None


def column_policy(at: Cursor, column: str) -> Change | None:
    """`SET MASKING POLICY p [USING (…)] [FORCE]` or `UNSET MASKING POLICY` of a column; SET or DROP MASK."""
    if at.take("UNSET", "MASKING", "POLICY"):
        return Change("DROP", Domain.MASKING_POLICY, column=column)
    # MASK and ROW FILTER are Databricks': they name a function, not a policy.
    if at.take("DROP", "MASK"):
        return Change("DROP", Domain.MASKING_POLICY, column=column, function=True)
    if at.take("SET", "MASK"):
        return read_mask_clause(at, column)
    if not at.take("SET", "MASKING", "POLICY"):
        return None
    change = read_masking_clause(at, column)
    return replace(change, force=True) if change is not None and at.take("FORCE") else change


def read_mask_clause(at: Cursor, column: str) -> Change | None:
    """`f [USING COLUMNS (…)]`, the cursor after MASK."""
    name = at.name()
    using = at.names() if at.take("USING", "COLUMNS") else ()
    return Change("ADD", Domain.MASKING_POLICY, name, column, using, function=True) if name else None


def row_filter(at: Cursor) -> Change | None:
    """`f ON (…)`, the cursor after ROW FILTER; a function may ask for no column."""
    name = at.name()
    if not name or not at.take("ON") or at.word() != "(":
        return None
    return Change("ADD", Domain.ROW_ACCESS_POLICY, name, columns=at.names(), function=True)


def row_policy(at: Cursor) -> Change | None:
    """`ADD ROW ACCESS POLICY p ON (…)`, `DROP ROW ACCESS POLICY p`, `DROP ALL ROW ACCESS POLICIES`.

    And what Databricks calls a row filter: `SET ROW FILTER f ON (…)`, `DROP ROW FILTER`.
    """
    if at.take("SET", "ROW", "FILTER"):
        return row_filter(at)
    if at.take("DROP", "ROW", "FILTER"):
        return Change("DROP", Domain.ROW_ACCESS_POLICY, function=True)
    if at.take("ADD", "ROW", "ACCESS", "POLICY"):
        return row_access(at)
    if at.take("DROP", "ALL", "ROW", "ACCESS", "POLICIES"):
        return Change("DROP", Domain.ROW_ACCESS_POLICY)
    if at.take("DROP", "ROW", "ACCESS", "POLICY"):
        name = at.name()
        return Change("DROP", Domain.ROW_ACCESS_POLICY, name) if name else None
    return None


def _noun(domain: Domain) -> str:
    return domain.value.replace(" ", "_")


def _cut_options(at: Cursor) -> tuple[tuple[str, str | None], ...]:
    # `COMMENT = '…'` after the body belongs to the policy, unless it is all that there is of a body.
    found: list[tuple[str, str | None]] = []
    while True:
        end = len(at.tokens) - 1
        while at.tokens[end - 1].token_type is TokenType.STRING:
            end -= 1  # Spark joins literals that follow each other
        start = end - 2
        if (
            start <= at.at
            or at.tokens[start].text.upper() not in _OPTIONS
            or at.tokens[start + 1].text != "="
        ):
            return tuple(reversed(found))
        value = Cursor(at.tokens, at.text, end).string()
        found.append((at.tokens[start].text.lower(), value))
        at.tokens = at.tokens[:start]
