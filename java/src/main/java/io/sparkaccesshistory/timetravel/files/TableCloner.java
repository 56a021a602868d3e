package io.sparkaccesshistory.timetravel.files;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.timetravel.RetentionProperties;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DomainMetadataTableFeature$;
import org.apache.spark.sql.delta.DomainMetadataUtils;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Commits what a version of a Delta table holds at a place of its own: deep, with a copy of each
 * file, or shallow, by the files' full paths. An instance is what a task on an executor runs, too.
 */
public class TableCloner implements Function<TableCloner.Copy, Long> {
  private static final long serialVersionUID = 1L;

  /**
   * What is copied where: `data` of a table, or its `deletions`. No record: `spark.serializer` may
   * be Kryo's, and Kryo 4, which Spark 4.2 ships, cannot write records.
   */
  static final class Copy implements Serializable {
    private static final long serialVersionUID = 1L;

    final String from;
    final String to;
    final String kind;

    Copy(String from, String to, String kind) {
      this.from = from;
      this.to = to;
      this.kind = kind;
    }
  }

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int FILES_OF_A_TASK = 50;
  private static final int FEW = 1000;

  private SerializableConfiguration conf;
  private boolean partsAreSeen;

  /** Delta's id of a table as it was: a REPLACE gives it another. */
  public String idAt(SparkSession spark, String location, long version) {
    return DeltaLog.forTable(spark, location)
        .getSnapshotAt(version, Option.empty(), Option.empty(), false)
        .metadata()
        .id();
  }

  /**
   * Clones a version (-1: the newest) into what lies at `target`, or into nothing.
   *
   * <p>`id` is that of a new clone; one that is there keeps its own. `overrides` are properties as
   * a JSON object. `kept` is what becomes of the files: `shared`, `copied`, or `there`, where
   * somebody has copied them under the names that `TableCopies` lists. One that is there and is
   * replaced gets the id and the comment, too. The answer is a JSON object: the metrics of Delta's
   * CLONE.
   */
  public String run(
      SparkSession spark,
      String source,
      long version,
      String name,
      String target,
      String id,
      String overrides,
      String kept,
      boolean replacing)
      throws Exception {
    // A transaction asks the active session for its settings, the mark of its commit among them.
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    try {
      return cloned(
          spark,
          source,
          version,
          name,
          target,
          id,
          (ObjectNode) JSON.readTree(overrides),
          kept,
          replacing);
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  private static String cloned(
      SparkSession spark,
      String source,
      long version,
      String name,
      String target,
      String id,
      ObjectNode overrides,
      String kept,
      boolean replacing)
      throws Exception {
    DeltaLog from = DeltaLog.forTable(spark, source);
    Snapshot then = from.update(false, Option.empty(), Option.empty());
    if (version >= 0 && version != then.version())
      then = from.getSnapshotAt(version, Option.empty(), Option.empty(), Option.empty(), false);
    DeltaLog to = DeltaLog.forTable(spark, target);
    to.update(false, Option.empty(), Option.empty());
    OptimisticTransaction change = to.startTransaction(Option.empty(), Option.empty());

    Map<String, AddFile> had = new HashMap<>();
    List<AddFile> old =
        change.readVersion() < 0 ? List.of() : change.snapshot().allFiles().collectAsList();
    for (AddFile file : old) had.put(identity(file), file);
    List<Action> actions = new ArrayList<>();
    Map<String, Copy> copies = new LinkedHashMap<>();
    VersionFiles of = VersionFiles.of(then, from);
    var files = of.all();
    long bytes = 0;
    for (AddFile file : files) {
      bytes += file.size();
      AddFile copy = kept.equals("shared") ? of.sharing(file) : of.copyOf(file);
      if (had.remove(identity(copy)) != null) continue;
      actions.add(copy);
      if (!kept.equals("copied")) continue;
      add(copies, of.absolute(file), VersionFiles.absolute(to.dataPath(), copy.path()), "data");
      if (VersionFiles.isStored(file.deletionVector()))
        add(
            copies,
            file.deletionVector().absolutePath(from.dataPath()),
            copy.deletionVector().absolutePath(to.dataPath()),
            "deletions");
    }
    forgetWhatIsThere(copies, old, to);
    Metadata made = metadata(then.metadata(), change, id, overrides, replacing);
    if (replacing) change.updateMetadataForNewTableInReplace(made);
    else change.updateMetadata(made, true);
    long[] copied = copied(spark, new ArrayList<>(copies.values()), to);

    long removed = 0;
    for (AddFile file : had.values()) {
      removed += file.size();
      actions.add(file.removeWithTimestamp(System.currentTimeMillis(), true));
    }
    ObjectNode metrics = JSON.createObjectNode();
    metrics.put("sourceTableSize", bytes);
    metrics.put("sourceNumOfFiles", (long) files.size());
    metrics.put("numRemovedFiles", (long) had.size());
    metrics.put("numCopiedFiles", copied[0]);
    metrics.put("removedFilesSize", removed);
    metrics.put("copiedFilesSize", copied[1]);
    commit(spark, change, then, actions, name, metrics);
    return JSON.writeValueAsString(metrics);
  }

  private static void commit(
      SparkSession spark,
      OptimisticTransaction change,
      Snapshot then,
      List<Action> actions,
      String name,
      ObjectNode metrics) {
    List<Action> every = new ArrayList<>();
    boolean domains = then.protocol().isFeatureSupported(DomainMetadataTableFeature$.MODULE$);
    if (domains || change.readVersion() >= 0)
      every.addAll(
          Scala.list(
              DomainMetadataUtils.handleDomainMetadataForCloneTable(then, change.snapshot())));
    every.addAll(actions);
    Protocol protocol = change.protocol().merge(Scala.seq(List.of(then.protocol())));
    boolean same = change.readVersion() >= 0 && protocol.equals(change.snapshot().protocol());
    DeltaOperations.Operation operation = new DeltaOperations.Clone(name, then.version());
    boolean small = change.readVersion() < 0 && every.size() <= FEW;
    if (small) {
      // Few files need no checkpoint, which a large commit writes.
      Map<String, SQLMetric> counters = new HashMap<>();
      for (var metric : metrics.properties())
        counters.put(metric.getKey(), counter(spark, metric.getValue().asLong()));
      change.registerSQLMetrics(spark, Scala.immutable(counters));
      change.updateProtocol(protocol);
      change.commit(Scala.seq(every), operation);
      return;
    }
    // As Delta's own CLONE and RESTORE do it: who has written meanwhile makes it fail.
    change.commitLarge(
        spark,
        CollectionConverters.asScala(every.iterator()),
        same ? Option.empty() : Option.apply(protocol),
        operation,
        Scala.immutable(Map.of()),
        Scala.immutable(texts(metrics)));
  }

  private static SQLMetric counter(SparkSession spark, long value) {
    SQLMetric found = SQLMetrics.createMetric(spark.sparkContext(), "clone");
    found.set(value);
    return found;
  }

  /** Sets properties of a table in one commit: a JSON object, in which null unsets one. */
  public void set(SparkSession spark, String source, String properties) throws Exception {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(spark);
    try {
      DeltaLog log = DeltaLog.forTable(spark, source);
      log.update(false, Option.empty(), Option.empty());
      OptimisticTransaction change = log.startTransaction(Option.empty(), Option.empty());
      ObjectNode set = (ObjectNode) JSON.readTree(properties);
      Metadata now = change.metadata();
      ObjectNode action = (ObjectNode) JSON.readTree(now.json());
      ObjectNode configuration = (ObjectNode) action.get("metaData").get("configuration");
      ObjectNode values = JSON.createObjectNode();
      for (var pair : set.properties()) {
        if (pair.getValue().isNull()) configuration.remove(pair.getKey());
        else values.set(pair.getKey(), pair.getValue());
      }
      configuration.setAll(values);
      change.updateMetadata(
          (Metadata) Action$.MODULE$.fromJson(JSON.writeValueAsString(action)), false);
      change.commit(
          Scala.none(), new DeltaOperations.SetTableProperties(Scala.immutable(texts(values))));
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  /** Lets go of what Delta remembers of a table: some megabytes each. */
  public void forget(SparkSession spark, String location) {
    DeltaLog.invalidateCache(spark, new Path(location));
  }

  /** The source's, under the clone's own id, name and comment. */
  private static Metadata metadata(
      Metadata then,
      OptimisticTransaction change,
      String id,
      ObjectNode overrides,
      boolean replacing)
      throws Exception {
    ObjectNode action = (ObjectNode) JSON.readTree(then.json());
    ObjectNode found = (ObjectNode) action.get("metaData");
    boolean anew = replacing || change.readVersion() < 0;
    found.put("id", anew ? id : change.snapshot().metadata().id());
    found.put("name", anew ? null : change.snapshot().metadata().name());
    if (!replacing)
      found.put("description", anew ? null : change.snapshot().metadata().description());
    configure((ObjectNode) found.get("configuration"), overrides, replacing);
    return (Metadata) Action$.MODULE$.fromJson(JSON.writeValueAsString(action));
  }

  /** The properties of a copy: its source's, and its own ones over them. */
  static void configure(ObjectNode configuration, ObjectNode overrides, boolean keepsRetention) {
    forgetVersions(configuration);
    // Retention is the clone's own, of now; a table that is put in the place of another has its
    // own.
    if (!keepsRetention) {
      List<String> names = new ArrayList<>();
      configuration.fieldNames().forEachRemaining(names::add);
      names.removeIf(name -> !RetentionProperties.isOne(name));
      configuration.remove(names);
    }
    Scala.map(DeltaConfigs.validateConfigurations(Scala.immutable(texts(overrides))))
        .forEach(configuration::put);
  }

  /** What tells of versions of the source. */
  static void forgetVersions(ObjectNode configuration) {
    configuration.remove("delta.inCommitTimestampEnablementVersion");
    configuration.remove("delta.inCommitTimestampEnablementTimestamp");
  }

  /** A file of a log: the same file with other rows deleted is another one. */
  private static String identity(AddFile file) {
    return file.path()
        + (file.deletionVector() == null ? "" : "\n" + file.deletionVector().uniqueId());
  }

  private static void add(Map<String, Copy> copies, Path from, Path to, String kind) {
    copies.put(to.toString(), new Copy(from.toString(), to.toString(), kind));
  }

  /** A file of which other rows are deleted now is there: only the deletions are copied. */
  private static void forgetWhatIsThere(Map<String, Copy> copies, List<AddFile> old, DeltaLog to) {
    for (AddFile file : old) {
      copies.remove(VersionFiles.absolute(to.dataPath(), file.path()).toString());
      if (VersionFiles.isStored(file.deletionVector()))
        copies.remove(file.deletionVector().absolutePath(to.dataPath()).toString());
    }
  }

  /** Number and bytes of the data files that had to be copied. */
  private static long[] copied(SparkSession spark, List<Copy> copies, DeltaLog to) {
    long[] found = new long[2];
    if (copies.isEmpty()) return found;
    TableCloner task = new TableCloner();
    Configuration conf = to.newDeltaHadoopConf();
    task.conf = new SerializableConfiguration(conf);
    task.partsAreSeen = to.store().isPartialWriteVisible(to.dataPath(), conf);
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    int tasks = Math.max(context.defaultParallelism(), copies.size() / FILES_OF_A_TASK);
    var sizes = context.parallelize(copies, Math.min(copies.size(), tasks)).map(task).collect();
    for (long size : sizes) {
      if (size < 0) continue;
      found[0]++;
      found[1] += size;
    }
    return found;
  }

  /**
   * On an executor: copies a file; its bytes, or -1 where it is there already, or holds deletions
   * only.
   */
  @Override
  public Long call(Copy copy) throws Exception {
    Path from = new Path(copy.from), to = new Path(copy.to);
    FileSystem source = from.getFileSystem(conf.value()), target = to.getFileSystem(conf.value());
    long size = source.getFileStatus(from).getLen();
    if (length(target, to) == size) {
      // Left by a run that did not come to its end: a VACUUM takes it for new.
      target.setTimes(to, System.currentTimeMillis(), -1);
      return -1L;
    }
    target.mkdirs(to.getParent());
    Path part =
        partsAreSeen
            ? new Path(to.getParent(), to.getName() + ".copying-" + UUID.randomUUID())
            : to;
    FileUtil.copy(source, from, target, part, false, true, conf.value());
    if (partsAreSeen && !target.rename(part, to)) {
      // Another run was faster, or somebody has left something else there.
      if (length(target, to) != size && target.delete(to, false)) target.rename(part, to);
      target.delete(part, false);
    }
    if (length(target, to) != size)
      throw new java.io.IOException(from + " could not be copied to " + to);
    return "data".equals(copy.kind) ? size : -1;
  }

  private static long length(FileSystem store, Path path) throws java.io.IOException {
    try {
      FileStatus found = store.getFileStatus(path);
      return found.getLen();
    } catch (java.io.FileNotFoundException e) {
      return -1;
    }
  }

  private static Map<String, String> texts(ObjectNode values) {
    Map<String, String> found = new HashMap<>();
    for (var pair : values.properties()) found.put(pair.getKey(), pair.getValue().asText());
    return found;
  }
}
