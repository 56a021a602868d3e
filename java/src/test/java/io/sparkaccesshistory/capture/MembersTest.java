package io.sparkaccesshistory.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkBuildInfo;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.junit.jupiter.api.Test;

class MembersTest {
  @Test
  void thisSparkAndThisDeltaHaveAllMembersThatAreRead() throws ClassNotFoundException {
    List<String> missing = new ArrayList<>();
    for (var known : Members.METHODS.entrySet())
      for (String name : known.getValue()) {
        try {
          Class.forName(known.getKey(), false, getClass().getClassLoader()).getMethod(name);
        } catch (NoSuchMethodException e) {
          missing.add(known.getKey() + "." + name);
        }
      }
    for (var known : Members.FIELDS.entrySet())
      for (String name : known.getValue()) {
        try {
          Class.forName(known.getKey(), false, getClass().getClassLoader()).getDeclaredField(name);
        } catch (NoSuchFieldException e) {
          missing.add(known.getKey() + "." + name);
        }
      }
    assertEquals(List.of(), missing);
    assertTrue(Members.METHODS.size() > 20);
  }

  /** What a later Spark might make of it. */
  private interface Renamed extends Identifier {}

  @Test
  void aNodeWithoutAMemberGivesNull() {
    assertNull(Members.call("text", "relation"));
    assertNull(Members.field("text", "path"));
    assertNull(Members.call(null, "name"));
    assertNull(Members.call(new ResolvedIdentifier(null, null, null), "catalog"));
  }

  @Test
  void aMemberThatHasGoneIsAnErrorWithItsName() {
    Members.METHODS.put(Renamed.class.getName(), List.of("label"));
    try {
      Renamed renamed =
          new Renamed() {
            @Override
            public String[] namespace() {
              return new String[0];
            }

            @Override
            public String name() {
              return "t";
            }
          };
      assertEquals("t", Members.call(renamed, "name"));
      String message =
          assertThrows(IllegalStateException.class, () -> Members.call(renamed, "label"))
              .getMessage();
      assertTrue(
          message.contains("has no member label in Spark " + SparkBuildInfo.spark_version()),
          message);
    } finally {
      Members.METHODS.remove(Renamed.class.getName());
    }
  }
}
