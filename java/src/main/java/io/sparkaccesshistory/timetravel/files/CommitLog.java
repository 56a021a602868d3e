package io.sparkaccesshistory.timetravel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaHistoryManager;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/**
 * The commits of Delta tables, found without a Spark job and without listing a log of ten thousand
 * files: the name of a commit is known by its version, so that a search by time opens fourteen of
 * them.
 */
public class CommitLog {
  /**
   * Operations that make one commit; others (OPTIMIZE, ALTER TABLE) may make more, among those of
   * others.
   */
  private static final List<String> AT_ONCE =
      List.of(
          "WRITE",
          "MERGE",
          "UPDATE",
          "DELETE",
          "TRUNCATE",
          "RESTORE",
          "CLONE",
          "CREATE TABLE",
          "CREATE TABLE AS SELECT",
          "REPLACE TABLE",
          "REPLACE TABLE AS SELECT",
          "CREATE OR REPLACE TABLE",
          "CREATE OR REPLACE TABLE AS SELECT");

  /**
   * The first commit of a log that has been cleaned, by the table's id: it stays the first until it
   * goes itself.
   */
  private final Map<String, Long> earliest = new ConcurrentHashMap<>();

  /**
   * "table_id latest earliest first": a version, the oldest one that can be read, and the first in
   * whose commits the time stands (`Long.MAX_VALUE` for none); "" where no Delta table lies.
   */
  public String state(SparkSession spark, String location) throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = newest(log);
    if (now.version() < 0) return "";
    return now.metadata().id()
        + " "
        + now.version()
        + " "
        + earliest(log, now.metadata().id())
        + " "
        + timed(now);
  }

  /**
   * The newest version. Delta lists the log for it; where the last commit is the one that it knows,
   * and there is no next one, that is spared.
   */
  private static Snapshot newest(DeltaLog log) throws java.io.IOException {
    Snapshot known = log.unsafeVolatileSnapshot();
    Path last = FileNames.unsafeDeltaFile(log.logPath(), Math.max(0L, known.version()));
    FileSystem store = last.getFileSystem(log.newDeltaHadoopConf());
    if (known.version() < 0 && !store.exists(log.logPath())) return known;
    if (known.version() >= 0
        && !store.exists(FileNames.unsafeDeltaFile(log.logPath(), known.version() + 1))) {
      try {
        long then = known.logSegment().lastCommitFileModificationTimestamp();
        if (store.getFileStatus(last).getModificationTime() == then) return known;
      } catch (java.io.FileNotFoundException e) {
        // The folder is gone, or another table lies there.
      }
    }
    return log.update(false, Option.empty(), Option.empty());
  }

  private long earliest(DeltaLog log, String table) throws java.io.IOException {
    long first = earliest.getOrDefault(table, 0L);
    Path path = FileNames.unsafeDeltaFile(log.logPath(), first);
    if (path.getFileSystem(log.newDeltaHadoopConf()).exists(path)) return first;
    first = log.history().getEarliestRecreatableCommit();
    earliest.put(table, first);
    return first;
  }

  private static long timed(Snapshot now) {
    Map<String, String> conf = Scala.map(now.metadata().configuration());
    if (!"true".equalsIgnoreCase(conf.get("delta.enableInCommitTimestamps"))) return Long.MAX_VALUE;
    return Long.parseLong(conf.getOrDefault("delta.inCommitTimestampEnablementVersion", "0"));
  }

  /** When a version was committed, in milliseconds since the epoch; -1 where its commit is gone. */
  public long time(SparkSession spark, String location, long version, boolean timed) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    return time(log, log.newDeltaHadoopConf(), version, timed);
  }

  private static long time(DeltaLog log, Configuration conf, long version, boolean timed) {
    try {
      Path path = FileNames.unsafeDeltaFile(log.logPath(), version);
      if (!timed) return path.getFileSystem(conf).getFileStatus(path).getModificationTime();
      CommitInfo info = info(log, conf, version);
      return info == null ? -1L : (Long) info.inCommitTimestamp().get();
    } catch (java.io.FileNotFoundException e) {
      return -1L;
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static CommitInfo info(DeltaLog log, Configuration conf, long version)
      throws java.io.IOException {
    Path path = FileNames.unsafeDeltaFile(log.logPath(), version);
    var found = DeltaHistoryManager.getCommitInfoOpt(log.store(), path, conf);
    return found.isEmpty() ? null : found.get();
  }

  /**
   * The last version from `low` to `high` that was committed by a time; low - 1 where there is
   * none. All of them have their time inside. Each look is where the time would stand if commits
   * came evenly, and each second one in the middle: some four files of ten thousand are opened, and
   * never more than twice the logarithm.
   */
  public long lastBy(SparkSession spark, String location, long low, long high, long millis) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    long first = time(log, conf, low, true), last = time(log, conf, high, true);
    if (first > millis) return low - 1;
    if (last >= 0 && last <= millis) return high;
    boolean even = first >= 0 && last > first;
    while (low + 1 < high) { // `low` is by the time, `high` is not
      long middle = (low + high) / 2;
      if (even) middle = low + (long) ((high - low) * ((double) (millis - first) / (last - first)));
      middle = Math.max(low + 1, Math.min(high - 1, middle));
      long then = time(log, conf, middle, true);
      if (then >= 0 && then <= millis) {
        low = middle;
        first = then;
      } else {
        high = middle;
        if (then >= 0) last = then;
      }
      even = !even && first >= 0 && last > first;
    }
    return low;
  }

  /**
   * The last version by a time of a table some of whose commits do not have it inside: Delta's own
   * search.
   */
  public long delta(SparkSession spark, String location, long millis) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    return log.history()
        .getActiveCommitAtTime(new java.sql.Timestamp(millis), Option.empty(), true, true, true)
        .version();
  }

  /** "first last" of the versions from `low` on that carry a statement's id; "" for none. */
  public String written(
      SparkSession spark, String location, long low, long high, String statement) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    long first = -1, last = -1;
    try {
      for (long version = low; version <= high; version++) {
        CommitInfo info = info(log, conf, version);
        if (info != null && statement.equals(Scala.orNull(info.userMetadata()))) {
          if (first < 0) first = version;
          last = version;
          // What creates a table behind its policies fills it by a commit of its own.
          if (version > 0 && AT_ONCE.contains(info.operation())) break;
        } else if (first >= 0 && (last == 0 || version > last + 100)) {
          break;
        }
      }
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return first < 0 ? "" : first + " " + last;
  }

  /**
   * The commits from `low` to `high` as JSON, each [version, milliseconds, operation, userMetadata,
   * version restored]; those whose files are gone are missing.
   */
  public String commits(SparkSession spark, String location, long low, long high)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Configuration conf = log.newDeltaHadoopConf();
    List<List<Object>> found = new ArrayList<>();
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

  private static List<Object> commit(CommitInfo info, long version) {
    List<Object> fields = new ArrayList<>();
    fields.add(version);
    fields.add(
        info.inCommitTimestamp().isDefined()
            ? info.inCommitTimestamp().get()
            : (Object) info.timestamp().getTime());
    fields.add(info.operation());
    fields.add(Scala.orNull(info.userMetadata()));
    // Delta keeps the parameters of an operation as JSON: null where a time was given.
    Map<?, ?> parameters = Scala.map((scala.collection.Map<?, ?>) info.operationParameters());
    Object restored = "RESTORE".equals(info.operation()) ? parameters.get("version") : null;
    fields.add(restored == null ? null : String.valueOf(restored));
    return fields;
  }

  /** Delta's id of a table at a version. */
  public String id(SparkSession spark, String location, long version) {
    return metadata(spark, location, version).id();
  }

  /**
   * Why a version cannot be restored, "" where it can: a file of it has been deleted (those of
   * today's version are not looked for), or, where `enforced`, it is older than what Delta
   * restores.
   */
  public String lost(SparkSession spark, String location, long version, boolean enforced)
      throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot then = at(spark, location, version);
    try {
      if (enforced)
        log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), true);
    } catch (Exception e) {
      if (e instanceof org.apache.spark.sql.AnalysisException) return e.getMessage();
      throw e;
    }
    String[] path = new String[] {"path"};
    var rows =
        then.allFiles()
            .toDF()
            .selectExpr(path)
            .except(log.unsafeVolatileSnapshot().allFiles().toDF().selectExpr(path))
            .collectAsList();
    for (Row row : rows) {
      String name = row.getString(0);
      Path file = new Path(log.dataPath(), new Path(new java.net.URI(name)));
      if (!file.getFileSystem(log.newDeltaHadoopConf()).exists(file))
        return "its file " + file + " has been deleted";
    }
    return "";
  }

  /**
   * "bytes rows created" of the newest version: rows is -1 where a file has no statistics;
   * milliseconds. In the second line the columns it is clustered by.
   */
  public String size(SparkSession spark, String location) throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    var created = now.metadata().createdTime();
    VersionFiles files = VersionFiles.of(now, log);
    long[] found = files.isShort() ? size(files.all()) : sizeByJob(now);
    return found[0]
        + " "
        + found[1]
        + " "
        + (created.isEmpty() ? -1L : (Long) created.get())
        + "\n"
        + String.join(", ", Scala.list(ClusteringColumnInfo.extractLogicalNames(now)));
  }

  private static long[] size(List<AddFile> files) {
    long bytes = 0;
    long rows = 0;
    for (AddFile file : files) {
      bytes += file.size();
      Option<Object> counted = file.numLogicalRecords();
      rows = rows < 0 || counted.isEmpty() ? -1 : rows + (Long) counted.get();
    }
    return new long[] {bytes, rows};
  }

  private static long[] sizeByJob(Snapshot now) {
    Row row =
        now.allFiles()
            .toDF()
            .selectExpr(
                new String[] {
                  "coalesce(sum(size), 0L)",
                  "if(count(*) = count(get_json_object(stats, '$.numRecords')),"
                      + " coalesce(sum(cast(get_json_object(stats, '$.numRecords') as bigint)), 0L)"
                      + " - coalesce(sum(deletionVector.cardinality), 0L), -1L)"
                })
            .head();
    return new long[] {row.getLong(0), row.getLong(1)};
  }

  /**
   * The properties of a table that begin with a prefix, as `state` has seen it last: a line each,
   * "key=value".
   */
  public String properties(SparkSession spark, String location, String prefix) {
    return lines(DeltaLog.forTable(spark, location).unsafeVolatileSnapshot().metadata(), prefix);
  }

  /** The same of a version. */
  public String propertiesAt(SparkSession spark, String location, long version, String prefix) {
    return lines(metadata(spark, location, version), prefix);
  }

  private static String lines(Metadata metadata, String prefix) {
    StringBuilder found = new StringBuilder();
    Scala.map(metadata.configuration())
        .forEach(
            (key, value) -> {
              if (key.startsWith(prefix)) found.append(key).append('=').append(value).append('\n');
            });
    return found.toString();
  }

  /**
   * The columns of a version, as the JSON of its schema; -1: of the newest, as `state` has seen it
   * last.
   */
  public String schema(SparkSession spark, String location, long version) {
    if (version < 0)
      return DeltaLog.forTable(spark, location).unsafeVolatileSnapshot().metadata().schemaString();
    return metadata(spark, location, version).schemaString();
  }

  /**
   * What a version says of the table: from its checksum file, where it has one, without a Spark
   * job.
   */
  private static Metadata metadata(SparkSession spark, String location, long version) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    if (version == log.unsafeVolatileSnapshot().version())
      return log.unsafeVolatileSnapshot().metadata();
    var checksum = log.readChecksum(version, Option.empty());
    Metadata then = checksum.isEmpty() ? null : checksum.get().metadata();
    return then != null ? then : at(spark, location, version).metadata();
  }

  private static Snapshot at(SparkSession spark, String location, long version) {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.unsafeVolatileSnapshot();
    if (version == now.version()) return now;
    return log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), false);
  }
}
