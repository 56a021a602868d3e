import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
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

  /** The commits from `low` to `high` as JSON, each [version, milliseconds, operation, userMetadata, version restored];
   *  those whose files are gone are missing. */
  public String commits(SparkSession spark, String location, long low, long high) throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    List found = new ArrayList();
    for (long version = low; version <= high; version++) {
      try {
        CommitInfo info = info(log, conf, version);
        if (info != null) found.add(commit(info, version));
      } catch (java.io.FileNotFoundException e) {
        continue;
      }
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  private static List commit(CommitInfo info, long version) {
    List fields = new ArrayList();
    fields.add(Long.valueOf(version));
    fields.add(info.inCommitTimestamp().isDefined() ? info.inCommitTimestamp().get() : Long.valueOf(info.timestamp().getTime()));
    fields.add(info.operation());
    fields.add(info.userMetadata().isDefined() ? info.userMetadata().get() : null);
    Option restored = "RESTORE".equals(info.operation()) ? info.operationParameters().get("version") : Option.empty();
    // Delta keeps the parameters of an operation as JSON: null where a time was given.
    fields.add(restored.isEmpty() || restored.get() == null ? null : String.valueOf(restored.get()));
    return fields;
  }

  /** Delta's id of a table at a version. */
  public String id(SparkSession spark, String location, long version) {
    return at(spark, location, version).metadata().id();
  }

  /** Why a version cannot be restored, "" where it can: a file of it has been deleted (those of today's version are
   *  not looked for), or, where `enforced`, it is older than what Delta restores. */
  public String lost(SparkSession spark, String location, long version, boolean enforced) throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot then = at(spark, location, version);
    try {
      if (enforced) log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), true);
    } catch (Exception e) {
      if (e instanceof org.apache.spark.sql.AnalysisException) return e.getMessage();
      throw e;
    }
    String[] path = new String[] {"path"};
    List rows = then.allFiles().toDF().selectExpr(path)
        .except(log.unsafeVolatileSnapshot().allFiles().toDF().selectExpr(path)).collectAsList();
    for (int i = 0; i < rows.size(); i++) {
      String name = ((org.apache.spark.sql.Row) rows.get(i)).getString(0);
      Path file = new Path(log.dataPath(), new Path(new java.net.URI(name)));
      if (!file.getFileSystem(log.newDeltaHadoopConf()).exists(file)) return "its file " + file + " has been deleted";
    }
    return "";
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
    return lines(DeltaLog.forTable(spark, location).unsafeVolatileSnapshot(), prefix);
  }

  /** The same of a version. */
  public String propertiesAt(SparkSession spark, String location, long version, String prefix) {
    return lines(at(spark, location, version), prefix);
  }

  private static String lines(Snapshot snapshot, String prefix) {
    StringBuilder found = new StringBuilder();
    scala.collection.Iterator each = snapshot.metadata().configuration().iterator();
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

  private static Snapshot at(SparkSession spark, String location, long version) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.unsafeVolatileSnapshot();
    if (version == now.version()) return now;
    return log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), false);
  }
}
