package io.sparkaccesshistory.capture;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaHistoryManager;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/** The newest commits of a Delta table, told to Python in one call. */
public class LoggedCommits {
  private final ObjectMapper json = new ObjectMapper();

  /**
   * As JSON, the newest first: a list of [version, time in milliseconds, operation, metrics,
   * userMetadata, version of the source of a CLONE]; "null" where no Delta table lies. They are
   * read from their own files: Delta's history would start a Spark job for each look.
   *
   * @param since older ones are left out
   * @param most files opened at most
   */
  public String since(SparkSession spark, String location, long since, int most)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    if (!log.tableExists()) return "null";
    Path folder = log.logPath();
    Configuration conf = log.newDeltaHadoopConf();
    FileSystem files = folder.getFileSystem(conf);
    // The state that this JVM has cached: `update()` would list the log's folder, and the
    // statement's own commits have updated the cache already (Delta 4.4), unless another object of
    // Delta's has made them.
    long newest = log.unsafeVolatileSnapshot().version();
    // Somebody has deleted the table's files, and the cache does not know.
    if (newest >= 0 && !files.exists(FileNames.unsafeDeltaFile(folder, newest))) return "null";
    while (files.exists(FileNames.unsafeDeltaFile(folder, newest + 1))) newest++;
    List<Object[]> found = new ArrayList<>();
    for (long version = newest; version > Math.max(-1, newest - most); version--) {
      Path path = FileNames.unsafeDeltaFile(folder, version);
      // A checkpoint may have replaced older commits, and a DROP may be deleting them.
      if (!files.exists(path)) break;
      // Delta reads the commit's file up to its CommitInfo.
      Option<CommitInfo> info = DeltaHistoryManager.getCommitInfoOpt(log.store(), path, conf);
      if (info.isEmpty() || info.get().getTimestamp() < since) break;
      found.add(told(version, info.get()));
    }
    return json.writeValueAsString(found);
  }

  private static Object[] told(long version, CommitInfo info) {
    Map<String, String> metrics =
        info.operationMetrics().isEmpty() ? Map.of() : Scala.map(info.operationMetrics().get());
    // Delta keeps the parameters of an operation as JSON: a number as its digits.
    String cloned =
        info.operation().equals("CLONE")
            ? Scala.map(info.operationParameters()).get("sourceVersion")
            : null;
    return new Object[] {
      Long.valueOf(version),
      Long.valueOf(info.getTimestamp()),
      info.operation(),
      metrics,
      Scala.orNull(info.userMetadata()),
      cloned
    };
  }
}
