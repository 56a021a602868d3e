"""What is ingested is sent to a receiver: a file, or a server of HTTP; what it misses waits in the tables."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from audit.core.config import load
from audit.core.errors import ConfigInvalid
from audit.exchange.live.ledger import sender_lock
from audit.exchange.live.receiver import receiver_of
from audit.exchange.live.sending import Sent, send_waiting
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from tests.query.roots import append, make_root

from .roots import Root, query_id

BEGAN = datetime(2026, 11, 20, 12, 0, 30)  # noqa: DTZ001 - the tables' UTC, without a zone


class Server:
    """A receiver: answers by the statuses that it is told, else 201, and keeps what it has taken."""

    def __init__(self):
        self.taken, self.headers, self.statuses = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = outer.statuses.pop(0) if outer.statuses else 201
                if status == 201:
                    outer.taken.append(event)
                    outer.headers.append((self.path, self.headers["Authorization"]))
                self.send_response(status)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"said")

            def log_message(self, *_):
                """Nothing on stderr."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def runs(self):
        """The statements, in the order in which they have ended."""
        return [one["run"]["runId"] for one in self.taken if one["eventType"] != "START"]

    def close(self):
        """Listen no longer."""
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server():
    """A receiver that runs."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def root(tmp_path):
    """One statement, from before there was a receiver."""
    told = Root()
    told.ran("SELECT", "SELECT 0")
    (tmp_path / "root").mkdir()
    return make_root(tmp_path / "root", told.rows)


@pytest.fixture
def ran(root):
    """Ingests more statements: those with the numbers from one on, as one commit."""

    def run(first, last, status="SUCCESS"):
        told = Root()
        for number in range(last + 1):
            told.ran("SELECT", f"SELECT {number}", status if number >= first else "SUCCESS")
        append(root, QUERY_HISTORY, told.rows["query_history"][first:])
        append(root, ACCESS_HISTORY, told.rows["access_history"][first:])

    return run


@pytest.fixture
def send(root):
    """One round of sending."""

    def run(url, minutes=0, **options):
        config = load({"root": root, "openlineage_url": str(url)}, environ={})
        return send_waiting(config, BEGAN + timedelta(minutes=minutes), **options)

    return run


def lines(path):
    """The statements in a file, in the order in which they have ended."""
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [one["run"]["runId"] for one in events if one["eventType"] != "START"]


def test_what_is_ingested_from_now_on_is_sent(ran, send, tmp_path):
    """Each statement once; what was there before is the matter of an export."""
    path = tmp_path / "out" / "events.ndjson"
    assert send(path) == Sent()
    ran(1, 3)
    assert send(path) == Sent(sent=3)
    assert send(path) == Sent()
    ran(4, 4)
    assert send(path) == Sent(sent=1)
    assert lines(path) == [query_id(number) for number in (1, 2, 3, 4)]


def test_a_full_disk_leaves_no_half_of_a_line(ran, send, tmp_path):
    """What a file did not take waits."""
    send("/dev/full")
    ran(1, 1)
    done = send("/dev/full")
    assert (done.waiting, "No space left" in done.error) == (1, True)


def test_http(ran, send, server, monkeypatch):
    """Each event is posted, with the key of the environment."""
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "the key")
    send(server.url)
    ran(1, 2)
    assert send(server.url) == Sent(sent=2)
    assert [one["eventType"] for one in server.taken] == ["START", "COMPLETE"] * 2
    assert set(server.headers) == {("/api/v1/lineage", "Bearer the key")}
    with closing(receiver_of(f"{server.url}/openapi/lineage?x=1", {})) as other:
        other.send([b"{}"])
    assert server.headers[-1] == ("/openapi/lineage?x=1", None)


def test_a_receiver_that_is_down_gets_all_of_it_later(ran, send, server, root, command, monkeypatch):
    """Nothing is dropped, `audit status` tells how far it is behind, and the order stays."""
    send(server.url)
    ran(1, 3)
    server.statuses = [201, 201, 503]
    done = send(server.url)
    assert (done.sent, done.waiting) == (1, 2)
    assert "503 said" in done.error
    monkeypatch.setenv("AUDIT_OPENLINEAGE_URL", server.url)
    (row,) = status(root, command)
    assert (row["waiting"], row["rows"]) == (2, 1)
    assert "503" in row["state"]
    ran(4, 4)
    assert command("export", "send", "--json", "--root", root).exit_code == 0
    assert server.runs == [query_id(number) for number in (1, 2, 3, 4)]
    (row,) = status(root, command)
    assert (row["waiting"], row["rows"], row["state"]) == (0, 4, "has all")


def status(root, command):
    """The rows of `audit status` about the receiver."""
    found = json.loads(command("status", "--json", "--root", root).stdout)
    return [row for row in found if row["kind"] == "receiver"]


def test_nobody_answers(ran, send, root, command, monkeypatch):
    """As well; the command's exit code says that something waits."""
    server = Server()
    url = server.url
    send(url)
    ran(1, 1)
    server.close()
    assert send(url).waiting == 1
    monkeypatch.setenv("AUDIT_OPENLINEAGE_URL", url)
    said = json.loads(command("export", "send", "--json", "--root", root, code=1).stdout)
    assert said[0]["waiting"] == 1


def test_an_event_that_is_refused_holds_up_no_other(ran, send, server, root, command, monkeypatch):
    """It is counted, and not tried again."""
    send(server.url)
    ran(1, 3)
    server.statuses = [201, 201, 422]
    assert send(server.url) == Sent(sent=2, refused=1)
    assert send(server.url) == Sent()
    assert server.runs == [query_id(1), query_id(3)]
    monkeypatch.setenv("AUDIT_OPENLINEAGE_URL", server.url)
    (row,) = status(root, command)
    assert "has refused 1 statements" in row["state"]


def test_a_sender_that_dies_sends_again_and_never_less(ran, send, server):
    """The receiver had taken the statement, and the ledger did not know yet."""

    class Dying:
        def send(self, events):
            with closing(receiver_of(server.url, {})) as real:
                real.send(events)
            raise KeyboardInterrupt

        def close(self):
            """Nothing is open."""

    send(server.url)
    ran(1, 2)
    with pytest.raises(KeyboardInterrupt):
        send(server.url, receiver=Dying())
    assert send(server.url) == Sent(sent=2)
    assert server.runs == [query_id(1), query_id(1), query_id(2)]


def test_files_that_are_written_anew_are_not_sent_again(ran, send, root, tmp_path):
    """Compaction puts many commits into one file."""
    path = tmp_path / "events.ndjson"
    send(path)
    ran(1, 1)
    ran(2, 2)
    assert send(path) == Sent(sent=2)
    ran(3, 3)
    DeltaTable(f"{root}/query_history").optimize.compact()
    assert send(path) == Sent(sent=1)
    assert lines(path) == [query_id(number) for number in (1, 2, 3)]


def test_a_statement_that_runs_is_sent_when_it_has_ended(ran, send, root, tmp_path):
    """Its row is replaced then."""
    path = tmp_path / "events.ndjson"
    send(path)
    ran(1, 1, "RUNNING")
    assert send(path) == Sent()
    DeltaTable(f"{root}/query_history").delete("execution_status = 'RUNNING'")
    ran(1, 1)
    assert send(path) == Sent(sent=1)


def test_what_was_sent_long_ago_is_forgotten(ran, send, root, tmp_path):
    """So that the ledger does not grow for ever; files that are known are still known."""
    path = tmp_path / "events.ndjson"
    send(path)
    ran(1, 2)
    send(path)
    assert send(path, minutes=60 * 24 * 40) == Sent()
    assert lines(path) == [query_id(1), query_id(2)]
    found = DeltaTable(f"{root}/query_history").to_pyarrow_table()
    assert pc.count(found["query_id"]).as_py() == 3


def test_one_sender_at_a_time(ran, send, root, tmp_path):
    """Two drivers of a machine share the root."""
    path = tmp_path / "events.ndjson"
    send(path)
    ran(1, 1)
    config = load({"root": root}, environ={})
    with sender_lock(config.spool_home) as is_ours:
        assert is_ours
        assert send(path) == Sent()
    assert send(path) == Sent(sent=1)


def test_another_receiver_begins_anew(ran, send, tmp_path):
    """With what is ingested from then on."""
    send(tmp_path / "one")
    ran(1, 1)
    assert send(tmp_path / "two", minutes=5) == Sent()
    ran(6, 6)
    assert send(tmp_path / "two", minutes=6) == Sent(sent=1)


def test_a_round_can_be_stopped(ran, send, tmp_path):
    """Between two statements, when the driver ends."""
    path, asked = tmp_path / "events.ndjson", []
    send(path)
    ran(1, 3)
    done = send(path, stopped=lambda: bool(asked.append(1)) or len(asked) > 1)
    assert (done.sent, done.waiting) == (1, 2)
    assert send(path) == Sent(sent=2)


def test_a_url_has_no_password(tmp_path):
    """The configuration is on record."""
    for url in ("http://ann:secret@host/", "https://"):
        with pytest.raises(ConfigInvalid):
            load({"root": str(tmp_path), "openlineage_url": url}, environ={})


def test_without_a_receiver(root, command):
    """`audit status` says nothing of it, and there is nothing to send."""
    assert status(root, command) == []
    assert "AUDIT_SENDING" in command("export", "send", "--root", root, code=2).stderr
