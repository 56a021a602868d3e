package io.sparkaccesshistory.policies.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProtectionTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String TABLE =
      """
      {"name": "c.s.t", "isView": false, "hadRows": true, "names": {"k": "Mail"}, "sealed": false,
       "rows": [[["r1", ["k"]], ["r2", ["k"]]], [["r3", ["k"]]]],
       "masks": {"k": ["m", ["k"]]}, "tagged": {"string": "tm"}}\
      """;

  private static Protection protection(String json) throws IOException {
    return new Protection(JSON.readValue(json, Protection.Definition.class));
  }

  @Test
  void isReadAsPythonSendsIt() throws IOException {
    Protection found = protection(TABLE);
    assertEquals(List.of("tm", "m", "r1", "r2", "r3"), found.used());
    assertTrue(found.hasMasked("MAIL"));
    assertFalse(found.hasMasked("name"));
    assertTrue(found.isInForce());
    assertTrue(found.hadRows);
  }

  @Test
  void aTableHasTheTagsOfItsSchemaWhereItsOwnSayNothing() throws IOException {
    Protection schema =
        protection(
            "{\"name\": \"c.s\", \"names\": {}, \"rows\": [], \"masks\": {},"
                + " \"tagged\": {\"string\": \"sm\", \"int\": \"si\"}}");
    Protection both = new Protection(protection(TABLE), schema, "c.s.t");
    assertEquals(Map.of("string", "tm", "int", "si"), both.tagged);
    Protection alone = new Protection(null, schema, "c.s.u");
    assertEquals(Map.of("string", "sm", "int", "si"), alone.tagged);
    assertEquals("c.s.u", alone.name);
    assertFalse(alone.hadRows);
  }

  @Test
  void whatWasSealedIsInForceWithoutAPolicy() throws IOException {
    String sealed =
        "{\"name\": \"v\", \"names\": {}, \"rows\": [], \"masks\": {}, \"sealed\": true}";
    assertTrue(protection(sealed).isInForce());
    assertFalse(protection(sealed.replace("true", "false")).isInForce());
  }
}
