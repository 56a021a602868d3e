import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.CurrentUser;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** The context functions: who asks is known when a statement runs, and not before. */
class Questions {
  private static final String[][] ASKED = {{"current_role", "0"}, {"invoker_role", "0"}, {"current_account", "0"}, {"is_role_in_session", "1"},
      {"is_account_group_member", "1"}, {"is_member", "1"}};

  /** Lets a session ask who runs it. */
  static void offer(Governor governor, SparkSession session) {
    for (int i = 0; i < ASKED.length; i++) {
      Asked asked = new Asked(governor, session, ASKED[i][0], Integer.parseInt(ASKED[i][1]));
      session.sessionState().functionRegistry().createOrReplaceTempFunction(ASKED[i][0], asked, "scala_udf");
      // What is built in may stand in the text of a view; each session has its own of it, as above.
      FunctionRegistry$.MODULE$.builtin().createOrReplaceTempFunction(ASKED[i][0], asked, "built-in");
    }
  }

  static Object said(String function, Identity who) {
    if (function.equals("current_role")) return who.role == null ? null : UTF8String.fromString(who.role);
    if (function.equals("invoker_role")) return who.invoker == null ? null : UTF8String.fromString(who.invoker);
    if (function.equals("current_account")) return UTF8String.fromString(who.account);
    throw new IllegalArgumentException(function);
  }

  /** Makes the placeholder of a context function: its answer is put in when the statement runs. */
  static class Asked extends AbstractFunction1 {
    final Governor governor;
    final SparkSession session;
    final String name;
    final int arity;

    Asked(Governor governor, SparkSession session, String name, int arity) {
      this.governor = governor;
      this.session = session;
      this.name = name;
      this.arity = arity;
    }

    public Object apply(Object arguments) {
      scala.collection.immutable.Seq given = (scala.collection.immutable.Seq) arguments;
      if (given.size() != arity) throw new IllegalArgumentException(name + " takes " + arity + " argument(s)");
      DataType type = arity == 0 ? DataTypes.StringType : DataTypes.BooleanType;
      Object question = arity == 0 ? (Object) new Now(this) : new Whether(this);
      return new ScalaUDF(question, type, given, Relations.seq(new ArrayList()), Option.empty(), Option.apply(name), true, true);
    }
  }

  /** Answers where Spark evaluates a placeholder while it resolves names. */
  static class Now extends AbstractFunction0 {
    final Asked asked;

    Now(Asked asked) { this.asked = asked; }

    public Object apply() {
      Object found = said(asked.name, asked.governor.required(asked.session));
      return found == null ? null : found.toString();
    }
  }

  static class Whether extends AbstractFunction1 {
    final Asked asked;

    Whether(Asked asked) { this.asked = asked; }

    public Object apply(Object role) {
      if (role == null) return null;
      Identity who = asked.governor.required(asked.session);
      return Boolean.valueOf(who.roles.contains(UTF8String.fromString(role.toString().toUpperCase(Locale.ROOT))));
    }
  }

  /** Whether a plan, or a subquery in it, asks anything; what cannot is not looked at. */
  static boolean areIn(LogicalPlan plan) {
    if (!mayAsk(plan)) return false;
    List expressions = CollectionConverters.asJava(plan.expressions());
    for (int i = 0; i < expressions.size(); i++) if (areIn((Expression) expressions.get(i))) return true;
    List children = CollectionConverters.asJava(plan.children());
    for (int i = 0; i < children.size(); i++) if (areIn((LogicalPlan) children.get(i))) return true;
    return false;
  }

  private static boolean areIn(Expression e) {
    if (!mayAsk(e)) return false;
    if (e instanceof CurrentUser || (e instanceof ScalaUDF && askedBy((ScalaUDF) e) != null)) return true;
    if (e instanceof SubqueryExpression && areIn((LogicalPlan) ((SubqueryExpression) e).plan())) return true;
    List children = CollectionConverters.asJava(e.children());
    for (int i = 0; i < children.size(); i++) if (areIn((Expression) children.get(i))) return true;
    return false;
  }

  private static boolean mayAsk(TreeNode node) {
    return node.containsPattern(TreePattern.CURRENT_LIKE()) || node.containsPattern(TreePattern.SCALA_UDF());
  }

  /** The question that a placeholder stands for, whichever Governor of this JVM has made it; null for none. */
  static String[] askedBy(ScalaUDF call) {
    if (call.udfName().isEmpty() || !call.function().getClass().getName().startsWith("Questions$")) return null;
    for (int i = 0; i < ASKED.length; i++) if (ASKED[i][0].equals(call.udfName().get())) return ASKED[i];
    return null;
  }
}

/** Puts the answers about somebody in the place of the questions. */
class Answering extends AbstractPartialFunction {
  final Identity who;

  Answering(Identity who) { this.who = who; }

  public boolean isDefinedAt(Object e) {
    return e instanceof CurrentUser || (e instanceof ScalaUDF && Questions.askedBy((ScalaUDF) e) != null);
  }

  public Object applyOrElse(Object e, scala.Function1 otherwise) {
    if (!isDefinedAt(e)) return otherwise.apply(e);
    if (e instanceof CurrentUser) return new Literal(UTF8String.fromString(who.user), ((CurrentUser) e).dataType());
    ScalaUDF call = (ScalaUDF) e;
    String[] asked = Questions.askedBy(call);
    if (asked[1].equals("0")) return new Literal(Questions.said(asked[0], who), call.dataType());
    Object[] roles = who.roles.toArray();
    Literal held = new Literal(new org.apache.spark.sql.catalyst.util.GenericArrayData(roles),
        new ArrayType(DataTypes.StringType, false));
    return new ArrayContains(held, new Upper((Expression) call.children().head()));
  }
}
