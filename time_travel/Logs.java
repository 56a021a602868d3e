import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.CheckpointProvider;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.FileBasedCheckpointProvider;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.VacuumCommand$;
import org.apache.spark.util.ManualClock;
import scala.Option;

/** The files of Delta tables: which log files tell of them, and their deletion, which is Delta's own VACUUM.
 *  Compiled by Janino at run time: no lambdas, no generics. */
public class Logs {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Where a table lies in full, its id, version, creation, properties, the bytes of a row by Spark's estimate, and
   *  the files of the log that make up its newest state; "null" where no Delta table lies. */
  public String described(SparkSession spark, String location) throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    if (now.version() < 0) return "null";
    Map found = new LinkedHashMap();
    FileSystem store = log.dataPath().getFileSystem(log.newDeltaHadoopConf());
    found.put("root", store.makeQualified(log.dataPath()).toString());
    found.put("id", now.metadata().id());
    found.put("version", Long.valueOf(now.version()));
    Option created = now.metadata().createdTime();
    found.put("created", created.isEmpty() ? null : created.get());
    found.put("changed", Long.valueOf(now.timestamp()));
    found.put("row_bytes", Integer.valueOf(now.metadata().schema().defaultSize()));
    Map properties = new LinkedHashMap();
    scala.collection.Iterator each = now.metadata().configuration().iterator();
    while (each.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) each.next();
      properties.put(pair._1(), pair._2());
    }
    found.put("properties", properties);
    List commits = new ArrayList();
    Option deltas = now.deltaFileIndexOpt();
    if (!deltas.isEmpty()) add(commits, (DeltaLogFileIndex) deltas.get());
    found.put("commits", commits);
    List json = new ArrayList(), parquet = new ArrayList();
    CheckpointProvider checkpoint = now.checkpointProvider();
    if (!checkpoint.isEmpty()) {
      scala.collection.Iterator indexes =
          ((FileBasedCheckpointProvider) checkpoint).allActionsFileIndexesAndSchemas(spark, log).iterator();
      while (indexes.hasNext()) {
        DeltaLogFileIndex index = (DeltaLogFileIndex) ((scala.Tuple2) indexes.next())._1();
        boolean isJson = index.format().getClass().getSimpleName().toLowerCase().contains("json");
        add(isJson ? json : parquet, index);
      }
    }
    found.put("checkpoint_json", json);
    found.put("checkpoint_parquet", parquet);
    found.put("checkpoint_version", Long.valueOf(checkpoint.version()));
    return JSON.writeValueAsString(found);
  }

  private static void add(List found, DeltaLogFileIndex index) {
    String[] files = index.inputFiles();
    for (int i = 0; i < files.length; i++) found.add(files[i]);
  }

  /** VACUUM as of a moment: of the files of an inventory those that no version later than it needs, and that are
   *  older. */
  public void vacuum(SparkSession spark, String location, long millis, Dataset inventory) {
    DeltaTableV2 table = DeltaTableV2.apply(spark, new Path(location), Option.empty(), Option.empty(),
        (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(), Option.empty());
    VacuumCommand$.MODULE$.gc(spark, table, false, Option.apply(Double.valueOf(0.0)), Option.apply(inventory),
        Option.empty(), (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
        new ManualClock(millis));
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
    if (store.exists(folder) && !store.delete(folder, true)) throw new java.io.IOException(location + " could not be deleted");
    DeltaLog.invalidateCache(spark, folder);
  }
}
