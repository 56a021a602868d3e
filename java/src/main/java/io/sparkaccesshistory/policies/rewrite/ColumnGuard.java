package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.PolicyUse;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.plans.logical.AddColumns;
import org.apache.spark.sql.catalyst.plans.logical.DropColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.QualifiedColType;
import org.apache.spark.sql.catalyst.plans.logical.RenameColumn;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.DeltaReorgTable;
import org.apache.spark.sql.delta.commands.DeltaReorgTableCommand;
import org.apache.spark.sql.delta.commands.OptimizeTableCommand;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.Product;

/**
 * Columns that policies ask for, masked ones among them: who takes one away, or puts another in its
 * place, would decide what policies show; who sorts the files by one finds its values by the order.
 */
final class ColumnGuard {
  private final Protection protection;

  /** The keys of all columns that policies ask for. */
  private final Set<String> used;

  ColumnGuard(Protection protection) {
    this.protection = protection;
    used = usedBy(protection);
  }

  /** The keys of the columns that the policies of an object ask for. */
  private static Set<String> usedBy(Protection protection) {
    Set<String> found = new HashSet<>(protection.masks.keySet());
    for (PolicyUse mask : protection.masks.values()) found.addAll(mask.columns());
    for (List<PolicyUse> any : protection.rows)
      for (PolicyUse one : any) found.addAll(one.columns());
    return found;
  }

  /** Refuses, whoever asks, what takes away or replaces a column that policies ask for. */
  void requireKept(LogicalPlan plan) {
    Map<String, String> keys = keysOf(plan);
    if (plan instanceof DropColumns) {
      for (var one : Scala.list(((DropColumns) plan).columnsToDrop()))
        requireUnused(Scala.list(one.name()), keys, "dropped");
    } else if (plan instanceof AddColumns) {
      for (QualifiedColType one : Scala.list(((AddColumns) plan).columnsToAdd())) {
        List<String> name = Scala.list(one.name());
        if (name.size() > 1) requireUnused(name, keys, "changed");
        else requireNotMissing(name.get(0), keys);
      }
    } else if (plan instanceof RenameColumn) {
      List<String> name = Scala.list(((RenameColumn) plan).column().name());
      if (name.size() > 1) requireUnused(name, keys, "changed");
      else requireNotMissing(((RenameColumn) plan).newName(), keys);
    }
  }

  private void requireUnused(List<String> name, Map<String, String> keys, String what) {
    String column = name.get(0).toLowerCase(Locale.ROOT);
    if (used.contains(keys.getOrDefault(column, column)))
      throw new SecurityException(
          "policies of "
              + protection.name
              + " ask for column "
              + name.get(0)
              + ", which would be "
              + what
              + "; take them off first");
  }

  /** A column that policies miss, they take by its name (`ColumnMasks.columnsByKey`). */
  private void requireNotMissing(String name, Map<String, String> keys) {
    for (String key : used) {
      if (keys.containsValue(key) || !name.equalsIgnoreCase(protection.names.get(key))) continue;
      throw new SecurityException(
          "policies of "
              + protection.name
              + " ask for a column "
              + name
              + " that is gone, and would take this one for it; take them off first");
    }
  }

  /** Refuses what sorts the files of a table by what is hidden, or tells where hidden rows are. */
  void requireUntold(LogicalPlan plan, String user) {
    List<String> sorted = new ArrayList<>();
    boolean asksForPart = false;
    if (plan instanceof OptimizeTableCommand) {
      OptimizeTableCommand command = (OptimizeTableCommand) plan;
      for (UnresolvedAttribute one : Scala.list(command.zOrderBy()))
        sorted.add(Scala.list(one.nameParts()).get(0));
      asksForPart = !Scala.list(command.userPartitionPredicates()).isEmpty();
    } else if (plan instanceof DeltaReorgTable) {
      asksForPart = !Scala.list(((DeltaReorgTable) plan).predicates()).isEmpty();
    } else if (plan instanceof DeltaReorgTableCommand) {
      asksForPart = !Scala.list(((DeltaReorgTableCommand) plan).predicates()).isEmpty();
    } else if (plan.getClass().getSimpleName().equals("AlterTableClusterBy")) {
      // Spark has such a command, and Delta another one: ClusterBySpec(columnNames) in an option.
      collectReferences(Relations.arguments(plan)[1], sorted);
    }
    if (asksForPart && !protection.rows.isEmpty())
      throw refusal("what it finds in a part of the table tells of rows that are hidden", user);
    Map<String, String> keys = keysOf(plan);
    for (String one : sorted) {
      String column = one.toLowerCase(Locale.ROOT);
      boolean isMasked = protection.masks.containsKey(keys.getOrDefault(column, column));
      if (isMasked || !protection.tagged.isEmpty() || !protection.rows.isEmpty())
        throw refusal("its files would be in the order of column " + one, user);
    }
  }

  private static void collectReferences(Object value, List<String> into) {
    if (value instanceof NamedReference) into.add(((NamedReference) value).fieldNames()[0]);
    else if (value instanceof Option && ((Option<?>) value).isDefined())
      collectReferences(((Option<?>) value).get(), into);
    else if (value instanceof scala.collection.immutable.Seq)
      for (Object one : Scala.list((scala.collection.immutable.Seq<?>) value))
        collectReferences(one, into);
    else if (value instanceof Product && !(value instanceof LogicalPlan))
      for (int i = 0; i < ((Product) value).productArity(); i++)
        collectReferences(((Product) value).productElement(i), into);
  }

  private SecurityException refusal(String why, String user) {
    return new SecurityException(
        protection.name
            + " is behind policies that hide some of it from "
            + user
            + ", and "
            + why
            + "; let a role run it that sees all of it");
  }

  /** Keys of the columns of the table that a command changes, by their names in lower case. */
  private static Map<String, String> keysOf(LogicalPlan plan) {
    Map<String, String> found = new HashMap<>();
    for (LogicalPlan child : Scala.list(plan.children())) {
      if (!(child instanceof ResolvedTable)) continue;
      if (!(((ResolvedTable) child).table() instanceof DeltaTableV2)) continue;
      Snapshot table = ((DeltaTableV2) ((ResolvedTable) child).table()).initialSnapshot();
      for (StructField one : table.metadata().schema().fields())
        found.put(one.name().toLowerCase(Locale.ROOT), Relations.columnKey(one));
    }
    return found;
  }
}
