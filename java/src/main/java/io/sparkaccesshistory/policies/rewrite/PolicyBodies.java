package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.expressions.AttributeReplacement;
import io.sparkaccesshistory.policies.expressions.ContextAnswers;
import io.sparkaccesshistory.policies.expressions.GovernedMarker;
import io.sparkaccesshistory.policies.expressions.LookUpFinder;
import io.sparkaccesshistory.policies.expressions.NamesRead;
import io.sparkaccesshistory.policies.expressions.RelationCollector;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.Policy;
import io.sparkaccesshistory.policies.model.PolicyBody;
import io.sparkaccesshistory.policies.model.PolicyUse;
import io.sparkaccesshistory.policies.model.Protection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification$;
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding$;
import org.apache.spark.sql.catalyst.optimizer.SimplifyConditionals$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import scala.Option;

/** What policies say: their bodies, resolved once, and what these come to for somebody. */
public class PolicyBodies {
  private final Map<String, Policy> policies = new ConcurrentHashMap<>();

  /** The ids of the policies whose bodies may look something up, and what is not known yet. */
  private final Set<String> unread = ConcurrentHashMap.newKeySet();

  /** The ids of the policies that read a table or view, by its key. */
  private final Map<String, Set<String>> readers = new ConcurrentHashMap<>();

  /** How often each policy protects something, by its id. */
  private final Map<String, Integer> uses = new ConcurrentHashMap<>();

  /**
   * What a body reads may be dropped and made again, under the same name: it is looked up again
   * after so long.
   */
  private static final long STALE = 10000000000L;

  private final SparkSession own;

  /** `own` resolves the bodies of policies. */
  public PolicyBodies(SparkSession own) {
    this.own = own;
  }

  /** A policy by its id; null takes it away. */
  public synchronized void define(String id, Policy policy) {
    Policy before = policy == null ? policies.remove(id) : policies.put(id, policy);
    if (before != null) setReads(before, List.of());
    if (policy != null) policy.id = id;
    queueIfUnread(id);
  }

  /** What a policy reads is to be found out where it protects something, and only there. */
  private void queueIfUnread(String id) {
    Policy policy = policies.get(id);
    if (policy != null && policy.reads == null && uses.containsKey(id) && mayLookUp(policy))
      unread.add(id);
    else unread.remove(id);
  }

  /** To parse a body is enough for most: only what may look something up has to be resolved. */
  private boolean mayLookUp(Policy policy) {
    if (policy.mayLookUp == null) {
      try {
        Expression body = own.sessionState().sqlParser().parseExpression(policy.body);
        policy.mayLookUp = LookUpFinder.finds(body);
        policy.named = NamesRead.of(body, policy.schema);
      } catch (org.apache.spark.sql.catalyst.parser.ParseException e) {
        policy.mayLookUp = false; // it hides all that it protects, and reads nothing
      }
    }
    return policy.mayLookUp;
  }

  private void setReads(Policy policy, List<String> keys) {
    for (String key : keys)
      readers.computeIfAbsent(key, any -> ConcurrentHashMap.newKeySet()).add(policy.id);
    if (policy.reads != null)
      for (String key : policy.reads) if (!keys.contains(key)) readers.get(key).remove(policy.id);
    policy.reads = keys;
  }

  /** An object is protected by other policies than before; null for none. */
  public synchronized void protect(Protection before, Protection now) {
    countUses(now, 1);
    countUses(before, -1);
  }

  private void countUses(Protection protection, int more) {
    if (protection == null) return;
    for (String policy : protection.used()) {
      uses.compute(
          policy,
          (any, known) -> {
            int found = (known == null ? 0 : known) + more;
            return found == 0 ? null : found;
          });
      queueIfUnread(policy);
    }
  }

  public synchronized void forget() {
    policies.clear();
    unread.clear();
    readers.clear();
    uses.clear();
  }

  /**
   * A policy of a protected object whose body reads a table or view, by its key; null for none.
   * Every command asks.
   */
  public String readerOf(String key) {
    resolveUnread();
    for (String id : readers.getOrDefault(key, Set.of())) {
      Policy policy = uses.containsKey(id) ? policies.get(id) : null;
      if (policy != null) return policy.name;
    }
    return null;
  }

  /** The keys of all that bodies read. */
  public Set<String> keysRead() {
    resolveUnread();
    return readers.keySet();
  }

  private void resolveUnread() {
    for (String id : unread) resolveReads(policies.get(id));
  }

  private void resolveReads(Policy policy) {
    try {
      if (policy != null) resolved(policy);
    } catch (Exception e) {
      // What cannot be resolved now, with its schema gone, hides all that it protects. Who made a
      // table of a name that it reads would decide what it shows.
      if (policies.get(policy.id) == policy && policy.named != null) setReads(policy, policy.named);
    }
  }

  public Policy policy(String name) {
    Policy found = policies.get(name);
    if (found == null)
      throw new SecurityException("policy " + name + " is not there, and protects what is read");
    return found;
  }

  /** The body over attributes of its own, as its schema reads it. */
  public synchronized PolicyBody resolved(Policy policy) {
    boolean isOld =
        policy.reads != null && !policy.reads.isEmpty() && System.nanoTime() - policy.time > STALE;
    if (policy.resolved != null && !isOld) return policy.resolved;
    List<AttributeReference> columns = new ArrayList<>();
    try {
      for (List<String> parameter : policy.parameters) {
        DataType type = own.sessionState().sqlParser().parseDataType(parameter.get(1));
        columns.add(
            new AttributeReference(
                parameter.get(0),
                type,
                true,
                Metadata.empty(),
                NamedExpression$.MODULE$.newExprId(),
                Scala.none()));
      }
      Expression body = own.sessionState().sqlParser().parseExpression(policy.body);
      if (body instanceof Alias) // Spark reads `a AND` as a, by the name of AND
      throw new SecurityException(
            "the body of policy " + policy.name + " cannot be read: it ends in a name");
      LogicalPlan asked = overNoRow(body, columns);
      LogicalPlan answered = analyzed(asked, policy.schema);
      Expression value = overOneRow(answered, policy);
      DataType type = own.sessionState().sqlParser().parseDataType(policy.returns);
      if (!Cast$.MODULE$.canANSIStoreAssign(value.dataType(), type))
        throw new SecurityException(
            "the body of policy "
                + policy.name
                + " gives "
                + value.dataType().sql()
                + ", and it returns "
                + policy.returns);
      // What a policy reads is behind no policy.
      RelationCollector collected = RelationCollector.of(value);
      List<String> read = new ArrayList<>(collected.keys);
      read.addAll(collected.functionKeys);
      read.addAll(NamesRead.of(body, policy.schema));
      policy.time = System.nanoTime();
      if (policy.id != null && policies.get(policy.id) == policy) {
        setReads(policy, read);
        unread.remove(policy.id);
      } else policy.reads = read; // is tried out, or was replaced
      policy.resolved =
          new PolicyBody(castTo(value, type).transformUp(new GovernedMarker()), columns, null);
    } catch (org.apache.spark.sql.catalyst.parser.ParseException e) {
      throw new SecurityException(
          "the body of policy " + policy.name + " cannot be read: " + e.getMessage());
    }
    return policy.resolved;
  }

  /**
   * What a body comes to over its own columns: Spark gives the arguments of functions in SQL a
   * projection of their own.
   */
  private static Expression overOneRow(LogicalPlan answered, Policy policy) {
    Expression value = null;
    LogicalPlan plan = answered;
    for (; plan instanceof Project; plan = ((Project) plan).child()) {
      var columns = Scala.list(((Project) plan).projectList());
      if (value == null) {
        value = ((Alias) columns.get(0)).child();
        continue;
      }
      Map<ExprId, Expression> given = new HashMap<>();
      for (var one : columns)
        if (one instanceof Alias) given.put(((Alias) one).exprId(), argument((Alias) one, policy));
      if (!given.isEmpty()) value = AttributeReplacement.given(value, given);
    }
    if (value == null || !(plan instanceof LocalRelation))
      throw new SecurityException(
          "the body of policy " + policy.name + " is no expression over one row");
    return value;
  }

  private static Expression argument(Alias column, Policy policy) {
    if (column.child().deterministic()) return column.child();
    throw new SecurityException(
        "the body of policy "
            + policy.name
            + " gives a function "
            + column.child().sql()
            + ", which is another value at every use");
  }

  /** A value as another type; NULL where that cannot be: a struct may have got a field since. */
  public static Expression castTo(Expression value, DataType type) {
    if (DataType.equalsIgnoreNullability(value.dataType(), type)) return value;
    return canCast(value, type) ? cast(value, type) : Literal$.MODULE$.create(null, type);
  }

  private static Expression cast(Expression value, DataType type) {
    return new Cast(value, type, Option.apply(java.time.ZoneOffset.UTC.getId()));
  }

  private static boolean canCast(Expression value, DataType type) {
    return Cast$.MODULE$.canCast(value.dataType(), type)
        || Cast$.MODULE$.canAnsiCast(value.dataType(), type);
  }

  private LogicalPlan analyzed(LogicalPlan plan, String schema) {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(own);
    try {
      CatalogManager manager = own.sessionState().catalogManager();
      if (!schema.isEmpty()) manager.setCurrentNamespace(new String[] {schema});
      return own.sessionState().executePlan(plan, CommandExecutionMode.ALL()).analyzed();
    } finally {
      if (active.isEmpty()) SparkSession.clearActiveSession();
      else SparkSession.setActiveSession(active.get());
    }
  }

  /** The body for somebody, over its parameters: what does not depend on the row is worked out. */
  public PolicyBody answer(Policy policy, Identity who) {
    PolicyBody body = resolved(policy), found = who.answers.get(policy);
    if (found == null || found.of != body) {
      Expression asked = body.value.transformUp(AttributeReplacement.answering(who));
      Expression answer = simplified(asked.transformUp(new ContextAnswers(who)), body.columns);
      found = new PolicyBody(answer, body.columns, body);
      who.answers.put(policy, found);
    }
    return found;
  }

  /** A projection of one value over a relation with these columns. */
  private static LogicalPlan overNoRow(Expression value, List<AttributeReference> columns) {
    NamedExpression named =
        new Alias(
            value,
            "value",
            NamedExpression$.MODULE$.newExprId(),
            Scala.none(),
            Option.empty(),
            Scala.none());
    List<Attribute> output = new ArrayList<>(columns);
    LogicalPlan empty = new LocalRelation(Scala.seq(output), Scala.none(), false, Option.empty());
    return new Project(Scala.seq(List.of(named)), empty);
  }

  private static Expression simplified(Expression value, List<AttributeReference> columns) {
    LogicalPlan plan = overNoRow(value, columns);
    for (int i = 0; i < 3; i++) {
      plan = ConstantFolding$.MODULE$.apply(plan);
      plan = SimplifyConditionals$.MODULE$.apply(plan);
      plan = BooleanSimplification$.MODULE$.apply(plan);
    }
    return ((Alias) Scala.list(((Project) plan).projectList()).get(0)).child();
  }

  /** Whether a mask shows somebody the very value. */
  public boolean showsRealValue(PolicyUse use, Identity who) {
    return showsRealValue(policy(use.policy()), who);
  }

  private boolean showsRealValue(Policy policy, Identity who) {
    return answer(policy, who).isFirst();
  }

  /** Whether a row access policy shows somebody every row. */
  private boolean showsRows(Policy policy, Identity who) {
    return answer(policy, who).value.equals(Literal$.MODULE$.TrueLiteral());
  }

  /**
   * Whether a policy as it was may change what somebody sees: the body in force answers where it is
   * still the same.
   */
  public boolean couldChange(Policy said, String id, boolean isMask, Identity who) {
    Policy known = policies.get(id);
    try {
      Policy policy = said.isSame(known) ? known : said;
      return !(isMask ? showsRealValue(policy, who) : showsRows(policy, who));
    } finally {
      who.answers.remove(said);
    }
  }

  /** Whether policies hide nothing of a table from somebody. */
  public boolean showsAll(Protection protection, Identity who) {
    for (PolicyUse mask : protection.masks.values()) if (!showsRealValue(mask, who)) return false;
    for (String mask : protection.tagged.values())
      if (!showsRealValue(policy(mask), who)) return false;
    return showsRows(protection, who);
  }

  /** Whether policies hide no row of a table from somebody. */
  public boolean showsRows(Protection protection, Identity who) {
    for (List<PolicyUse> any : protection.rows) {
      boolean all = false;
      for (PolicyUse one : any) all |= showsRows(policy(one.policy()), who);
      if (!all) return false;
    }
    return true;
  }

  /** What a policy makes of the columns of a table. */
  public Expression instantiate(
      PolicyUse use, Map<String, ? extends Expression> columns, Identity who) {
    PolicyBody answer = answer(policy(use.policy()), who);
    Map<ExprId, Expression> given = new HashMap<>();
    for (int i = 0; i < use.columns().size(); i++) {
      Expression column = columns.get(use.columns().get(i));
      if (column == null)
        throw new SecurityException(
            "policy "
                + use.policy()
                + " asks for column "
                + use.columns().get(i)
                + ", which is not there");
      AttributeReference parameter = answer.columns.get(i);
      // A policy that cannot be asked hides the value, or the row.
      if (!canCast(column, parameter.dataType()))
        return Literal$.MODULE$.create(null, answer.value.dataType());
      given.put(parameter.exprId(), castTo(column, parameter.dataType()));
    }
    return AttributeReplacement.given(answer.value, given);
  }

  /** The condition of all row access policies; null for none that hides anything. */
  public Expression rowFilter(
      Protection protection, Map<String, ? extends Expression> columns, Identity who) {
    Expression found = null;
    for (List<PolicyUse> any : protection.rows) {
      Expression one = null;
      for (PolicyUse use : any) {
        Expression condition = instantiate(use, columns, who);
        one = one == null ? condition : new Or(one, condition);
      }
      if (one == null || one.equals(Literal$.MODULE$.TrueLiteral())) continue;
      found = found == null ? one : new And(found, one);
    }
    return found;
  }
}
