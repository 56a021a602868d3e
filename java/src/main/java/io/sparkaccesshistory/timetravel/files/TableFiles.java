package io.sparkaccesshistory.timetravel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.sparkaccesshistory.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.CheckpointProvider;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.FileBasedCheckpointProvider;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.TruncationGranularity;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.VacuumCommand$;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.util.ManualClock;
import scala.Option;

/**
 * The files of Delta tables: which log files tell of them, and their deletion, which is Delta's own
 * VACUUM.
 */
public class TableFiles {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Where a table lies in full, its id, version, creation, properties, the bytes of a row by
   * Spark's estimate, and the files of the log that make up its newest state; "null" where no Delta
   * table lies.
   */
  public String described(SparkSession spark, String location) throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    if (now.version() < 0) return "null";
    Map<String, Object> found = new LinkedHashMap<>();
    FileSystem store = log.dataPath().getFileSystem(log.newDeltaHadoopConf());
    found.put("root", store.makeQualified(log.dataPath()).toString());
    found.put("id", now.metadata().id());
    found.put("version", now.version());
    found.put("created", Scala.orNull(now.metadata().createdTime()));
    found.put("changed", now.timestamp());
    found.put("row_bytes", now.metadata().schema().defaultSize());
    found.put("properties", Scala.map(now.metadata().configuration()));
    DeltaLogFileIndex deltas = Scala.orNull(now.deltaFileIndexOpt());
    List<String> commits = deltas == null ? List.of() : List.of(deltas.inputFiles());
    found.put("commits", commits);
    List<String> json = new ArrayList<>(), parquet = new ArrayList<>();
    CheckpointProvider checkpoint = now.checkpointProvider();
    if (!checkpoint.isEmpty()) {
      var indexes =
          ((FileBasedCheckpointProvider) checkpoint).allActionsFileIndexesAndSchemas(spark, log);
      for (var pair : Scala.list(indexes)) {
        DeltaLogFileIndex index = pair._1();
        boolean isJson = index.format().getClass().getSimpleName().toLowerCase().contains("json");
        (isJson ? json : parquet).addAll(List.of(index.inputFiles()));
      }
    }
    found.put("checkpoint_json", json);
    found.put("checkpoint_parquet", parquet);
    found.put("checkpoint_version", checkpoint.version());
    return JSON.writeValueAsString(found);
  }

  /**
   * VACUUM as of a moment: of the files of an inventory those that no version later than it needs,
   * and that are older.
   */
  public void vacuum(SparkSession spark, String location, long millis, Dataset<Row> inventory) {
    DeltaTableV2 table =
        DeltaTableV2.apply(
            spark,
            new Path(location),
            Option.empty(),
            Option.empty(),
            Scala.immutable(Map.of()),
            Option.empty());
    VacuumCommand$.MODULE$.gc(
        spark,
        table,
        false,
        Option.apply(0.0),
        Option.apply(inventory),
        Option.empty(),
        Scala.immutable(Map.of()),
        new ManualClock(millis));
  }

  /**
   * Deletes from a table's log, as Delta does, what is older than the version that was current at a
   * moment, and the checkpoint that it is read from.
   */
  public void cleanLog(SparkSession spark, String location, long millis)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    if (!log.enableExpiredLogCleanup(now.metadata())) return;
    FileSystem store = log.logPath().getFileSystem(log.newDeltaHadoopConf());
    long current = -1;
    for (FileStatus file : store.listStatus(log.logPath()))
      if (FileNames.isDeltaFile(file.getPath()) && file.getModificationTime() <= millis)
        current = Math.max(current, file.getModificationTime());
    if (current < 0) return;
    Object age = log.clock().getTimeMillis() - current + 1;
    log.cleanUpExpiredLogs(now, Option.empty(), Option.apply(age), TruncationGranularity.MINUTE());
  }

  /** Files and bytes in a folder and all below it; "0 0" where there is none. */
  public String amount(SparkSession spark, String location) throws java.io.IOException {
    Path folder = new Path(location);
    FileSystem store = folder.getFileSystem(spark.sessionState().newHadoopConf());
    if (!store.exists(folder)) return "0 0";
    org.apache.hadoop.fs.ContentSummary found = store.getContentSummary(folder);
    return found.getFileCount() + " " + found.getLength();
  }

  /** Deletes a folder with all that is in it; what is not there is no error. */
  public void delete(SparkSession spark, String location) throws java.io.IOException {
    Path folder = new Path(location);
    FileSystem store = folder.getFileSystem(spark.sessionState().newHadoopConf());
    if (store.exists(folder) && !store.delete(folder, true))
      throw new java.io.IOException(location + " could not be deleted");
    DeltaLog.invalidateCache(spark, folder);
  }
}
