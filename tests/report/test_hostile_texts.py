"""Whatever stands in a record, in each of its texts: a page stays a page, and no cell or letter acts."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.core.plain_text import is_hidden
from tests.query.roots import make_root

from . import roots
from .pages import read
from .roots import DAYS, Story, ddl, moment, target, thing, written

TEXTS = {
    "a script": "<script>alert(1)</script>",
    "the end of a style": "</style></title><img src=x onerror=alert(1)>",
    "the end of an attribute": "\" onmouseover='alert(1)",
    "a template": "{{ 7*7 }}{% raw %}",
    "entities": "&lt;b&gt;&amp;amp;",
    "an id of SVG": 'href="#x" id="y" url(#z) "#010101"',
    "a formula": "=cmd|' /C calc'!A0",
    "a sum": "+1",
    "a wide sign": "\uff1d1",
    "a tab": "\t=1",
    "a return": "\r=1",
    "a line": "\n=1\r\nb",
    "the direction": "\u202egpj.exe\u2066",
    "no width": "a\u200bb\ufeffc\u00ad",
    "a terminal": "\x1b[31mred\x1b]0;t\x07\x9b31m\x7f\x08",
    "controls": "\x01\x02\u2028\u2029\ue000\U000e0041",
    "quotes": "a.`b`.\"c\".'d'\\",
    "emoji": "\U0001f468\u200d\U0001f469",
    "marks": "e" + "\u0301" * 200,
    "long": "M" * 40_000,
}
ASKED = {
    **{name: ["--pack", name] for name in ("pci-dss-10", "gdpr-30")},
    **{name: [name] for name in ("sensitive-data", "lineage", "retention")},
    "without names": ["access", "--without-names"],
    **{f"user with {name}": ["user", TEXTS[name]] for name in ("a script", "a formula", "the direction")},
    **{f"object with {name}": ["object", TEXTS[name]] for name in ("a script", "a terminal", "emoji")},
}


def acted(story, number, text, other):
    """What one user did, to whom all names and texts are the same."""
    at = moment(2 + number, number % 24)
    policy = {
        "policyName": text, "policyId": 70, "policyKind": "MASKING_POLICY", "policyVersion": "a" * 64,
        "changedResult": True,
    }  # fmt: skip
    column = {"columnId": 1, "columnName": text, "policies": [policy]}
    object_ = {**thing(text), "columns": [column], "policies": []}
    everywhere = dict.fromkeys(
        ("purpose", "query_tag", "role_name", "client_host", "client_program", "client_address", "os_user",
         "session_id"), text
    )  # fmt: skip
    story.read(at, text, text, thing(text, text), _policies_referenced=[object_], **everywhere)
    story.ran(
        at + timedelta(minutes=1), text, "INSERT", text, rows_produced=1,
        _objects_modified=[target(text, a=(other, text))], _direct_objects_accessed=[thing(other, text)],
        _base_objects_accessed=[thing(other, text)], _object_versions=[written(text, 3)],
    )  # fmt: skip
    story.flowed(at, other, text, column=text)
    grant = {"privileges": {"value": text}, "to": {"value": "USER"}, "grantee": {"value": text}}
    story.ran(at, text, "GRANT", text, _object_modified_by_ddl=ddl("ALTER", "Table", text, **grant))
    story.ran(at, text, text, text, "DENIED", error_code=text, objects_tried=[text])
    story.ran(at, text, "SELECT", text, _analysis="opaque", _analysis_reason=text)
    story.ran(at, text, "SELECT", text, "INCOMPLETE", application_id=text)
    story.happened(at, "AUDIT_QUERY", query=text, parameters={text: text})


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A root in which each text is a user, an object, a column, a policy and all else that is a text."""
    with pytest.MonkeyPatch.context() as patched:
        names = list(TEXTS.values())
        patched.setattr(roots, "_IDS", {text: 100 + number for number, text in enumerate(names)})
        story = Story()
        for number, text in enumerate(names):
            acted(story, number, text, names[number - 1])
    return make_root(tmp_path_factory.mktemp("hostile"), story.rows)


def made(hostile, asked, path):
    """The content of a report's file."""
    words = ["report", *ASKED[asked], *DAYS, "--root", hostile, "-o", str(path)]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return path.read_bytes().decode("utf-8-sig")


def hidden(text):
    """Letters that cannot be seen; lines and tabs are kept in cells."""
    return {ascii(one) for one in set(text) if one not in "\n\t" and is_hidden(one)}


@pytest.mark.parametrize("asked", ASKED)
def test_a_page_is_one(hostile, asked, tmp_path):
    """No element and no attribute comes from a record, each text is cut, and all can be seen."""
    text = made(hostile, asked, tmp_path / "a.html")
    page = read(text)
    assert not {one.tag for one in page.all()} & {"script", "img", "iframe", "b", "object", "embed"}
    names = {name for one in page.all() for name in one.attributes}
    assert not [one for one in names if one.startswith("on")]
    ids = [one.attributes["id"] for one in page.all() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    assert "49" not in page.first("h1").text  # a template that was filled in
    assert hidden(text) == set()
    assert len(text) < 4_000_000


@pytest.mark.parametrize("asked", ASKED)
def test_no_cell_acts(hostile, asked, tmp_path):
    """Nothing is a formula but a number, and no letter steers a terminal; a long text is whole."""
    csv.field_size_limit(1_000_000)
    text = made(hostile, asked, tmp_path / "a.csv")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))]
    assert hidden(text.replace("\r\n", "\n")) == set()


@pytest.mark.parametrize("asked", ASKED)
def test_json_says_all(hostile, asked, tmp_path):
    """Its escapes are JSON's own: a program reads what stood in the record."""
    text = made(hostile, asked, tmp_path / "a.json")
    assert hidden(text) == set()
    found = {
        value for figure in json.loads(text)["figures"] for row in figure["rows"] for value in row.values()
        if isinstance(value, str)
    }  # fmt: skip
    if asked == "pci-dss-10":
        assert found >= set(TEXTS.values())


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.parametrize("what", ["statements", "access_history", "table_lineage", "logging_history"])
def test_a_query_steers_no_terminal(hostile, form, what):
    """In each form of an answer, texts inside of structures too."""
    words = ["query", f"SELECT * FROM account_usage.{what}", "--format", form, "--root", hostile]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert (done.exit_code, hidden(done.stdout)) == (0, set())
