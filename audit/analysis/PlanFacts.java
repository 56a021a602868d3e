import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** Reads an analyzed plan in one call from Python: its shape in the form of TreeNode.toJSON (only what
 *  lineage needs), and the relations and targets behind it. Compiled at attach by Janino, the compiler
 *  of Spark's own code generator: no lambdas, no generics. */
public class PlanFacts {
  private static final HashSet KEPT = new HashSet(java.util.Arrays.asList(new String[] {
      "isTempView", "isByName", "ordinal", "id", "cteId", "loopId", "ignoreIfExists", "ifNotExists", "ifExists",
      "replace", "allowExisting", "overwrite", "orCreate", "isView", "isAll"}));
  private final StringBuilder plan = new StringBuilder(16384);
  private final StringBuilder leaves = new StringBuilder(4096);
  private final StringBuilder targets = new StringBuilder(1024);
  private final StringBuilder views = new StringBuilder(1024);
  private final boolean shape;
  private final HashSet seen = new HashSet();

  private PlanFacts(boolean shape) { this.shape = shape; }

  /** The instance that Python holds. */
  public PlanFacts() { this(false); }

  // ---- what Python calls

  private static final int PIECE = 6000;
  private final java.util.HashMap kept = new java.util.HashMap();
  private int last = 0;

  /** "<id> <length>" and the first piece. Py4J's replies of more than 8 KiB take 40 ms longer, whatever
   *  the work (two writes on a socket with Nagle's algorithm, a reader that delays its ACK), so that a
   *  long text is fetched in pieces of 0.1 ms. */
  private synchronized String send(String text) {
    if (text.length() <= PIECE) return "0 " + text.length() + "\n" + text;
    last++;
    kept.put(Integer.valueOf(last), text);
    return last + " " + text.length() + "\n" + text.substring(0, PIECE);
  }

  /** The piece of a kept text that begins at `from`; the last one forgets it. */
  public synchronized String piece(int id, int from) {
    String text = (String) kept.get(Integer.valueOf(id));
    int stop = Math.min(from + PIECE, text.length());
    if (stop == text.length()) kept.remove(Integer.valueOf(id));
    return text.substring(from, stop);
  }

  public String read(LogicalPlan root) { return send(readText(root)); }

  public String facts(LogicalPlan root) { return send(factsText(root)); }

  public String readExecution(org.apache.spark.sql.execution.QueryExecution execution) {
    return send(readExecutionText(execution));
  }

  private static final String[] READINGS = {
      "spark.sql.caseSensitive", "true", "spark.sql.parser.quotedRegexColumnNames", "true",
      "spark.sql.path.enabled", "true", "spark.sql.ansi.doubleQuotedIdentifiers", "true",
      "spark.sql.ansi.relationPrecedence", "true", "spark.sql.legacy.ctePrecedencePolicy", "LEGACY"};

  /** The first setting of a session under which text means something else than it does by default, or "". */
  public String reading(org.apache.spark.sql.classic.SparkSession session) {
    org.apache.spark.sql.internal.SQLConf conf =
        (org.apache.spark.sql.internal.SQLConf) call(call(session, "sessionState"), "conf");
    for (int i = 0; i < READINGS.length; i += 2) {
      if (READINGS[i + 1].equalsIgnoreCase(conf.getConfString(READINGS[i]))) return READINGS[i];
    }
    return "";
  }

  /** Two lines: the plan's nodes, and {"leaves": [...], "targets": [...]}. */
  private static String readText(LogicalPlan root) {
    PlanFacts facts = new PlanFacts(true);
    facts.tree(root);
    return facts.plan + "\n" + facts.found();
  }

  /** As `read`, and a third line: the current catalog and schema of the execution's session. */
  private static String readExecutionText(org.apache.spark.sql.execution.QueryExecution execution) {
    Object manager = call(call(execution.sparkSession(), "sessionState"), "catalogManager");
    String[] space = (String[]) call(manager, "currentNamespace");
    String current = quoted((String) call(call(manager, "currentCatalog"), "name"));
    for (int i = 0; i < space.length; i++) current = current + "." + quoted(space[i]);
    return readText(execution.analyzed()) + "\n" + current;
  }

  /** The second line of `read` alone. */
  private static String factsText(LogicalPlan root) {
    PlanFacts facts = new PlanFacts(false);
    facts.tree(root);
    return facts.found();
  }

  private String found() { return "{\"leaves\":[" + leaves + "],\"targets\":[" + targets + "],\"views\":[" + views + "]}"; }

  // ---- the walk: children by a stack of our own, so that deep plans do not overflow Java's

  private void tree(TreeNode root) {
    ArrayDeque todo = new ArrayDeque();
    todo.push(root);
    if (shape) plan.append('[');
    boolean first = true;
    while (!todo.isEmpty()) {
      TreeNode node = (TreeNode) todo.pop();
      if (shape && !first) plan.append(',');
      first = false;
      List children = list(node.children());
      node(node, children);
      for (int i = children.size() - 1; i >= 0; i--) todo.push(children.get(i));
    }
    if (shape) plan.append(']');
  }

  private void node(TreeNode node, List children) {
    String kind = kind(node);
    if (shape) {
      plan.append("{\"class\":\"").append(kind).append("\",\"num-children\":").append(children.size());
    }
    if (node instanceof Command || kind.startsWith("WriteToMicroBatch")) target((LogicalPlan) node, kind);
    else if (node instanceof LogicalPlan && children.isEmpty()) leaf((LogicalPlan) node, kind);
    if (kind.equals("View")) view((org.apache.spark.sql.catalyst.plans.logical.View) node);
    if (shape && node instanceof NamedExpression && !(node instanceof PlanExpression)) {
      // second parameter list: productIterator leaves it out (Spark 4.2)
      if (!kind.startsWith("Unresolved")) key("exprId").append("{\"id\":").append(((NamedExpression) node).exprId().id()).append('}');
    }
    if (shape && kind.equals("LogicalRDD") && checkpointed(node)) key("originStats").append("true");
    if (shape && kind.equals("GetStructField") && some(call(node, "name")) == null) {
      text(key("fieldName"), call(node, "extractFieldName"));  // a star over a struct names no field
    }
    boolean open = !(node instanceof Expression) || node instanceof PlanExpression
        || children.isEmpty() || kind.equals("SQLScalarFunction");
    scala.Product product = (scala.Product) node;
    for (int i = 0; i < product.productArity(); i++) {
      Object value = some(product.productElement(i));
      if (value == null) continue;
      field(product.productElementName(i), value, children, open, kind);
    }
    if (shape) plan.append('}');
  }

  /** LogicalRDD keeps statistics of the plan that a checkpoint cut off (second parameter list, Spark 4.2). */
  private static boolean checkpointed(Object node) {
    Object more = call(node, "otherCopyArgs");
    return more instanceof scala.collection.Seq && ((scala.collection.Seq) more).size() > 1
        && some(((scala.collection.Seq) more).apply(1)) != null;
  }

  private void field(String name, Object value, List children, boolean open, String kind) {
    if (value instanceof Boolean || value instanceof Integer || value instanceof Long) {
      if (shape && KEPT.contains(name) && !kind.equals("Literal")) key(name).append(value);
    } else if (value instanceof ExprId) {
      if (shape && !(name.equals("exprId") || name.equals("resultId"))) key(name).append("{\"id\":").append(((ExprId) value).id()).append('}');
    } else if (value instanceof String) {
      if (shape && (name.equals("name") || name.equals("udfName") || name.equals("newName"))) text(key(name), value);
    } else if (value instanceof TreeNode) {
      if (open && !isChild(value, children)) nested(name, value);
    } else if (kind.equals("Literal")) {
      if (shape && name.equals("value") && value instanceof org.apache.spark.unsafe.types.UTF8String
          && ((org.apache.spark.unsafe.types.UTF8String) value).numBytes() < 128) {
        text(key("dataType"), "string");
        text(key("value"), value.toString());
      }
    } else if (value instanceof CatalogTable) {
      if (shape) identifier(key(name).append("{\"identifier\":"), ((CatalogTable) value).identifier()).append('}');
    } else if (value instanceof TableIdentifier) {
      if (shape) identifier(key(name), (TableIdentifier) value);
    } else if (value instanceof scala.collection.Seq) {
      seq(name, (scala.collection.Seq) value, children, open);
    } else if (value instanceof org.apache.spark.sql.catalyst.plans.JoinType) {
      Object exists = value instanceof org.apache.spark.sql.catalyst.plans.ExistenceJoin
          ? ((org.apache.spark.sql.catalyst.plans.ExistenceJoin) value).exists() : null;
      if (shape) text(key(name).append("{\"object\":"), kind(value));
      if (shape && exists != null) { plan.append(",\"exists\":"); tree((TreeNode) exists); }
      if (shape) plan.append('}');
    } else if (name.equals("function") && value.getClass().getName().endsWith("catalog.SQLFunction")) {
      if (shape) { text(key(name).append("{\"name\":"), call(call(value, "name"), "unquotedString")); plan.append('}'); }
    } else if (value instanceof org.apache.spark.sql.types.StructField) {
      if (shape) { text(key(name).append("{\"name\":"), ((org.apache.spark.sql.types.StructField) value).name()); plan.append('}'); }
    }
  }

  private void nested(String name, Object value) {
    if (unread(value)) return;
    if (shape) key(name);
    tree((TreeNode) value);
  }

  /** For the facts alone, an expression without a plan inside need not be walked. */
  private boolean unread(Object value) {
    return !shape && value instanceof Expression
        && !((Expression) value).containsPattern(org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION());
  }

  private void seq(String name, scala.collection.Seq values, List children, boolean open) {
    if (values.isEmpty()) return;
    Object head = some(values.head());
    boolean strings = head instanceof String && name.equals("targetColNameParts");
    boolean useful = strings || head instanceof TreeNode && open && !isChild(head, children)
        || head instanceof scala.collection.Seq || head instanceof ExprId;
    if (!useful) return;
    if (shape) key(name).append('[');
    scala.collection.Iterator each = values.iterator();
    boolean first = true;
    while (each.hasNext()) {
      Object value = some(each.next());
      if (shape && !first) plan.append(',');
      first = false;
      item(value);
    }
    if (shape) plan.append(']');
  }

  private void item(Object value) {
    if (value instanceof TreeNode) {
      if (!unread(value)) tree((TreeNode) value);
    } else if (value instanceof ExprId) {
      if (shape) plan.append("{\"id\":").append(((ExprId) value).id()).append('}');
    } else if (value instanceof String) {
      if (shape) text(plan, value);
    } else if (value instanceof scala.collection.Seq) {
      if (shape) plan.append('[');
      scala.collection.Iterator each = ((scala.collection.Seq) value).iterator();
      boolean first = true;
      while (each.hasNext()) {
        if (shape && !first) plan.append(',');
        first = false;
        item(some(each.next()));
      }
      if (shape) plan.append(']');
    } else if (shape) {
      plan.append("null");
    }
  }

  // ---- views

  /** A view with its text as of now; one over a DataFrame has none. */
  private void view(org.apache.spark.sql.catalyst.plans.logical.View node) {
    CatalogTable table = node.desc();
    String name = node.isTempView() ? quoted(table.identifier().table()) : String.valueOf(viewName(table));
    if (!seen.add("view " + name)) return;
    if (views.length() > 0) views.append(',');
    text(views.append("{\"name\":"), name);
    if (node.isTempView()) views.append(",\"temporary\":true");
    Object definition = some(table.viewText());
    if (definition != null && !node.isTempViewStoringAnalyzedPlan()) text(views.append(",\"text\":"), definition);
    scala.collection.Seq where = table.viewCatalogAndNamespace();
    if (!where.isEmpty()) {
      text(views.append(",\"catalog\":"), where.head());
      text(views.append(",\"schema\":"), ((scala.collection.Seq) where.tail()).mkString("."));
    }
    views.append(",\"columns\":[");
    org.apache.spark.sql.types.StructField[] fields = node.schema().fields();
    for (int i = 0; i < fields.length; i++) {
      if (i > 0) views.append(',');
      text(views.append('['), fields[i].name());
      text(views.append(','), fields[i].dataType().catalogString());
      views.append(']');
    }
    views.append("]}");
  }

  private static String viewName(CatalogTable table) {
    String catalog = (String) some(table.identifier().catalog());
    String schema = (String) some(table.identifier().database());
    return quoted(catalog == null ? "spark_catalog" : catalog) + "."
        + (schema == null ? "" : quoted(schema) + ".") + quoted(table.identifier().table());
  }

  /** As `read`, of what is below the view of that name. */
  public String readView(LogicalPlan root, String name) {
    ArrayDeque todo = new ArrayDeque();
    todo.push(root);
    while (!todo.isEmpty()) {
      LogicalPlan node = (LogicalPlan) todo.pop();
      if (node instanceof org.apache.spark.sql.catalyst.plans.logical.View
          && ((org.apache.spark.sql.catalyst.plans.logical.View) node).desc().identifier().table().equals(name)) {
        return send(readText((LogicalPlan) ((org.apache.spark.sql.catalyst.plans.logical.View) node).child()));
      }
      List below = list(node.children());
      below.addAll(list(node.subqueries()));
      for (int i = 0; i < below.size(); i++) todo.push(below.get(i));
    }
    return send("[]\n{\"leaves\":[],\"targets\":[],\"views\":[]}");
  }

  // ---- relations

  private void leaf(LogicalPlan node, String kind) {
    boolean known = kind.equals("LogicalRelation") || kind.endsWith("TableRelation") || kind.startsWith("DataSourceV2")
        || kind.startsWith("Streaming");
    if (!known) return;
    scala.collection.Seq output = node.output();
    Object key = output.isEmpty() ? null : Long.valueOf(((Attribute) output.head()).exprId().id());
    if (key != null && !seen.add(key)) return;
    Fact fact = new Fact();
    fact.node = kind;
    fact.key = key;
    fact.streaming = node.isStreaming();
    fact.output = output;
    fact.relation(node);
    if (leaves.length() > 0) leaves.append(',');
    fact.write(leaves);
  }

  private void target(LogicalPlan node, String kind) {
    Fact fact = new Fact();
    fact.node = kind;
    scala.Product product = (scala.Product) node;
    for (int i = 0; i < product.productArity(); i++) {
      Object value = some(product.productElement(i));
      if (value != null) fact.part(product.productElementName(i), value);
    }
    if (targets.length() > 0) targets.append(',');
    fact.write(targets);
    if (fact.cloned != null) {
      if (leaves.length() > 0) leaves.append(',');
      fact.cloned.write(leaves);
    }
  }

  /** What is known of one relation or target; fields that stay null are left out. */
  static class Fact {
    String node;
    Object key;
    String name;
    String newName;
    String source;
    String provider;
    ArrayList locations = new ArrayList();
    Object tableId;
    Object version;
    boolean view;
    boolean external;
    boolean partial;
    boolean temporary;
    boolean streaming;
    String mode;
    scala.collection.Seq output;
    scala.collection.Seq partitions;
    Object schema;
    ArrayList changes = new ArrayList();
    Fact cloned;

    void relation(Object node) {
      Object relation = call(node, "relation");
      Object table = call(node, "table");
      catalogTable(some(call(node, "catalogTable")));
      if (node.getClass().getSimpleName().equals("HiveTableRelation")) {
        catalogTable(call(node, "tableMeta"));
        provider = "hive";
      }
      if (relation instanceof org.apache.spark.sql.execution.datasources.HadoopFsRelation) {
        org.apache.spark.sql.execution.datasources.HadoopFsRelation files =
            (org.apache.spark.sql.execution.datasources.HadoopFsRelation) relation;
        if (provider == null && files.fileFormat() instanceof org.apache.spark.sql.sources.DataSourceRegister) {
          provider = ((org.apache.spark.sql.sources.DataSourceRegister) files.fileFormat()).shortName();
        }
        fileIndex(files.location());
      } else if (relation != null && name == null) {
        locations.add(relation.toString());
      }
      if (relation != null) deltaParts(relation);
      if (table instanceof org.apache.spark.sql.connector.catalog.Table) {
        v2(table, some(call(node, "catalog")), some(call(node, "identifier")));
      }
      Object real = call(node, "sourceName");
      if (real instanceof String && provider == null) provider = (String) real;
    }

    void v2(Object table, Object catalog, Object identifier) {
      catalogTable(some(call(table, "catalogTable")));
      if (call(table, "v1Table") instanceof CatalogTable) catalogTable(call(table, "v1Table"));
      deltaParts(table);
      Object path = call(table, "path");
      if (path != null && locations.isEmpty()) location(path);
      Object index = call(table, "fileIndex");
      if (index != null) fileIndex(index);
      if (name == null && identifier != null && path == null) name = qualified(catalog, identifier);
      if (name == null && locations.isEmpty()) {
        name = catalog == null ? null : qualified(catalog, identifier);
        if (name == null) locations.add(String.valueOf(call(table, "name")));
      }
      if (index != null && call(table, "formatName") != null && provider == null) {
        provider = String.valueOf(call(table, "formatName")).toLowerCase();
      }
    }

    void fileIndex(Object index) {
      if (locations.isEmpty()) {
        Object roots = call(index, "rootPaths");
        if (roots instanceof scala.collection.Seq) {
          scala.collection.Iterator each = ((scala.collection.Seq) roots).iterator();
          while (each.hasNext()) location(each.next());
        }
      }
      deltaParts(index);
    }

    void deltaParts(Object owner) {
      if (!owner.getClass().getName().startsWith("org.apache.spark.sql.delta")) return;
      provider = "delta";
      if (tableId != null) return;
      Object snapshot = call(owner, "snapshotAtAnalysis");
      if (snapshot == null) snapshot = call(owner, "initialSnapshot");
      Object log = call(owner, "deltaLog");
      if (snapshot == null && log == null && owner.getClass().getSimpleName().equals("DeltaLog")) log = owner;
      if (snapshot == null && log != null) snapshot = call(log, "unsafeVolatileSnapshot");
      if (snapshot != null) snapshot(snapshot);
    }

    void snapshot(Object snapshot) {
      version = call(snapshot, "version");
      Object metadata = call(snapshot, "metadata");
      tableId = call(metadata, "id");
      partitions = (scala.collection.Seq) call(metadata, "partitionColumns");
      schema = call(snapshot, "schema");
      if (locations.isEmpty()) location(call(snapshot, "path") == null ? null : parent(call(snapshot, "path")));
    }

    static Object parent(Object path) {
      Object name = call(path, "getName");
      return "_delta_log".equals(name) ? call(path, "getParent") : path;
    }

    void catalogTable(Object value) {
      if (!(value instanceof CatalogTable)) return;
      CatalogTable table = (CatalogTable) value;
      if (name == null) name = identifierName(table.identifier());
      view = view || table.tableType().name().equals("VIEW");
      external = external || table.tableType().name().equals("EXTERNAL");
      leaves(table.storage().properties());
      if (provider == null && table.provider().isDefined()) provider = (String) table.provider().get();
      Object uri = some(table.storage().locationUri());
      if (uri != null && locations.isEmpty()) location(uri);
      if (partitions == null && !table.partitionColumnNames().isEmpty()) partitions = table.partitionColumnNames();
      if (!table.schema().isEmpty() && schema == null) schema = table.schema();
    }

    /** A constructor parameter of a command. */
    void part(String field, Object value) {
      String kind = kind(value);
      if (value instanceof scala.collection.Map && field.toLowerCase().endsWith("options")) leaves((scala.collection.Map) value);
      if (value instanceof CatalogTable) catalogTable(value);
      else if (field.equals("column") && value instanceof TreeNode) change("ALTER", value);
      else if (field.equals("newName") && value instanceof scala.collection.Seq) newName = ((scala.collection.Seq) value).mkString(".");
      else if (kind.equals("CloneTableCommand")) clone(value);
      else if (field.equals("sink")) sink(value, kind);
      else if (value instanceof TableIdentifier) {
        String given = identifierName((TableIdentifier) value);
        if (field.equals("sourceTable")) source = given;
        else if (name == null) name = given;
        // The analyzer gives each view of the catalog its schema, a temporary one none (Spark 4.2).
        if (node.equals("AlterViewAsCommand") && ((TableIdentifier) value).database().isEmpty()) temporary = true;
        else if (field.equals("newName")) newName = given;
      } else if (kind.equals("LogicalRelation") || kind.equals("DataSourceV2Relation")) {
        if (field.equals("table") || field.equals("logicalRelation")) { relation(value); output = ((LogicalPlan) value).output(); }
      } else if (kind.startsWith("Resolved")) {
        resolved(field, value, kind);
      } else if (kind.equals("Path") && field.equals("outputPath")) {
        if (locations.isEmpty()) location(value);
      } else if (value instanceof CatalogStorageFormat) {
        Object uri = some(((CatalogStorageFormat) value).locationUri());
        if (uri != null && locations.isEmpty()) location(uri);
      } else if (field.equals("options") && value instanceof scala.collection.Map) {
        Object path = some(((scala.collection.Map) value).get("path"));
        if (path != null && locations.isEmpty()) { provider = provider == null ? "path" : provider; location(path); }
      } else if (value instanceof org.apache.spark.sql.sources.DataSourceRegister) {
        provider = ((org.apache.spark.sql.sources.DataSourceRegister) value).shortName();
      } else if (value instanceof org.apache.spark.sql.SaveMode) {
        mode = value.toString();
      } else if (kind.equals("DeltaTableV2")) {
        v2(value, null, null);
      } else if (kind.startsWith("Tahoe") || kind.equals("DeltaLog")) {
        if (kind.equals("DeltaLog")) deltaParts(value); else fileIndex(value);
      } else if (field.equals("databaseName") && value instanceof String) {
        name = "spark_catalog." + quoted((String) value);
      } else if (field.equals("viewType")) {
        temporary = !kind.equals("PersistedView");
      } else if (field.equals("newName") && value instanceof String) {
        newName = (String) value;
      } else if (field.equals("newIdent")) {
        newName = qualified(null, value);
      } else if (field.equals("newColumn")) {
        change("ALTER", value);
      } else if (value instanceof scala.collection.Seq) {
        changes(field, (scala.collection.Seq) value);
      }
    }

    /** Whether a writer's options leave rows or partitions of an overwritten table in place. */
    void leaves(scala.collection.Map options) {
      String said = options.toString().toLowerCase();
      partial = partial || said.indexOf("replacewhere ->") >= 0 || said.indexOf("partitionoverwritemode -> dynamic") >= 0;
    }

    /** What CREATE TABLE … CLONE copies: the table (Delta 4.4 keeps the clone as the query of its create). */
    void clone(Object value) {
      Object from = call(value, "sourceTable");
      Fact fact = new Fact();
      fact.node = "CloneSource";
      fact.catalogTable(some(call(from, "catalogTable")));
      Object snapshot = some(call(from, "snapshot"));
      if (snapshot != null) fact.snapshot(snapshot);
      if (fact.schema == null) fact.schema = call(from, "schema");
      if (fact.name == null && fact.locations.isEmpty()) fact.name = String.valueOf(call(from, "name"));
      cloned = fact;
      source = fact.name;
    }

    /** The sink of a micro-batch; one of foreachBatch has no place of its own. */
    void sink(Object value, String kind) {
      provider = kind.equals("DeltaSink") ? "delta" : kind.startsWith("ForeachBatch") ? "foreachBatch" : kind;
      Object path = call(value, "path");
      if (path == null) path = hidden(value, "path");
      if (path != null && locations.isEmpty()) location(path);
    }

    void resolved(String field, Object value, String kind) {
      String given = null;
      if (kind.equals("ResolvedNamespace")) {
        given = namespace(call(value, "catalog"), (scala.collection.Seq) call(value, "namespace"));
      } else if (kind.equals("ResolvedTempView")) {
        temporary = true;
        given = String.valueOf(call(call(value, "identifier"), "name"));
      } else {
        given = qualified(call(value, "catalog"), call(value, "identifier"));
      }
      if (field.equals("source")) { source = given; return; }
      if (kind.equals("ResolvedPersistentView")) view = true;
      if (name == null) name = given;
      Object table = call(value, "table");
      if (table != null) { v2(table, call(value, "catalog"), call(value, "identifier")); }
    }

    void changes(String field, scala.collection.Seq values) {
      String operation = field.equals("columns") || field.equals("columnsToAdd") || field.equals("colsToAdd") ? "ADD"
          : field.equals("userSpecifiedColumns") ? "ADD" : field.equals("columnsToDrop") || field.equals("colsToDrop") ? "DROP" : field.equals("specs") ? "ALTER" : null;
      if (operation == null) return;
      scala.collection.Iterator each = values.iterator();
      while (each.hasNext()) change(operation, each.next());
    }

    void change(String operation, Object value) {
      Object name = null;
      Object type = call(value, "dataType");
      if (value instanceof scala.Tuple2) name = ((scala.Tuple2) value)._1();
      if (value instanceof scala.collection.Seq) name = ((scala.collection.Seq) value).mkString(".");
      if (name == null && kind(value).equals("AlterColumnSpec")) {
        Object column = call(value, "column");
        name = call(column, "name");
        type = some(call(value, "newDataType"));
      }
      if (name == null) name = call(value, "colName");
      if (name == null) name = call(value, "name");
      if (name instanceof scala.collection.Seq) name = ((scala.collection.Seq) name).mkString(".");
      if (name == null) return;
      changes.add(new Object[] {operation, name, type == null ? "" : call(type, "catalogString")});
    }

    void location(Object path) {
      if (path == null) return;
      String text = path.toString();
      if (text.startsWith("/")) text = "file:" + text;
      while (text.length() > 1 && text.endsWith("/")) text = text.substring(0, text.length() - 1);
      if (!locations.contains(text)) locations.add(text);
    }

    void write(StringBuilder out) {
      text(out.append("{\"node\":"), node);
      if (key != null) out.append(",\"key\":").append(key);
      put(out, "name", name);
      put(out, "new_name", newName);
      put(out, "source", source);
      put(out, "provider", provider);
      put(out, "table_id", tableId);
      put(out, "mode", mode);
      if (version != null) out.append(",\"version\":").append(version);
      if (view) out.append(",\"view\":true");
      if (external) out.append(",\"external\":true");
      if (partial) out.append(",\"partial\":true");
      if (temporary) out.append(",\"temporary\":true");
      if (streaming) out.append(",\"streaming\":true");
      if (!locations.isEmpty()) strings(out.append(",\"locations\":"), locations);
      if (partitions != null && !partitions.isEmpty()) strings(out.append(",\"partition_columns\":"), list(partitions));
      columns(out);
      if (!changes.isEmpty()) {
        out.append(",\"changes\":[");
        for (int i = 0; i < changes.size(); i++) {
          Object[] change = (Object[]) changes.get(i);
          if (i > 0) out.append(',');
          text(out.append('['), change[0]); text(out.append(','), change[1]); text(out.append(','), change[2]);
          out.append(']');
        }
        out.append(']');
      }
      out.append('}');
    }

    private void columns(StringBuilder out) {
      boolean first = true;
      if (output != null) {
        out.append(",\"columns\":[");
        scala.collection.Iterator each = output.iterator();
        while (each.hasNext()) {
          Attribute column = (Attribute) each.next();
          if (column.metadata().contains("__metadata_col")) continue;  // hidden: no star shows it (Spark 4.2)
          first = column(out, first, column.name(), column.dataType(), column.metadata());
        }
        out.append(']');
      } else if (schema instanceof org.apache.spark.sql.types.StructType) {
        org.apache.spark.sql.types.StructField[] fields = ((org.apache.spark.sql.types.StructType) schema).fields();
        out.append(",\"columns\":[");
        for (int i = 0; i < fields.length; i++) {
          first = column(out, first, fields[i].name(), fields[i].dataType(), fields[i].metadata());
        }
        out.append(']');
      }
    }

    private static boolean column(StringBuilder out, boolean first, String name,
        org.apache.spark.sql.types.DataType type, org.apache.spark.sql.types.Metadata metadata) {
      if (!first) out.append(',');
      text(out.append('['), name);
      text(out.append(','), type.catalogString());
      if (metadata.contains("delta.columnMapping.id")) {
        out.append(',').append(metadata.getLong("delta.columnMapping.id"));
      }
      out.append(']');
      return false;
    }
  }

  // ---- names

  static String identifierName(TableIdentifier identifier) {
    Object database = some(identifier.database());
    Object catalog = some(identifier.catalog());
    String name = quoted(identifier.table());
    if (database == null) return name;
    return (catalog == null ? "spark_catalog" : quoted((String) catalog)) + "." + quoted((String) database) + "." + name;
  }

  static String qualified(Object catalog, Object identifier) {
    if (identifier == null) return null;
    StringBuilder name = new StringBuilder();
    if (catalog != null) name.append(quoted((String) call(catalog, "name"))).append('.');
    String[] space = (String[]) call(identifier, "namespace");
    for (int i = 0; i < space.length; i++) name.append(quoted(space[i])).append('.');
    return name.append(quoted((String) call(identifier, "name"))).toString();
  }

  static String namespace(Object catalog, scala.collection.Seq parts) {
    StringBuilder name = new StringBuilder(quoted((String) call(catalog, "name")));
    scala.collection.Iterator each = parts.iterator();
    while (each.hasNext()) name.append('.').append(quoted((String) each.next()));
    return name.toString();
  }

  static String quoted(String part) {
    return part.indexOf('.') < 0 && part.indexOf('`') < 0 ? part : "`" + part.replace("`", "``") + "`";
  }

  // ---- small tools

  static StringBuilder identifier(StringBuilder out, TableIdentifier identifier) {
    text(out.append("{\"table\":"), identifier.table());
    put(out, "database", some(identifier.database()));
    put(out, "catalog", some(identifier.catalog()));
    return out.append('}');
  }

  static boolean isChild(Object value, List children) {
    int stop = Math.min(children.size(), 64);
    for (int i = 0; i < stop; i++) if (children.get(i) == value) return true;
    return false;
  }

  static Object some(Object value) {
    if (value instanceof scala.Option) return ((scala.Option) value).isEmpty() ? null : ((scala.Option) value).get();
    return value;
  }

  static String kind(Object value) {
    String name = value.getClass().getName();
    while (name.endsWith("$")) name = name.substring(0, name.length() - 1);
    return name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
  }

  static List list(scala.collection.Seq values) {
    ArrayList result = new ArrayList(values.size());
    scala.collection.Iterator each = values.iterator();
    while (each.hasNext()) result.add(each.next());
    return result;
  }

  /** A method without parameters by name, null where there is none or it fails. */
  static Object call(Object target, String name) {
    if (target == null) return null;
    try {
      Method method = target.getClass().getMethod(name, new Class[0]);
      method.setAccessible(true);
      return method.invoke(target, new Object[0]);
    } catch (Exception missing) {
      return null;
    }
  }

  /** A field of the object's own class, null where there is none. */
  static Object hidden(Object target, String name) {
    try {
      java.lang.reflect.Field field = target.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(target);
    } catch (Exception missing) {
      return null;
    }
  }

  StringBuilder key(String name) { return plan.append(",\"").append(name).append("\":"); }

  static void put(StringBuilder out, String name, Object value) {
    if (value != null) text(out.append(",\"").append(name).append("\":"), value);
  }

  static void strings(StringBuilder out, List values) {
    out.append('[');
    for (int i = 0; i < values.size(); i++) {
      if (i > 0) out.append(',');
      text(out, values.get(i));
    }
    out.append(']');
  }

  static void text(StringBuilder out, Object value) {
    String text = String.valueOf(value);
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ' || c > '~') {
        out.append("\\u").append(Character.forDigit(c >> 12, 16)).append(Character.forDigit(c >> 8 & 15, 16))
            .append(Character.forDigit(c >> 4 & 15, 16)).append(Character.forDigit(c & 15, 16));
      }
      else out.append(c);
    }
    out.append('"');
  }
}
