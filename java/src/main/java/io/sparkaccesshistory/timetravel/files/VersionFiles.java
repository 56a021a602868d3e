package io.sparkaccesshistory.timetravel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.sparkaccesshistory.Scala;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import org.apache.spark.sql.delta.util.DeltaFileOperations;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of a version of a Delta table, and what a log elsewhere says of them: of a copy, or of
 * the file itself.
 *
 * <p>The name of a copy says what it is a copy of: a digest of the table's id, and of the path,
 * size and time of the file in its log, before the file's own name. So a file that is there already
 * is known without a look at it, and two files of different content never share a name.
 */
final class VersionFiles {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long SHORT = 1L << 20;
  private static final long MANY = 50_000;
  private static final int DIGEST_BYTES = 10;
  // The name of a copy of a copy does not grow.
  private static final Pattern COPY = Pattern.compile("^[0-9a-f]{20}-");

  private final Snapshot then;
  private final DeltaLog log;
  private final InMemoryLogReplay replay;

  private VersionFiles(Snapshot then, DeltaLog log, InMemoryLogReplay replay) {
    this.then = then;
    this.log = log;
    this.replay = replay;
  }

  /** A short log without a checkpoint is read here, without a Spark job. */
  static VersionFiles of(Snapshot then, DeltaLog log) throws Exception {
    var commits = Scala.list(then.logSegment().deltas());
    long length = 0;
    boolean plain = then.logSegment().checkpointProvider().version() < 0;
    for (FileStatus commit : commits) {
      plain &= FileNames.isDeltaFile(commit.getPath());
      length += commit.getLen();
    }
    if (!plain || length > SHORT) return new VersionFiles(then, log, null);
    InMemoryLogReplay replay = new InMemoryLogReplay(Option.empty(), Option.empty());
    for (FileStatus file : commits) {
      Path commit = file.getPath();
      List<Action> actions = new ArrayList<>();
      for (String line : Scala.list(log.store().read(commit, log.newDeltaHadoopConf())))
        actions.add(Action$.MODULE$.fromJson(line));
      replay.append(
          FileNames.deltaVersion(commit), CollectionConverters.asScala(actions.iterator()));
    }
    return new VersionFiles(then, log, replay);
  }

  /** Whether they are known without a Spark job. */
  boolean isShort() {
    return replay != null;
  }

  List<AddFile> all() {
    return replay == null ? then.allFiles().collectAsList() : Scala.list(replay.allFiles());
  }

  /** One by one: of very many a part at a time is in memory, and each part is a job. */
  Iterator<AddFile> each() {
    boolean isFew = replay != null || then.numOfFiles() <= MANY;
    return isFew ? all().iterator() : then.allFiles().toLocalIterator();
  }

  /** Number and bytes of the data files. */
  long[] amount() {
    if (replay == null) return new long[] {then.numOfFiles(), then.sizeInBytes()};
    List<AddFile> files = all();
    return new long[] {files.size(), files.stream().mapToLong(AddFile::size).sum()};
  }

  List<DomainMetadata> domains() {
    if (replay == null) return Scala.list(then.domainMetadata());
    List<DomainMetadata> found = new ArrayList<>();
    CollectionConverters.asJava(replay.getDomainMetadatas()).forEach(found::add);
    return found;
  }

  /** What a log says of the copy of a file in another table. */
  AddFile copyOf(AddFile file) throws Exception {
    return parsed(copied(file, false));
  }

  /** The action of the copy of a file, in the log of another table or of this one. */
  ObjectNode copied(AddFile file, boolean ofThisTable) throws Exception {
    ObjectNode action = (ObjectNode) JSON.readTree(file.json());
    ObjectNode found = (ObjectNode) action.get("add");
    String path = file.path();
    int name = path.lastIndexOf('/') + 1;
    // Of a shallow clone the paths are absolute, and folders of partitions nobody needs.
    String folder = new Path(new URI(path)).isAbsolute() ? "" : path.substring(0, name);
    String said =
        then.metadata().id() + "\n" + path + "\n" + file.size() + "\n" + file.modificationTime();
    String own = COPY.matcher(path.substring(name)).replaceFirst("");
    found.put("path", folder + digest(said) + "-" + own);
    DeletionVectorDescriptor deleted = copyOf(file.deletionVector());
    if (deleted != file.deletionVector()) {
      ObjectNode vector = (ObjectNode) found.get("deletionVector");
      vector.put("storageType", deleted.storageType());
      vector.put("pathOrInlineDv", deleted.pathOrInlineDv());
    }
    return added(action, ofThisTable);
  }

  /** Deleted rows as the log of a copy names them: a full path becomes one in the table. */
  DeletionVectorDescriptor copyOf(DeletionVectorDescriptor deleted) {
    if (!isStored(deleted) || !deleted.storageType().equals("p")) return deleted;
    String stored = deleted.absolutePath(log.dataPath()).getName();
    UUID id = DeletionVectorDescriptor.getUUIDFromDeletionVectorFileName(stored);
    return deleted.copyWithNewRelativePath(id, "");
  }

  /** What a shallow clone's log says of a file. */
  AddFile sharing(AddFile file) throws Exception {
    ObjectNode action = (ObjectNode) JSON.readTree(file.json());
    ObjectNode found = (ObjectNode) action.get("add");
    found.put("path", absolute(file).toUri().toString());
    if (isStored(file.deletionVector())) {
      DeletionVectorDescriptor deleted = file.deletionVector().copyWithAbsolutePath(log.dataPath());
      ObjectNode vector = (ObjectNode) found.get("deletionVector");
      vector.put("storageType", deleted.storageType());
      vector.put("pathOrInlineDv", deleted.pathOrInlineDv());
    }
    return parsed(added(action, false));
  }

  /** A file that is new to a table gives its rows ids of their own. */
  private static ObjectNode added(ObjectNode action, boolean ofThisTable) {
    ObjectNode found = (ObjectNode) action.get("add");
    found.put("dataChange", true);
    if (!ofThisTable) {
      found.remove("baseRowId");
      found.remove("defaultRowCommitVersion");
    }
    return action;
  }

  private static AddFile parsed(ObjectNode action) throws Exception {
    return (AddFile) Action$.MODULE$.fromJson(JSON.writeValueAsString(action));
  }

  private static String digest(String text) throws Exception {
    byte[] bytes =
        MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(bytes, 0, DIGEST_BYTES);
  }

  /** Where a file of the version lies. */
  Path absolute(AddFile file) {
    return absolute(log.dataPath(), file.path());
  }

  /** Where a file lies that the log of a table names. */
  static Path absolute(Path table, String path) {
    return DeltaFileOperations.absolutePath(table.toString(), path);
  }

  /** Whether deleted rows stand in a file of their own. */
  static boolean isStored(DeletionVectorDescriptor deleted) {
    return deleted != null && !deleted.storageType().equals("i");
  }
}
