package io.sparkaccesshistory.timetravel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.sparkaccesshistory.Scala;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.Option;

/**
 * A version of a Delta table as a whole table in a folder of this machine: its log is one commit,
 * version 0, with relative paths. Which files belong there under which names is written into a file
 * of pairs; whoever reads it links or copies them.
 *
 * <p>Nothing here grows with the number of files: they pass one by one from Delta's state to the
 * two files.
 */
public class TableCopies {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String ICT = "delta.enableInCommitTimestamps";
  private static final String LOG = "_delta_log";
  private static final String FIRST = "00000000000000000000.json";

  /** Data files, and the bytes of these and of their deletions. */
  private static final class Total {
    long files;
    long bytes;
  }

  /**
   * Writes the log of a copy into a folder that nobody reads yet, and the pairs of its files.
   *
   * <p>`as` is "null" for a copy that is the same table, with its id, properties and row ids, else
   * an object: `id`, `properties`, `time` and `mark` of its first commit, `of` for the version that
   * its history names. The answer is an object: id, version, time, files, bytes.
   */
  public String copy(
      SparkSession spark,
      String source,
      long version,
      String name,
      String folder,
      String pairs,
      String as)
      throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, source);
    Snapshot then = at(log, version);
    VersionFiles of = VersionFiles.of(then, log);
    java.nio.file.Path place = Files.createDirectories(Paths.get(folder, LOG));
    java.nio.file.Path part = place.resolve(FIRST + ".part");
    Total total = new Total();
    try (BufferedWriter actions = Files.newBufferedWriter(part);
        BufferedWriter files = Files.newBufferedWriter(Paths.get(pairs))) {
      Metadata metadata = metadata(then, as);
      line(actions, commitInfo(then, of.amount(), metadata, name, as).json());
      line(actions, then.protocol().json());
      line(actions, metadata.json());
      for (DomainMetadata domain : of.domains()) line(actions, domain.json());
      list(of, log, folder, files, actions, total);
    }
    try (FileChannel written = FileChannel.open(part, StandardOpenOption.WRITE)) {
      written.force(true);
    }
    Files.move(part, place.resolve(FIRST), StandardCopyOption.ATOMIC_MOVE);
    DeltaLog.invalidateCache(spark, new Path(folder));
    return answer(then, total);
  }

  /** Writes the pairs alone, for a table that takes the files in a commit of its own. */
  public String list(SparkSession spark, String source, long version, String folder, String pairs)
      throws Exception {
    DeltaLog log = DeltaLog.forTable(spark, source);
    Snapshot then = at(log, version);
    Total total = new Total();
    try (BufferedWriter files = Files.newBufferedWriter(Paths.get(pairs))) {
      list(VersionFiles.of(then, log), log, folder, files, null, total);
    }
    return answer(then, total);
  }

  private static Snapshot at(DeltaLog log, long version) {
    Snapshot now = log.update(false, Option.empty(), Option.empty());
    if (version < 0 || version == now.version()) return now;
    return log.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), false);
  }

  private static void list(
      VersionFiles of,
      DeltaLog log,
      String folder,
      BufferedWriter pairs,
      BufferedWriter actions,
      Total total)
      throws Exception {
    Path root = new Path(folder);
    // Many files may have their deleted rows in one.
    Set<String> vectors = new HashSet<>();
    Iterator<AddFile> files = of.each();
    while (files.hasNext()) {
      AddFile file = files.next();
      // As it stands in the log: an object of Delta's would be parsed and written once more each.
      ObjectNode copy = of.copied(file, actions != null);
      total.files++;
      total.bytes += file.size();
      if (actions != null) line(actions, JSON.writeValueAsString(copy));
      String path = copy.get("add").get("path").asText();
      pair(pairs, root, of.absolute(file), VersionFiles.absolute(root, path));
      DeletionVectorDescriptor deleted = file.deletionVector();
      if (!VersionFiles.isStored(deleted)) continue;
      total.bytes += deleted.sizeInBytes();
      Path stored = of.copyOf(deleted).absolutePath(root);
      if (vectors.add(stored.toString()))
        pair(pairs, root, deleted.absolutePath(log.dataPath()), stored);
    }
  }

  /** A line of JSON: the file, a path of this machine or a URI, and its path in the folder. */
  private static void pair(BufferedWriter pairs, Path root, Path from, Path to) throws Exception {
    String scheme = from.toUri().getScheme();
    boolean isLocal = scheme == null || scheme.equals("file");
    String source = isLocal ? from.toUri().getPath() : from.toString();
    String target = to.toUri().getPath().substring(root.toUri().getPath().length() + 1);
    line(pairs, JSON.writeValueAsString(List.of(source, target)));
  }

  private static void line(BufferedWriter to, String text) throws IOException {
    to.write(text);
    to.write('\n');
  }

  private static Metadata metadata(Snapshot then, String as) throws Exception {
    ObjectNode action = (ObjectNode) JSON.readTree(then.metadata().json());
    ObjectNode found = (ObjectNode) action.get("metaData");
    ObjectNode configuration = (ObjectNode) found.get("configuration");
    if (isSame(as)) TableCloner.forgetVersions(configuration);
    else {
      ObjectNode made = (ObjectNode) JSON.readTree(as);
      found.put("id", made.get("id").asText());
      found.put("createdTime", made.get("time").asLong());
      TableCloner.configure(configuration, (ObjectNode) made.get("properties"), false);
    }
    return (Metadata) Action$.MODULE$.fromJson(JSON.writeValueAsString(action));
  }

  private static boolean isSame(String as) {
    return as.equals("null");
  }

  private static CommitInfo commitInfo(
      Snapshot then, long[] amount, Metadata metadata, String name, String as) throws Exception {
    ObjectNode made = isSame(as) ? JSON.createObjectNode() : (ObjectNode) JSON.readTree(as);
    long of = isSame(as) ? then.version() : made.get("of").asLong();
    DeltaOperations.Operation operation = new DeltaOperations.Clone(name, of);
    long time = isSame(as) ? then.timestamp() : made.get("time").asLong();
    String mark = made.path("mark").asText(null);
    boolean timed = "true".equals(Scala.map(metadata.configuration()).get(ICT));
    Map<String, String> metrics = new HashMap<>();
    metrics.put("sourceNumOfFiles", Long.toString(amount[0]));
    metrics.put("sourceTableSize", Long.toString(amount[1]));
    Object moment = time;
    return CommitInfo.apply(
        time,
        operation.name(),
        timed ? Option.apply(moment) : Option.empty(),
        operation.jsonEncodedValues(),
        Scala.immutable(Map.of()),
        Option.empty(),
        Option.apply("Serializable"),
        Option.apply((Object) false),
        Option.apply(Scala.immutable(metrics)),
        Option.apply(mark),
        Option.empty(),
        Option.apply(UUID.randomUUID().toString()),
        Option.empty());
  }

  private static String answer(Snapshot then, Total total) throws Exception {
    ObjectNode found = JSON.createObjectNode();
    found.put("id", then.metadata().id());
    found.put("version", then.version());
    found.put("time", then.timestamp());
    found.put("files", total.files);
    found.put("bytes", total.bytes);
    return JSON.writeValueAsString(found);
  }
}
