import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/** Appends to a Delta table whose reader has seen all of it, or not at all. Compiled by Janino at run time: no
 *  lambdas, no generics. */
public class Ledger {
  /** The newest version; -1 where no table lies. */
  public long version(SparkSession spark, String location) {
    return DeltaLog.forTable(spark, location).update(false, Option.empty(), Option.empty()).version();
  }

  /** Whether nobody has written since a version; one look at the store. */
  public boolean isNewest(SparkSession spark, String location, long version) throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Path next = FileNames.unsafeDeltaFile(log.logPath(), version + 1);
    return !next.getFileSystem(log.newDeltaHadoopConf()).exists(next);
  }

  /** The version that rows were appended as; -1 where somebody else has written since `seen`. */
  public long append(SparkSession spark, String location, Dataset rows, long seen) {
    Option active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    try {
      DeltaLog log = DeltaLog.forTable(spark, location);
      if (log.update(false, Option.empty(), Option.empty()).version() != seen) return -1;
      OptimisticTransaction change = log.startTransaction(Option.empty(), Option.empty());
      if (change.readVersion() != seen) return -1;
      change.readWholeTable();
      Option none = Option.empty();
      DeltaOperations.Operation appended =
          new DeltaOperations.Write(SaveMode.Append, none, none, none, none, none, none, none, none);
      return change.commit(change.writeFiles(rows), appended);
    } catch (DeltaConcurrentModificationException e) {
      return -1;
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession((SparkSession) active.get());
    }
  }
}
