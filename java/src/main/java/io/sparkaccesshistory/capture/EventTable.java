package io.sparkaccesshistory.capture;

import static java.nio.file.StandardOpenOption.CREATE_NEW;

import io.sparkaccesshistory.Scala;
import java.io.RandomAccessFile;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaConcurrentModificationException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/** Commits to a Delta table by Delta's own transaction, without a Spark job. */
public class EventTable {
  /** The newest version; -1 where no table lies. */
  public long version(SparkSession spark, String location) throws java.io.IOException {
    Path log = new Path(location, "_delta_log"); // Delta takes twenty times as long to find none
    if (!log.getFileSystem(spark.sessionState().newHadoopConf()).exists(log)) return -1;
    return DeltaLog.forTable(spark, location)
        .update(false, Option.empty(), Option.empty())
        .version();
  }

  /** Whether a version is the newest; two looks at the store, a tenth of a listing of the log. */
  public boolean isNewest(SparkSession spark, String location, long version)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Path own = FileNames.unsafeDeltaFile(log.logPath(), version);
    Path next = FileNames.unsafeDeltaFile(log.logPath(), version + 1);
    FileSystem store = next.getFileSystem(log.newDeltaHadoopConf());
    return store.exists(own) && !store.exists(next);
  }

  /**
   * Has Delta and Jackson look at the classes of a log's actions, which they do once in a JVM: half
   * a second, which a short driver would pay when it exits. What the session writes to a local disk
   * starts no processes from here on.
   */
  public void prepare(SparkSession spark) {
    LocalFiles.use(spark);
    Action$.MODULE$.logSchema();
    for (AddFile one : files("{\"add\":{\"path\":\"a\",\"partitionValues\":{}}}")) one.json();
  }

  /**
   * The version that a file was added as. Where somebody has written since `seen`: -1, and nothing
   * is added; a negative `seen` lets others write as they like.
   *
   * @param add what the log says of the file, as JSON
   */
  public long append(
      SparkSession spark, String location, String name, byte[] bytes, String add, long seen)
      throws java.io.IOException, InterruptedException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    RandomAccessFile lock = lock(log.dataPath());
    try {
      return commit(
          spark,
          log,
          change -> {
            if (seen >= 0) {
              if (change.readVersion() != seen) return false;
              change.readWholeTable();
            }
            write(new Path(log.dataPath(), name), log, bytes);
            return true;
          },
          APPENDED,
          files(add));
    } catch (DeltaConcurrentModificationException e) {
      if (seen < 0) throw e;
      return -1;
    } finally {
      if (lock != null) lock.close(); // which frees it
    }
  }

  /** What a file in the folder of a table holds; null where there is none. */
  public byte[] read(SparkSession spark, String location, String name) throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    Path path = new Path(log.dataPath(), name);
    try (FSDataInputStream in = path.getFileSystem(log.newDeltaHadoopConf()).open(path)) {
      return in.readAllBytes();
    } catch (java.io.FileNotFoundException e) {
      return null;
    }
  }

  /** Writes a file into the folder of a table; nobody reads it before a commit adds it. */
  public void write(SparkSession spark, String location, String name, byte[] bytes)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    write(new Path(log.dataPath(), name), log, bytes);
  }

  /**
   * Adds files that lie in the folder of a table; the version that they were added as. Whoever
   * calls it on a local disk keeps other processes from committing meanwhile.
   *
   * @param adds what the log says of each, a line of JSON
   */
  public long add(SparkSession spark, String location, String adds) throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    return commit(spark, log, change -> true, APPENDED, files(adds));
  }

  /**
   * Puts files in the place of others that hold the same rows; the version that did it. Where
   * somebody has written since `seen`: -1, and nothing is done. Whoever calls it on a local disk
   * keeps other processes from committing.
   *
   * @param adds what the log says of each new file, a line of JSON
   * @param removes what it says of each that goes
   */
  public long replace(SparkSession spark, String location, String adds, String removes, long seen)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    List<Action> actions = new ArrayList<>(files(adds));
    long now = System.currentTimeMillis();
    for (AddFile gone : files(removes)) actions.add(gone.removeWithTimestamp(now, false));
    try {
      return commit(spark, log, change -> change.readVersion() == seen, COMPACTED, actions);
    } catch (DeltaConcurrentModificationException e) {
      return -1;
    }
  }

  /**
   * Changes what the log says of a table, where no statement of Delta's does; the version that it
   * was changed as. Whoever calls it on a local disk keeps other processes from committing.
   *
   * @param metadata the whole action, as JSON
   */
  public long change(SparkSession spark, String location, String metadata)
      throws java.io.IOException {
    DeltaLog log = DeltaLog.forTable(spark, location);
    return commit(
        spark,
        log,
        change -> true,
        DeltaOperations.ManualUpdate$.MODULE$,
        List.of(Action$.MODULE$.fromJson(metadata)));
  }

  private static List<AddFile> files(String lines) {
    List<AddFile> found = new ArrayList<>();
    for (String one : lines.split("\n")) found.add((AddFile) Action$.MODULE$.fromJson(one));
    return found;
  }

  private static final DeltaOperations.Operation APPENDED =
      new DeltaOperations.Write(
          SaveMode.Append,
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty(),
          Option.empty());

  private static final DeltaOperations.Operation COMPACTED =
      new DeltaOperations.Optimize(Scala.none(), Scala.none(), false, Option.empty(), false);

  private interface Check {
    boolean passes(OptimisticTransaction change) throws java.io.IOException;
  }

  private static long commit(
      SparkSession spark,
      DeltaLog log,
      Check check,
      DeltaOperations.Operation operation,
      List<? extends Action> actions)
      throws java.io.IOException {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    LocalFiles.use(spark);
    try {
      OptimisticTransaction change = log.startTransaction(Option.empty(), Option.empty());
      if (!check.passes(change)) return -1;
      return change.commit(Scala.seq(List.<Action>copyOf(actions)), operation);
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  /**
   * Held while other processes may not commit; null where the store's own commits are atomic. On a
   * local disk they are not: HDFSLogStore looks whether the next version is there and then renames
   * onto it, and rename(2) replaces what came in between.
   */
  private static RandomAccessFile lock(Path table)
      throws java.io.IOException, InterruptedException {
    if (!isLocal(table)) return null;
    RandomAccessFile file = new RandomAccessFile(table.toUri().getPath() + ".lock", "rw");
    while (true) {
      try {
        file.getChannel().lock();
        return file;
      } catch (OverlappingFileLockException e) { // another thread has it
        Thread.sleep(1);
      } catch (java.io.IOException e) {
        return file; // this file system has no locks: then Delta is as safe as it is without us
      }
    }
  }

  private static boolean isLocal(Path path) {
    String scheme = path.toUri().getScheme();
    return scheme == null || scheme.equals("file");
  }

  private static void write(Path path, DeltaLog log, byte[] bytes) throws java.io.IOException {
    if (isLocal(path)) { // without Hadoop's processes, see LocalFiles
      Files.write(java.nio.file.Path.of(path.toUri().getPath()), bytes, CREATE_NEW);
      return;
    }
    FileSystem store = path.getFileSystem(log.newDeltaHadoopConf());
    FSDataOutputStream out = store.create(path, false);
    try {
      out.write(bytes);
    } finally {
      out.close();
    }
  }
}
