package io.sparkaccesshistory.policies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.execution.command.DropTableCommand;
import org.junit.jupiter.api.Test;
import scala.Option;

class CommandTargetsTest {
  @Test
  void namesAreNotLookedUpWhereOnlyPlacesAreAsked() {
    TableIdentifier name = TableIdentifier.apply("t", Option.apply("s"));
    CommandTargets targets =
        new CommandTargets(null, new DropTableCommand(name, false, false, false), false);
    assertEquals(Set.of(), targets.places.keySet());
    assertTrue(targets.free.isEmpty());
  }

  @Test
  void aTemporaryViewIsNoTarget() {
    TableIdentifier name = TableIdentifier.apply("v", Option.empty());
    CommandTargets targets =
        new CommandTargets(null, new DropTableCommand(name, false, true, false), true);
    assertTrue(targets.named.isEmpty());
    assertTrue(targets.free.isEmpty());
  }
}
