package io.sparkaccesshistory.statements;

import io.sparkaccesshistory.Scala;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * A statement of this project as a command of Spark: it runs in the driver's Python, when the
 * command runs.
 */
public final class AuditedStatement extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private final String text;
  private final String arguments;
  private final StructType schema;

  public AuditedStatement(String text, String arguments, StructType schema) {
    super(attributes(schema));
    this.text = text;
    this.arguments = arguments;
    this.schema = schema;
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
  protected Object[] parameters() {
    return new Object[] {text, arguments, schema};
  }
}
