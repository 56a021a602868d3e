import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaHistoryManager;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/** The commits of Delta tables, found without a Spark job and without listing a log of ten thousand files: the
 *  name of a commit is known by its version, so that a search by time opens fourteen of them. Compiled by
 *  Janino at run time: no lambdas, no generics. */
public class Commits {
  /** "table_id latest earliest first": a version, the oldest one that can be read, and the first in whose commits
   *  the time stands (`Long.MAX_VALUE` for none); "" where no Delta table lies. */
  public String state(SparkSession spark, String location) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    if (now.version() < 0) return "";
    return now.metadata().id() + " " + now.version() + " " + earliest(log) + " " + timed(now);
  }

  private static long earliest(DeltaLog log) {
    try {
      Path first = FileNames.unsafeDeltaFile(log.logPath(), 0L);
      if (first.getFileSystem(log.newDeltaHadoopConf()).exists(first)) return 0L;
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return log.history().getEarliestRecreatableCommit();
  }

  private static long timed(Snapshot now) {
    scala.collection.immutable.Map conf = now.metadata().configuration();
    Option enabled = conf.get("delta.enableInCommitTimestamps");
    if (enabled.isEmpty() || !"true".equalsIgnoreCase(String.valueOf(enabled.get()))) return Long.MAX_VALUE;
    Option since = conf.get("delta.inCommitTimestampEnablementVersion");
    return since.isEmpty() ? 0L : Long.parseLong(String.valueOf(since.get()));
  }

  /** When a version was committed, in milliseconds since the epoch; -1 where its commit is gone. */
  public long time(SparkSession spark, String location, long version, boolean timed) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    try {
      Path path = FileNames.unsafeDeltaFile(log.logPath(), version);
      if (!timed) return path.getFileSystem(conf).getFileStatus(path).getModificationTime();
      CommitInfo info = info(log, conf, version);
      return info == null ? -1L : ((Long) info.inCommitTimestamp().get()).longValue();
    } catch (java.io.FileNotFoundException e) {
      return -1L;
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static CommitInfo info(DeltaLog log, Configuration conf, long version) throws java.io.IOException {
    Path path = FileNames.unsafeDeltaFile(log.logPath(), version);
    Option found = DeltaHistoryManager.getCommitInfoOpt(log.store(), path, conf);
    return found.isEmpty() ? null : (CommitInfo) found.get();
  }

  /** The last version from `low` to `high` that was committed by a time; low - 1 where there is none. All of them
   *  have their time inside. */
  public long lastBy(SparkSession spark, String location, long low, long high, long millis) {
    long first = low;
    while (first <= high) {
      long middle = (first + high) / 2;
      long then = time(spark, location, middle, true);
      if (then >= 0 && then <= millis) first = middle + 1; else high = middle - 1;
    }
    return first - 1;
  }

  /** The last version by a time of a table some of whose commits do not have it inside: Delta's own search. */
  public long delta(SparkSession spark, String location, long millis) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    return log.history().getActiveCommitAtTime(
        new java.sql.Timestamp(millis), Option.empty(), true, true, true).version();
  }

  /** "first last" of the versions from `low` on that carry a statement's id; "" for none. */
  public String written(SparkSession spark, String location, long low, long high, String statement) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    long first = -1, last = -1;
    try {
      for (long version = low; version <= high; version++) {
        CommitInfo info = info(log, conf, version);
        Option by = info == null ? Option.empty() : info.userMetadata();
        boolean fits = !by.isEmpty() && statement.equals(by.get());
        if (fits && first < 0) first = version;
        if (fits) last = version;
        else if (first >= 0 && version > last + 100) break;
      }
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return first < 0 ? "" : first + " " + last;
  }

  /** "bytes rows created" of the newest version: rows is -1 where a file has no statistics; milliseconds. */
  public String size(SparkSession spark, String location) {
    Snapshot now = DeltaLog.forTable(spark, location).update(false, Option.empty(), Option.empty());
    Option created = now.metadata().createdTime();
    org.apache.spark.sql.Row row = (org.apache.spark.sql.Row) now.allFiles().toDF().selectExpr(new String[] {
        "coalesce(sum(size), 0L)",
        "if(count(*) = count(get_json_object(stats, '$.numRecords')),"
            + " coalesce(sum(cast(get_json_object(stats, '$.numRecords') as bigint)), 0L)"
            + " - coalesce(sum(deletionVector.cardinality), 0L), -1L)"}).head();
    return row.getLong(0) + " " + row.getLong(1) + " " + (created.isEmpty() ? -1L : ((Long) created.get()).longValue());
  }

  /** The properties of a table that begin with a prefix, as `state` has seen it last: a line each, "key=value". */
  public String properties(SparkSession spark, String location, String prefix) {
    StringBuilder found = new StringBuilder();
    scala.collection.Iterator each =
        DeltaLog.forTable(spark, location).unsafeVolatileSnapshot().metadata().configuration().iterator();
    while (each.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) each.next();
      if (((String) pair._1()).startsWith(prefix)) found.append(pair._1()).append('=').append(pair._2()).append('\n');
    }
    return found.toString();
  }

  /** The columns of a version, as the JSON of its schema. */
  public String schema(SparkSession spark, String location, long version) {
    return at(spark, location, version).metadata().schemaString();
  }

  /** The id of a table at a version. */
  public String id(SparkSession spark, String location, long version) {
    return at(spark, location, version).metadata().id();
  }

  private static Snapshot at(SparkSession spark, String location, long version) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.unsafeVolatileSnapshot();
    if (version == now.version()) return now;
    return log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), false);
  }
}
