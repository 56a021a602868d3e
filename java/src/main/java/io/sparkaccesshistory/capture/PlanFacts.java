package io.sparkaccesshistory.capture;

import io.sparkaccesshistory.Scala;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.collection.Seq;

/**
 * Reads an analyzed plan in one call from Python: its shape in the form of TreeNode.toJSON (only
 * what lineage needs), and the relations and targets behind it.
 */
public class PlanFacts {
  private static final Set<String> KEPT =
      Set.of(
          "isTempView",
          "isByName",
          "isLazy",
          "ordinal",
          "id",
          "cteId",
          "loopId",
          "ignoreIfExists",
          "ifNotExists",
          "ifExists",
          "replace",
          "allowExisting",
          "overwrite",
          "orCreate",
          "isView",
          "isAll");
  private final StringBuilder plan = new StringBuilder(16384);
  private final Map<Object, String> leaves = new LinkedHashMap<>();
  private final Map<Integer, RddOrigins.Origin> origins = new LinkedHashMap<>();
  private final StringBuilder targets = new StringBuilder(1024);
  private final StringBuilder views = new StringBuilder(1024);
  private final boolean shape;
  private final Set<Object> seen = new HashSet<>();
  private String wanted;
  private LogicalPlan below;

  private PlanFacts(boolean shape) {
    this.shape = shape;
  }

  /** The instance that Python holds. */
  public PlanFacts() {
    this(false);
  }

  // ---- what Python calls

  private static final int PIECE = 6000;
  private final Map<Integer, String> kept = new HashMap<>();
  private int last = 0;

  /**
   * "<id> <length>" and the first piece. Py4J's replies of more than 8 KiB take 40 ms longer,
   * whatever the work (two writes on a socket with Nagle's algorithm, a reader that delays its
   * ACK), so that a long text is fetched in pieces of 0.1 ms.
   */
  private synchronized String send(String text) {
    if (text.length() <= PIECE) return "0 " + text.length() + "\n" + text;
    last++;
    kept.put(last, text);
    return last + " " + text.length() + "\n" + text.substring(0, PIECE);
  }

  /** The piece of a kept text that begins at `from`; the last one forgets it. */
  public synchronized String piece(int id, int from) {
    String text = kept.get(id);
    int stop = Math.min(from + PIECE, text.length());
    if (stop == text.length()) kept.remove(id);
    return text.substring(from, stop);
  }

  public String read(LogicalPlan root) {
    return send(readText(root));
  }

  public String facts(LogicalPlan root) {
    return send(factsText(root));
  }

  /**
   * As `facts`, of the plan of an execution; before it a line with what `reading` says of a
   * session.
   */
  public String factsOf(
      org.apache.spark.sql.execution.QueryExecution execution,
      org.apache.spark.sql.classic.SparkSession session) {
    return send(reading(session) + "\n" + factsText(execution.analyzed()));
  }

  public String readExecution(org.apache.spark.sql.execution.QueryExecution execution) {
    return send(readExecutionText(execution));
  }

  private static final String[] READINGS = {
    "spark.sql.caseSensitive", "true", "spark.sql.parser.quotedRegexColumnNames", "true",
    "spark.sql.path.enabled", "true", "spark.sql.ansi.doubleQuotedIdentifiers", "true",
    "spark.sql.ansi.relationPrecedence", "true", "spark.sql.legacy.ctePrecedencePolicy", "LEGACY"
  };

  /**
   * The first setting of a session under which text means something else than it does by default,
   * or "".
   */
  private static String reading(org.apache.spark.sql.classic.SparkSession session) {
    org.apache.spark.sql.internal.SQLConf conf =
        (org.apache.spark.sql.internal.SQLConf)
            Members.call(Members.call(session, "sessionState"), "conf");
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
    Object manager =
        Members.call(Members.call(execution.sparkSession(), "sessionState"), "catalogManager");
    String[] space = (String[]) Members.call(manager, "currentNamespace");
    String current =
        PlanText.quoted((String) Members.call(Members.call(manager, "currentCatalog"), "name"));
    for (var one : space) current = current + "." + PlanText.quoted(one);
    return readText(execution.analyzed()) + "\n" + current;
  }

  /** The second line of `read` alone. */
  private static String factsText(LogicalPlan root) {
    PlanFacts facts = new PlanFacts(false);
    facts.tree(root);
    return facts.found();
  }

  /** A plan as the origin of an RDD. */
  static RddOrigins.Origin origin(int id, LogicalPlan root) {
    PlanFacts facts = new PlanFacts(true);
    facts.tree(root);
    return new RddOrigins.Origin(id, facts.plan.toString(), facts.leaves, facts.origins);
  }

  private String found() {
    String relations = String.join(",", leaves.values());
    StringBuilder found = new StringBuilder("{\"leaves\":[").append(relations);
    found.append("],\"targets\":[").append(targets);
    found.append("],\"views\":[").append(views).append(']');
    if (!origins.isEmpty()) {
      found.append(",\"origins\":{");
      String comma = "";
      for (RddOrigins.Origin origin : origins.values()) {
        found.append(comma).append('"').append(origin.id()).append("\":").append(origin.shape());
        comma = ",";
      }
      found.append('}');
    }
    return found.append('}').toString();
  }

  // ---- the walk: children by a stack of our own, so that deep plans do not overflow Java's

  private void tree(TreeNode<?> root) {
    ArrayDeque<TreeNode<?>> todo = new ArrayDeque<>();
    todo.push(root);
    if (shape) plan.append('[');
    boolean first = true;
    while (!todo.isEmpty()) {
      TreeNode<?> node = todo.pop();
      if (shape && !first) plan.append(',');
      first = false;
      List<TreeNode<?>> children = nodes(node.children());
      node(node, children);
      for (int i = children.size() - 1; i >= 0; i--) todo.push(children.get(i));
    }
    if (shape) plan.append(']');
  }

  private void node(TreeNode<?> node, List<TreeNode<?>> children) {
    String kind = PlanText.kind(node);
    if (shape) {
      plan.append("{\"class\":\"")
          .append(kind)
          .append("\",\"num-children\":")
          .append(children.size());
    }
    if (node instanceof Command || kind.startsWith("WriteToMicroBatch"))
      target((LogicalPlan) node, kind);
    else if (node instanceof LogicalPlan && children.isEmpty()) leaf((LogicalPlan) node, kind);
    if (kind.equals("View")) view((org.apache.spark.sql.catalyst.plans.logical.View) node);
    if (shape && node instanceof NamedExpression && !(node instanceof PlanExpression)) {
      // second parameter list: productIterator leaves it out (Spark 4.2)
      if (!kind.startsWith("Unresolved"))
        key("exprId").append("{\"id\":").append(((NamedExpression) node).exprId().id()).append('}');
    }
    if (kind.equals("LogicalRDD")) rows((LogicalRDD) node);
    if (shape
        && kind.equals("GetStructField")
        && PlanText.some(Members.call(node, "name")) == null) {
      PlanText.text(
          key("fieldName"),
          Members.call(node, "extractFieldName")); // a star over a struct names no field
    }
    boolean open =
        !(node instanceof Expression)
            || node instanceof PlanExpression
            || children.isEmpty()
            || kind.equals("SQLScalarFunction");
    scala.Product product = (scala.Product) node;
    for (int i = 0; i < product.productArity(); i++) {
      Object value = PlanText.some(product.productElement(i));
      if (value == null) continue;
      field(product.productElementName(i), value, children, open, kind);
    }
    if (shape) plan.append('}');
  }

  /** Where the rows of an RDD come from. */
  private void rows(LogicalRDD node) {
    RddOrigins.Rows rows = RddOrigins.of(node.rdd());
    for (var one : RddOrigins.withInside(rows.origins()).values()) {
      origins.put(one.id(), one);
      one.leaves().forEach(leaves::putIfAbsent);
    }
    if (!shape) return;
    if (rows.areMade()) return;
    if (rows.origins().isEmpty() && checkpointed(node)) key("originStats").append("true");
    else {
      List<String> ids = new ArrayList<>();
      for (var one : rows.origins()) ids.add(String.valueOf(one.id()));
      key("rows").append("{\"of\":[").append(String.join(",", ids)).append("],\"exact\":");
      plan.append(rows.exact());
      PlanText.strings(plan.append(",\"unknown\":"), List.copyOf(rows.unknown()));
      plan.append('}');
    }
  }

  /**
   * LogicalRDD keeps statistics of the plan that a checkpoint cut off (second parameter list, Spark
   * 4.2).
   */
  private static boolean checkpointed(Object node) {
    Object more = Members.call(node, "otherCopyArgs");
    return more instanceof Seq
        && PlanText.list(more).size() > 1
        && PlanText.some(PlanText.list(more).get(1)) != null;
  }

  private void field(
      String name, Object value, List<TreeNode<?>> children, boolean open, String kind) {
    if (value instanceof Boolean || value instanceof Integer || value instanceof Long) {
      if (shape && KEPT.contains(name) && !kind.equals("Literal")) key(name).append(value);
    } else if (value instanceof ExprId) {
      if (shape && !(name.equals("exprId") || name.equals("resultId")))
        key(name).append("{\"id\":").append(((ExprId) value).id()).append('}');
    } else if (value instanceof String) {
      if (shape && (name.equals("name") || name.equals("udfName") || name.equals("newName")))
        PlanText.text(key(name), value);
    } else if (value instanceof TreeNode) {
      if (open && !isChild(value, children)) nested(name, value);
    } else if (kind.equals("Literal")) {
      if (shape
          && name.equals("value")
          && value instanceof org.apache.spark.unsafe.types.UTF8String
          && ((org.apache.spark.unsafe.types.UTF8String) value).numBytes() < 128) {
        PlanText.text(key("dataType"), "string");
        PlanText.text(key("value"), value.toString());
      }
    } else if (value instanceof CatalogTable) {
      if (shape)
        PlanText.identifier(
                key(name).append("{\"identifier\":"), ((CatalogTable) value).identifier())
            .append('}');
    } else if (value instanceof TableIdentifier) {
      if (shape) PlanText.identifier(key(name), (TableIdentifier) value);
    } else if (value instanceof Seq) {
      seq(name, PlanText.list(value), children, open);
    } else if (value instanceof org.apache.spark.sql.catalyst.plans.JoinType) {
      Object exists =
          value instanceof org.apache.spark.sql.catalyst.plans.ExistenceJoin
              ? ((org.apache.spark.sql.catalyst.plans.ExistenceJoin) value).exists()
              : null;
      if (shape) PlanText.text(key(name).append("{\"object\":"), PlanText.kind(value));
      if (shape && exists != null) {
        plan.append(",\"exists\":");
        tree((TreeNode<?>) exists);
      }
      if (shape) plan.append('}');
    } else if (name.equals("function")
        && value.getClass().getName().endsWith("catalog.SQLFunction")) {
      if (shape) {
        PlanText.text(
            key(name).append("{\"name\":"),
            Members.call(Members.call(value, "name"), "unquotedString"));
        plan.append('}');
      }
    } else if (value instanceof org.apache.spark.sql.types.StructField) {
      if (shape) {
        PlanText.text(
            key(name).append("{\"name\":"),
            ((org.apache.spark.sql.types.StructField) value).name());
        plan.append('}');
      }
    }
  }

  private void nested(String name, Object value) {
    if (unread(value)) return;
    if (shape) key(name);
    tree((TreeNode<?>) value);
  }

  /** For the facts alone, an expression without a plan inside need not be walked. */
  private boolean unread(Object value) {
    return !shape
        && value instanceof Expression
        && !((Expression) value)
            .containsPattern(org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION());
  }

  private void seq(String name, List<?> values, List<TreeNode<?>> children, boolean open) {
    if (values.isEmpty()) return;
    Object head = PlanText.some(values.get(0));
    boolean strings = head instanceof String && name.equals("targetColNameParts");
    boolean useful =
        strings
            || head instanceof TreeNode && open && !isChild(head, children)
            || head instanceof Seq
            || head instanceof ExprId;
    if (!useful) return;
    if (shape) key(name).append('[');
    boolean first = true;
    for (Object each : values) {
      Object value = PlanText.some(each);
      if (shape && !first) plan.append(',');
      first = false;
      item(value);
    }
    if (shape) plan.append(']');
  }

  private void item(Object value) {
    if (value instanceof TreeNode) {
      if (!unread(value)) tree((TreeNode<?>) value);
    } else if (value instanceof ExprId) {
      if (shape) plan.append("{\"id\":").append(((ExprId) value).id()).append('}');
    } else if (value instanceof String) {
      if (shape) PlanText.text(plan, value);
    } else if (value instanceof Seq) {
      if (shape) plan.append('[');
      boolean first = true;
      for (Object each : PlanText.list(value)) {
        if (shape && !first) plan.append(',');
        first = false;
        item(PlanText.some(each));
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
    String name = viewName(table, node.isTempView());
    if (!seen.add("view " + name)) return;
    if (name.equals(wanted)) below = node.child();
    if (views.length() > 0) views.append(',');
    PlanText.text(views.append("{\"name\":"), name);
    if (node.isTempView()) views.append(",\"temporary\":true");
    Object definition = PlanText.some(table.viewText());
    if (definition != null && !node.isTempViewStoringAnalyzedPlan())
      PlanText.text(views.append(",\"text\":"), definition);
    List<String> where = Scala.list(table.viewCatalogAndNamespace());
    if (!where.isEmpty()) {
      PlanText.text(views.append(",\"catalog\":"), where.get(0));
      PlanText.text(views.append(",\"schema\":"), String.join(".", where.subList(1, where.size())));
    }
    views.append(",\"columns\":[");
    org.apache.spark.sql.types.StructField[] fields = node.schema().fields();
    for (int i = 0; i < fields.length; i++) {
      if (i > 0) views.append(',');
      PlanText.text(views.append('['), fields[i].name());
      PlanText.text(views.append(','), fields[i].dataType().catalogString());
      views.append(']');
    }
    views.append("]}");
  }

  /** A temporary view is in no catalog, a global one in the schema global_temp. */
  private static String viewName(CatalogTable table, boolean temporary) {
    String catalog = (String) PlanText.some(table.identifier().catalog());
    String schema = (String) PlanText.some(table.identifier().database());
    return (temporary ? "" : PlanText.quoted(catalog == null ? "spark_catalog" : catalog) + ".")
        + (schema == null ? "" : PlanText.quoted(schema) + ".")
        + PlanText.quoted(table.identifier().table());
  }

  /** As `read`, of what is below the view of that name: the same walk finds it. */
  public String readView(LogicalPlan root, String name) {
    PlanFacts facts = new PlanFacts(false);
    facts.wanted = name;
    facts.tree(root);
    if (facts.below == null)
      throw new IllegalArgumentException("no view " + name + " in this plan");
    return send(readText(facts.below));
  }

  // ---- relations

  private void leaf(LogicalPlan node, String kind) {
    boolean known =
        kind.equals("LogicalRelation")
            || kind.endsWith("TableRelation")
            || kind.startsWith("DataSourceV2")
            || kind.startsWith("Streaming");
    if (!known) return;
    List<Attribute> output = Scala.list(node.output());
    Long key = output.isEmpty() ? null : output.get(0).exprId().id();
    if (key != null && !seen.add(key)) return;
    PlanFact fact = new PlanFact();
    fact.node = kind;
    fact.key = key;
    fact.streaming = node.isStreaming();
    fact.output = output;
    fact.relation(node);
    leaves.put(key == null ? fact : key, written(fact));
  }

  private static String written(PlanFact fact) {
    StringBuilder text = new StringBuilder();
    fact.write(text);
    return text.toString();
  }

  private void target(LogicalPlan node, String kind) {
    PlanFact fact = new PlanFact();
    fact.node = kind;
    scala.Product product = (scala.Product) node;
    for (int i = 0; i < product.productArity(); i++) {
      Object value = PlanText.some(product.productElement(i));
      if (value != null) fact.part(product.productElementName(i), value);
    }
    fact.complete();
    if (targets.length() > 0) targets.append(',');
    fact.write(targets);
    if (fact.cloned != null) leaves.put(fact.cloned, written(fact.cloned));
  }

  // ---- small tools

  static boolean isChild(Object value, List<TreeNode<?>> children) {
    int stop = Math.min(children.size(), 64);
    for (int i = 0; i < stop; i++) if (children.get(i) == value) return true;
    return false;
  }

  @SuppressWarnings("unchecked") // the children of a TreeNode are TreeNodes
  private static List<TreeNode<?>> nodes(Seq<?> values) {
    return new ArrayList<>(Scala.list((Seq<TreeNode<?>>) values));
  }

  StringBuilder key(String name) {
    return plan.append(",\"").append(name).append("\":");
  }
}
