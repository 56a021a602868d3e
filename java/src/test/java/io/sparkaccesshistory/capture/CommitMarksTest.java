package io.sparkaccesshistory.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Set;
import org.junit.jupiter.api.Test;

class CommitMarksTest {
  @Test
  void theNewestStatementOfAThreadIsTheOneThatItRuns() {
    assertEquals(
        "01a2-b",
        CommitMarks.statement(
            Set.of(
                "audit-statement-01a2-a", "mine", "audit-statement-01a2-b", "audit-suppressed")));
  }

  @Test
  void aThreadWithoutAStatementHasNone() {
    assertNull(CommitMarks.statement(Set.of("audit-analysis", "mine")));
  }
}
