"""What makes Spark quick where many statements run once each: settings, and local files without `chmod`.

In: a JVM with Spark. Out: the same answers in a third of the time. Nothing here is for production.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A test process lives for a quarter of an hour: the second compiler pays for what runs often, so it begins
# later than by default. Derby syncs no file: a crash of the machine ends the tests anyway.
JAVA = (
    "-XX:TieredStopAtLevel=4"
    " -XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=3000 -XX:Tier4CompileThreshold=40000"
    " -XX:ReservedCodeCacheSize=400m -XX:+UseSerialGC -Xmn1200m"
    " -Djdk.lang.Process.launchMechanism=VFORK -Dderby.system.durability=test"
)
# A JVM of one test lives for a minute: the second compiler would take a third of it. These go by
# JAVA_TOOL_OPTIONS, which a JVM reads before its own options: those win.
JAVA_OF_ONE_TEST = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # A job for each stage, and the plan as text after each: an eighth of a run's time.
    "spark.sql.adaptive.enabled": "false",
    # Each plan runs once, over a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.default.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.ui.retainedExecutions": "10",
    # The plan of each execution is an event, as text: `formatted` takes a twentieth of a statement's time.
    "spark.sql.ui.explainMode": "simple",
    # Each broadcast takes a page, whatever is in it: a sixteenth of the heap by default.
    "spark.buffer.pageSize": "2m",
    # Hadoop's FileContext starts a process for each look at a local file, ten a commit: these go without it.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Hive's metastore looks at a folder's permissions, in a process, and sets them, in another.
    "spark.hadoop.hive.warehouse.subdir.inherit.perms": "false",
    "spark.driver.extraJavaOptions": JAVA,
}

GENERATED_CODE = "spark.sql.codegen.factoryMode"
# What `--hive` does without: it has Spark as users have it.
QUICKER = {
    "spark.sql.catalogImplementation": "in-memory",  # a metastore on Derby takes a fifth of a run
    # Each plan runs once: to generate its code, and to compile that, takes a good part of its time.
    GENERATED_CODE: "NO_CODEGEN",
}
# Of a driver that a test starts and whose Spark is not what it tests.
DRIVER_OF_ONE_TEST = {
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    GENERATED_CODE: "NO_CODEGEN",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JAVA_OF_ONE_TEST,
}


def use_plain_files(spark: SparkSession) -> None:
    """Let the JVM use `PlainFiles` for local files: Hadoop keeps one file system a scheme and user."""
    jvm = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((Path(__file__).parent / "PlainFiles.java").read_text("utf-8"))
    settings = jvm.org.apache.hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.file.impl", "PlainFiles")
    files = jvm.org.apache.hadoop.fs.FileSystem
    files.closeAll()
    found = files.get(jvm.java.net.URI("file:///"), settings)
    assert found.getClass().getSimpleName() == "PlainFiles"
