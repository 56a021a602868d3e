"""Two processes at once, each with its own JVM, over a Hive metastore that both reach: runs, and restores."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pyspark
import pytest

from audit.core.config import load
from audit.query.tables import opened
from audit.time_travel.backups.stored_backups import read_state

pytestmark = pytest.mark.long("a metastore and five JVMs")

SETS = 4
PREPARE = """
import sys
import audit
from audit.core.clock import SystemClock
from audit.spark.embedded.spark import by_path

class Behind(SystemClock):
    def now(self):
        return super().now() - 2 * 3_600_000_000

root, uri, warehouse, sets = sys.argv[1:]
spark = by_path({"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri})
audit.attach(spark, "ann", root, clock=Behind(), roles=["ACCOUNTADMIN"])
spark.sql(f"CREATE SCHEMA shop LOCATION '{warehouse}/shop.db'")
spark.sql("CREATE BACKUP POLICY shop.p SCHEDULE = '60 MINUTE'")
for number in range(int(sets)):
    spark.sql(f"CREATE TABLE shop.t{number} USING delta AS SELECT id FROM range(1000)")
    spark.sql(f"CREATE BACKUP SET shop.s{number} FOR TABLE shop.t{number} WITH BACKUP POLICY shop.p")
audit.detach(spark)
spark.stop()
"""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory):
    """The URI of a Hive metastore on loopback: the server that PySpark's jars hold, over an empty Derby."""
    folder = tmp_path_factory.mktemp("metastore")
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    settings = {
        "hive.async.log.enabled": "false",  # its queue is a library that Spark does not have
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
    }
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    options = [f"-D{name}={value}" for name, value in settings.items()]
    server = "org.apache.hadoop.hive.metastore.HiveMetaStore"
    with (folder / "log").open("w") as log:
        command = [java, "-cp", jars, *options, server, "-p", str(port)]
        with subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process:
            try:
                _wait_for(port, process, folder / "log")
                yield f"thrift://127.0.0.1:{port}"
            finally:
                process.kill()


def _wait_for(port, process, log):
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        with closing(socket.socket()) as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"the metastore did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def root(metastore, tmp_path_factory):
    """Tables, each with a backup set whose first run is due."""
    folder = tmp_path_factory.mktemp("root")
    arguments = [str(folder / "audit"), metastore, str(folder / "warehouse"), str(SETS)]
    subprocess.run([sys.executable, "-c", PREPARE, *arguments], check=True)
    return str(folder / "audit")


def at_once(metastore, root, *commands):
    """Exit code, rows and errors of each command; all run at the same time."""
    conf = f"spark.hadoop.hive.metastore.uris={metastore}"
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "audit.cli", *words, "--json", "--root", root, "--conf", conf],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for words in commands
    ]  # fmt: skip
    found = []
    for one in started:
        said, told = one.communicate(timeout=300)
        found.append((one.returncode, json.loads(said or "[]"), told))
    return found


def test_two_runners(metastore, root):
    """Each set has one backup, whoever made it, and it is on record once."""
    runs = at_once(metastore, root, ("backup", "run"), ("backup", "run"))
    assert [code for code, _, _ in runs] == [0, 0], runs
    made = sorted(one["backup set"] for _, rows, _ in runs for one in rows if one["what"] == "CREATED")
    assert made == [f"spark_catalog.shop.s{number}" for number in range(SETS)]
    assert {one["what"] for _, rows, _ in runs for one in rows} <= {"CREATED", "SKIPPED"}
    state = read_state(load({"root": root}))
    assert sorted(state.sets[one.set_id].name for one in state.all_backups()) == made
    ((code, verified, _),) = at_once(metastore, root, ("backup", "verify"))
    assert (code, [one["damages"] for one in verified]) == (0, [[]] * SETS)
    ((code, _, told),) = at_once(metastore, root, ("ingest",))
    assert code == 0, told
    with opened(root) as tables:
        query = "SELECT count(*) FROM account_usage.query_history WHERE query_text LIKE '% ADD BACKUP'"
        assert tables.ask(query, {}).rows == [(SETS,)]


def test_two_restores_to_one_name(metastore, root):
    """One makes the table; the other one says why it does not."""
    words = ("backup", "restore", "shop.s0", "shop.again")
    found = sorted(at_once(metastore, root, words, words))
    assert [code for code, _, _ in found] == [0, 2], found
    # By the lock, or by the name, which the other one has made by then.
    assert "another restore to" in found[1][2] or "exists; choose another name" in found[1][2]
    ((code, rows, told),) = at_once(metastore, root, ("backup", "restore", "shop.s1", "shop.more"))
    assert (code, [one["status"] for one in rows]) == (0, ["Table more successfully restored."]), told
