package io.sparkaccesshistory.statements;

import io.sparkaccesshistory.timetravel.PastMarks;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The parser of a session, with the statements of this project in front of it.
 *
 * <p>Every way of running SQL ends here: `spark.sql` of any language, EXECUTE IMMEDIATE, Spark
 * Connect, the Thrift server. A text that may hold a statement of ours is handed to
 * `StatementGateway`; any other text goes to the parser behind this one as it is.
 */
public final class StatementParser implements ParserInterface {
  private final SparkSession session;
  private final ParserInterface delegate;

  StatementParser(SparkSession session, ParserInterface delegate) {
    this.session = session;
    this.delegate = delegate;
  }

  ParserInterface delegate() {
    return delegate;
  }

  @Override
  public LogicalPlan parsePlan(String text) throws ParseException {
    return parsed(text, null, sent -> delegate.parsePlan(sent));
  }

  /**
   * Beside `parsePlan`, not by it: the default method of Spark 4.2 drops the parameters, and Delta
   * 4.4's parser inherits that one.
   */
  @Override
  public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters)
      throws ParseException {
    return parsed(text, parameters, sent -> delegate.parsePlanWithParameters(sent, parameters));
  }

  private LogicalPlan parsed(String text, ParameterContext parameters, Delegate spark)
      throws ParseException {
    StatementGateway gateway = StatementGateway.installed();
    if (gateway == null) return spark.parse(text);
    Answer answer = gateway.ask(session, text, parameters);
    if (answer == null) return new PastMarks().replacedIn(text, spark.parse(text));
    if (answer.columns() == null) {
      PastMarks marks = new PastMarks();
      try {
        return marks.replacedIn(answer.text(), spark.parse(answer.text()));
      } finally {
        marks.release(); // nobody else waits for the end of this statement
      }
    }
    StructType schema =
        answer.columns().isEmpty() ? new StructType() : StructType.fromDDL(answer.columns());
    return new AuditedStatement(answer.text(), answer.arguments(), schema);
  }

  @Override
  public LogicalPlan parseQuery(String text) throws ParseException {
    return delegate.parseQuery(text);
  }

  @Override
  public Expression parseExpression(String text) throws ParseException {
    return delegate.parseExpression(text);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return delegate.parseTableIdentifier(text);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return delegate.parseFunctionIdentifier(text);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String text) throws ParseException {
    return delegate.parseMultipartIdentifier(text);
  }

  @Override
  public StructType parseRoutineParam(String text) throws ParseException {
    return delegate.parseRoutineParam(text);
  }

  @Override
  public StructType parseTableSchema(String text) throws ParseException {
    return delegate.parseTableSchema(text);
  }

  @Override
  public DataType parseDataType(String text) throws ParseException {
    return delegate.parseDataType(text);
  }

  /** The parser behind this one. */
  private interface Delegate {
    LogicalPlan parse(String text) throws ParseException;
  }
}
