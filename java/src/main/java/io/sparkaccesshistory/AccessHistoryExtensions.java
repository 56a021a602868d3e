package io.sparkaccesshistory;

import io.sparkaccesshistory.policies.EnforcementRule;
import io.sparkaccesshistory.reading.TopRowsRule;
import io.sparkaccesshistory.statements.StatementParsers;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What `spark.sql.extensions` names, so that every session of a Spark is ready for `audit.attach`.
 */
public final class AccessHistoryExtensions
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    EnforcementRule.inject(extensions);
    StatementParsers.inject(extensions);
    TopRowsRule.inject(extensions);
    return BoxedUnit.UNIT;
  }
}
