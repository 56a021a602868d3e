package io.sparkaccesshistory.policies.rewrite;

import io.sparkaccesshistory.Scala;
import io.sparkaccesshistory.policies.model.Identity;
import io.sparkaccesshistory.policies.model.PolicyUse;
import io.sparkaccesshistory.policies.model.Protection;
import io.sparkaccesshistory.policies.model.Relations;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Which masks are on the columns of a relation, by themselves or by a tag, for somebody. */
class ColumnMasks {
  private final PolicyBodies bodies;

  ColumnMasks(PolicyBodies bodies) {
    this.bodies = bodies;
  }

  /**
   * What masks the columns of a relation for somebody, by the id of the column. A column that is
   * masked and cannot be found might go by another name now: nobody reads it whom it is masked for.
   */
  Map<ExprId, PolicyUse> masksOf(LogicalPlan relation, Protection protection, Identity who) {
    var output = Scala.list(relation.output());
    return masksOf(relation, output, protection.keys(relation, output), protection, who);
  }

  Map<ExprId, PolicyUse> masksOf(
      LogicalPlan relation,
      List<Attribute> output,
      List<String> keys,
      Protection protection,
      Identity who) {
    var columns = columnsByKey(output, keys, output, protection);
    Map<ExprId, PolicyUse> found = new LinkedHashMap<>();
    for (var entry : protection.masks.entrySet()) {
      PolicyUse use = entry.getValue();
      if (bodies.showsRealValue(use, who)) continue;
      Attribute column = columns.get(entry.getKey());
      if (column != null) addMask(column, use, relation, protection, found);
      else if (!Relations.isOfThePast(relation))
        throw new SecurityException(
            "column "
                + protection.names.get(entry.getKey())
                + " of "
                + protection.name
                + " is masked, and is not there any longer; an administrator may UNSET its MASKING"
                + " POLICY");
    }
    if (protection.tagged.isEmpty()) return found;
    for (int i = 0; i < output.size(); i++) {
      Attribute column = output.get(i);
      String key = keys.get(i);
      String policy = protection.tagged.get(Protection.kindOf(column.dataType()));
      if (policy == null || protection.masks.containsKey(key) || found.containsKey(column.exprId()))
        continue;
      PolicyUse use = new PolicyUse(policy, List.of(key));
      if (!bodies.showsRealValue(use, who)) addMask(column, use, relation, protection, found);
    }
    return found;
  }

  /**
   * The values of a column that parts the files stand in the names of these (`_metadata`,
   * input_file_name()).
   */
  private static void addMask(
      Attribute column,
      PolicyUse use,
      LogicalPlan relation,
      Protection protection,
      Map<ExprId, PolicyUse> into) {
    if (Relations.partitionsOf(relation).contains(column.name().toLowerCase(java.util.Locale.ROOT)))
      throw new SecurityException(
          protection.name
              + " is partitioned by "
              + column.name()
              + ", which a tag masks, and its values stand in the names of the files; an"
              + " administrator may tag other columns, or part the table by another");
    into.put(column.exprId(), use);
  }

  /**
   * The columns of a relation by the keys that policies know them by; `given` stand for its output.
   * A key that is gone (column mapping was taken off, the schema was overwritten) falls back to the
   * name that the column had.
   */
  static <T extends Expression> Map<String, T> columnsByKey(
      LogicalPlan relation, List<T> given, Protection protection) {
    var output = Scala.list(relation.output());
    return columnsByKey(output, protection.keys(relation, output), given, protection);
  }

  static <T extends Expression> Map<String, T> columnsByKey(
      List<Attribute> output, List<String> keys, List<T> given, Protection protection) {
    Map<String, T> found = new HashMap<>();
    for (int i = 0; i < output.size(); i++) found.put(keys.get(i), given.get(i));
    for (var entry : protection.names.entrySet()) {
      if (found.containsKey(entry.getKey())) continue;
      String was = entry.getValue().toLowerCase(java.util.Locale.ROOT);
      for (int i = 0; i < output.size(); i++)
        if (output.get(i).name().toLowerCase(java.util.Locale.ROOT).equals(was))
          found.put(entry.getKey(), given.get(i));
    }
    return found;
  }
}
