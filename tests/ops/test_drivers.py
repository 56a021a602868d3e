"""Several drivers on one root, and several users in one driver."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from delta.exceptions import captured
from pyspark.sql.functions import udf

import audit
from audit.spark.delta.conflicts import retried

from .helpers import ingest_all, read, statements, statuses

pytestmark = pytest.mark.spark

STATEMENTS = 12


@pytest.mark.parametrize(
    "drivers",
    [
        pytest.param(2, marks=pytest.mark.slow("two drivers")),
        pytest.param(4, marks=pytest.mark.long("four drivers on two cores: two minutes")),
    ],
)
def test_drivers_at_once_lose_nothing(spark, tmp_path, drivers):
    """Processes attach at the same instant on an empty root: every statement is there exactly once."""
    command = [sys.executable, "-m", "tests.ops.drivers", str(tmp_path)]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(STATEMENTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for number in range(drivers)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=180)
        assert process.returncode == 0, errors
        assert errors == ""
    assert [done.error for done in ingest_all(spark, tmp_path / "audit") if done.error] == []
    assert list((tmp_path / "audit" / "spool").iterdir()) == []
    expected = Counter(f"d{number}s{i}" for number in range(drivers) for i in range(STATEMENTS))
    root = tmp_path / "audit"
    assert set(statuses(spark, root).values()) == {"SUCCESS"}
    assert Counter(row.user_name for row in statements(spark, root)) == expected
    assert Counter(row.user_name for row in read(spark, root, "access_history")) == expected


@pytest.mark.parametrize("translated", [True, False], ids=["delta_imported", "delta_not_imported"])
def test_a_conflict_of_two_writers_is_tried_again(spark, tmp_path, monkeypatch, translated):
    """One replaces rows, another appends. A driver that has not imported Delta's Python tries again, too."""
    if not translated:
        monkeypatch.setattr(captured, "_convert_delta_exception", lambda _: None)
    table, started, go = (tmp_path / name for name in ("table", "started", "go"))
    spark.range(2).write.format("delta").save(str(table))

    @udf("long")
    def waiting(number):
        started.touch()
        deadline = time.monotonic() + 60
        while not go.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return number

    def replace_rows():
        tries.append(1)
        rows = spark.range(1).coalesce(1).select(waiting("id").alias("id"))
        rows.write.format("delta").mode("overwrite").option("replaceWhere", "id < 9").save(str(table))

    tries = []
    with ThreadPoolExecutor(1) as pool:
        replacing = pool.submit(retried, replace_rows)
        while not started.exists() and not replacing.done():
            time.sleep(0.01)
        spark.range(5, 6).write.format("delta").mode("append").save(str(table))
        go.touch()
        replacing.result(60)
    assert len(tries) == 2
    assert [row.id for row in spark.read.format("delta").load(str(table)).collect()] == [0]


def test_two_users_are_never_mixed(spark, tmp_path):
    """Two users in two threads of one driver: each record has its own user, text and session facts."""
    session = spark.newSession()
    audit.attach(session, user="nobody", root=str(tmp_path), schema="usage_two_users")
    ran: dict[str, list[str]] = {"ann": [], "bob": []}
    turn = threading.Barrier(2)

    def work(user):
        with audit.as_user(session, user, roles=[f"{user}s role"]):
            for i in range(15):
                text = f"SELECT '{user}' AS u, {i} AS i"
                turn.wait(60)
                session.sql(text).collect() if i % 3 else session.sql(f"SET {user}.x = {i}")
                ran[user].append(text if i % 3 else f"SET {user}.x = {i}")

    threads = [threading.Thread(target=work, args=(user,)) for user in ran]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        audit.flush(session)
        rows = sorted(statements(spark, tmp_path), key=lambda row: row.start_time)
    finally:
        audit.detach(session)
        spark.sql("DROP SCHEMA IF EXISTS usage_two_users CASCADE")
    for user, texts in ran.items():
        mine = [row for row in rows if row.user_name == user]
        assert [row.query_text for row in mine] == texts
        assert {row.role_name for row in mine} == {f"{user}s role".upper()}
    assert len(rows) == 30
    users = {row.query_id: row.user_name for row in rows}
    records = read(spark, tmp_path, "access_history")
    assert {row.query_id: row.user_name for row in records} == users
