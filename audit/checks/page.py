"""The result of a check as one page of HTML.

In: a `CheckResult`. Out: HTML that needs no other file and runs no script; it follows light and dark.
Whatever comes from the tables or from a suite goes through `xml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from audit.checks.expectations import TOTALS
from audit.graph.forms.texts import xml

if TYPE_CHECKING:
    from audit.checks.outcome import Json, Outcome
    from audit.checks.result import CheckResult

_SHOWN_DAYS = 31
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --good: #1a7f37; --bad: #d1242f; --box: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --text: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --good: #3fb950; --bad: #f85149; --box: #151b23; } }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
p { margin: .25rem 0; }
.soft { color: var(--soft); }
.PASSED { color: var(--good); } .FAILED, .ERROR { color: var(--bad); }
table { border-collapse: collapse; margin: 1.25rem 0; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .45rem .6rem; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { font-variant-numeric: tabular-nums; text-align: right; }
.verdict { font-weight: 600; white-space: nowrap; }
code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
details { margin-top: .3rem; } summary { cursor: pointer; }
pre { background: var(--box); border-radius: 6px; margin: .4rem 0; padding: .5rem .7rem; }
"""
_SIGNS = {"PASSED": "✓ holds", "FAILED": "✗ does not hold", "ERROR": "✗ could not be asked"}


def page(result: CheckResult) -> str:
    """The page."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        # Whatever might slip through: the page may load nothing and run nothing.
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>Audit check, {xml(result.period)}</title><style>{_STYLE}</style></head>",
        "<body>",
        "<h1>Audit check</h1>",
        f'<p class="verdict {"PASSED" if result.success else "FAILED"}">{xml(result.summary)}</p>',
        f'<p class="soft">{xml(_origin(result))}</p>',
        *_totals(result),
        *_outcomes(result.outcomes),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _origin(result: CheckResult) -> str:
    return f"Root {result.root}, suite {result.suite_name}, {result.run_time:%Y-%m-%d %H:%M} UTC"


def _totals(result: CheckResult) -> Iterator[str]:
    yield '<table class="totals"><tr>'
    yield from (f'<th class="number">{xml(name.replace("_", " "))}</th>' for name in TOTALS)
    yield "</tr><tr>"
    yield from (f'<td class="number">{result.totals[name]:,}</td>' for name in TOTALS)
    yield "</tr></table>"


def _outcomes(outcomes: tuple[Outcome, ...]) -> Iterator[str]:
    yield '<table><tr><th>Expectation</th><th></th><th class="number">Offenders</th></tr>'
    # What is wrong stands on top.
    for one in sorted(outcomes, key=lambda outcome: outcome.passed):
        yield f"<tr><td><strong>{xml(one.name)}</strong>"
        if one.description:
            yield f'<p class="soft">{xml(one.description)}</p>'
        yield from _details(one)
        yield f'</td><td class="verdict {one.verdict}">{_SIGNS[one.verdict]}</td>'
        yield f'<td class="number">{one.offenders:,}</td></tr>'
    yield "</table>"


def _details(one: Outcome) -> Iterator[str]:
    if one.error is not None:
        yield f"<pre>{xml(one.error)}</pre>"
    for row in one.findings[:_SHOWN_DAYS]:
        yield f"<p>{xml(_finding(row))}</p>"
    if len(one.findings) > _SHOWN_DAYS:
        yield f"<p>… and {len(one.findings) - _SHOWN_DAYS:,} days more</p>"
    if one.query_ids:
        yield f"<details><summary>{len(one.query_ids)} query ids</summary><pre>"
        yield "\n".join(map(xml, one.query_ids))
        yield "</pre></details>"
    if not one.passed:
        asked = one.arguments.get("unexpected_rows_query") or one.arguments
        yield f"<details><summary>{xml(one.expectation_type)}</summary><pre>{xml(str(asked))}</pre></details>"


def _finding(row: Json) -> str:
    """A day and what is wrong in it.

    >>> _finding({"query_date": "2026-01-01", "offenders": 2, "query_ids": ["q"]})
    '2026-01-01: offenders 2'
    """
    more = {key: value for key, value in row.items() if key not in ("query_date", "query_ids")}
    said = ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in more.items())
    return ": ".join(filter(None, (str(row.get("query_date") or ""), said)))


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
