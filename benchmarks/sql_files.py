"""The SQL files of Spark's own tests, cut into statements as Spark's suite cuts them.

In: the text of an input file, and those that it imports. Out: `SqlFile`: the statements in order, the
settings that they run under, and, for a file that this project does not run, the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_END = re.compile(r"(?<=[^\\]);")
_SETTING = re.compile(r"--(?:SET|CONFIG_DIM\d+) (.+)")
_QUERY_HEAD = "-- !query\n"
_QUERY_PARTS = re.compile(r"^-- !query (?:schema|output)\n", re.MULTILINE)

# SQLQueryTestSuite, `ignoreList` and what its traits set (Spark 4.2).
_IGNORED = {"ignored.sql": "Spark's own suite leaves it out"}
_BY_FOLDER = {
    "nonansi/": {"spark.sql.ansi.enabled": "false"},
    "timestampNTZ/": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "postgreSQL/": {"spark.sql.legacy.interval.enabled": "true"},
    "udf/postgreSQL/": {"spark.sql.legacy.interval.enabled": "true"},
}


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One input file.

    Attributes:
        name: its path below `sql-tests/inputs`.
        statements: in order, without semicolons.
        settings: of the session, by key.
        skipped: why it is not run; None for one that is.
    """

    name: str
    statements: tuple[str, ...]
    settings: Mapping[str, str]
    skipped: str | None = None


def sql_files(inputs: Mapping[str, str]) -> Iterator[SqlFile]:
    """All files, by name.

    Args:
        inputs: texts by their path below `sql-tests/inputs`.
    """
    for name, text in sorted(inputs.items()):
        comments = _comments(text)
        imported = (line[9:].strip() for line in comments if line.startswith("--IMPORT "))
        code = [line for other in imported for line in _code(inputs[other])]
        folder = next((f for f in _BY_FOLDER if name.startswith(f)), "")
        yield SqlFile(
            name,
            tuple(_statements([*code, *_code(text)])),
            {**_BY_FOLDER.get(folder, {}), **dict(_settings(comments))},
            _IGNORED.get(name),
        )


def answered(result: str) -> Iterator[tuple[str, bool]]:
    r"""The statements of a result file, each with whether Spark accepted it.

    >>> list(answered("-- head\n-- !query\nSELECT 1\n-- !query schema\nstruct<1:int>\n-- !query output\n1\n"))
    [('SELECT 1', True)]
    """
    for block in result.split(_QUERY_HEAD)[1:]:
        sql, _, output = _QUERY_PARTS.split(block, maxsplit=2)
        yield sql.strip(), not re.match(r"(org|java|scala)\.[\w.$]+(Exception|Error)\b", output)


def _comments(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if not _is_code(line)]


def _code(text: str) -> list[str]:
    return [line for line in text.split("\n") if _is_code(line)]


def _is_code(line: str) -> bool:
    line = line.strip()
    return not line.startswith("--") or line.startswith("--QUERY-DELIMITER")


def _settings(comments: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of `--SET`, and of the first `--CONFIG_DIMn` of each n: the suite runs every one, we one."""
    seen: set[str] = set()
    for line in comments:
        found = _SETTING.match(line)
        head = line.split(" ", 1)[0]
        if found is None or head in seen:
            continue
        if head != "--SET":
            seen.add(head)
        for pair in found[1].split(","):
            key, _, value = pair.partition("=")
            yield key.strip(), value.strip()


def _statements(code: list[str]) -> Iterator[str]:
    """Cut at semicolons, and never between the two marks of a delimited query."""
    pieces: list[str] = []
    loose: list[str] = []
    delimited: list[str] | None = None
    for line in code:
        if line.strip().startswith("--QUERY-DELIMITER-START"):
            pieces += _END.split("\n".join(loose))
            loose, delimited = [], []
        elif line.strip().startswith("--QUERY-DELIMITER-END"):
            pieces.append("\n".join(delimited or ()).removesuffix(";"))
            delimited = None
        elif delimited is not None:
            delimited.append(line)
        else:
            loose.append(line)
    pieces += _END.split("\n".join(loose))
    for piece in pieces:
        lines = (line for line in piece.strip().split("\n") if not line.startswith("--"))
        text = "\n".join(lines).strip()
        if text:
            yield text
