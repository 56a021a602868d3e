package io.sparkaccesshistory.statements;

import io.sparkaccesshistory.Scala;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;
import org.apache.spark.sql.types.StructType;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A statement of this project as a command of Spark: it runs in the driver's Python, when the
 * command runs.
 *
 * <p>Spark copies plans by the constructor, whose parameters are what `productElement` gives (Spark
 * 4.2, TreeNode.makeCopy). `output` is made once: what is resolved refers to these attributes.
 */
public final class AuditedStatement extends LogicalPlan implements LeafRunnableCommand {
  private static final long serialVersionUID = 1L;

  private final String text;
  private final String arguments;
  private final StructType schema;
  private final transient Seq<Attribute> output;
  private transient Seq<Enumeration.Value> nodePatterns;

  public AuditedStatement(String text, String arguments, StructType schema) {
    this.text = text;
    this.arguments = arguments;
    this.schema = schema;
    Command.$init$(this);
    this.output = attributes(schema);
  }

  private static Seq<Attribute> attributes(StructType schema) {
    List<Attribute> found = List.copyOf(Scala.list(DataTypeUtils.toAttributes(schema)));
    return Scala.seq(found);
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    StatementGateway gateway = StatementGateway.installed();
    if (gateway == null) throw new StatementFailed(StatementGateway.NOT_ATTACHED);
    return Scala.seq(
        gateway.run((org.apache.spark.sql.classic.SparkSession) session, text, arguments, schema));
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.none();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return nodePatterns;
  }

  @Override
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      Seq<Enumeration.Value> patterns) {
    nodePatterns = patterns;
  }

  @Override
  public String nodeName() {
    return "AuditedStatement";
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof AuditedStatement;
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int index) {
    return new Object[] {text, arguments, schema}[index];
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }
}
