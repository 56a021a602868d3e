package io.sparkaccesshistory.timetravel;

import io.sparkaccesshistory.Scala;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of a version. A short log without a checkpoint is read here: a Spark job takes longer.
 */
final class SnapshotFiles {
  private static final long SHORT = 1L << 20;

  private SnapshotFiles() {}

  /** All of them. */
  static List<AddFile> of(Snapshot version, DeltaLog log) throws IOException {
    Optional<List<AddFile>> found = ofShortLog(version, log);
    return found.isPresent() ? found.get() : version.allFiles().collectAsList();
  }

  /** All of them, where no Spark job is needed. */
  static Optional<List<AddFile>> ofShortLog(Snapshot version, DeltaLog log) throws IOException {
    var commits = Scala.list(version.logSegment().deltas());
    long length = 0;
    boolean plain = version.logSegment().checkpointProvider().version() < 0;
    for (FileStatus commit : commits) {
      plain &= FileNames.isDeltaFile(commit.getPath());
      length += commit.getLen();
    }
    if (!plain || length > SHORT) return Optional.empty();
    InMemoryLogReplay replay = new InMemoryLogReplay(Option.empty(), Option.empty());
    for (FileStatus file : commits) {
      Path commit = file.getPath();
      List<Action> actions = new ArrayList<>();
      for (String line : Scala.list(log.store().read(commit, log.newDeltaHadoopConf())))
        actions.add(Action$.MODULE$.fromJson(line));
      replay.append(
          FileNames.deltaVersion(commit), CollectionConverters.asScala(actions.iterator()));
    }
    return Optional.of(Scala.list(replay.allFiles()));
  }
}
