package io.sparkaccesshistory.policies.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.types.DataType;
import org.junit.jupiter.api.Test;
import scala.Option;

class GrantsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TableIdentifier T =
      TableIdentifier.apply("t", Option.apply("s"), Option.apply("spark_catalog"));

  /** What `tests/policies/test_java_agreement.py` has written, and Python answers. */
  private static JsonNode cases(String name) throws IOException {
    try (InputStream file = GrantsTest.class.getResourceAsStream("/agreement.json")) {
      return JSON.readTree(file).get(name);
    }
  }

  @Test
  void privilegesAreThoseThatPythonFinds() throws IOException {
    int asked = 0;
    for (JsonNode one : cases("grants")) {
      Grants grants = new Grants();
      grants.learn(JSON.treeToValue(one.get("state"), Grants.Changes.class));
      for (JsonNode question : one.get("questions")) {
        List<String> holders = new ArrayList<>();
        question.get("holders").forEach(holder -> holders.add(holder.asText()));
        Principal who = new Principal(holders.get(0), holders);
        Securable on = securable(question.get("on").asText());
        String privilege = question.get("privilege").asText();
        assertEquals(
            question.get("holds").asBoolean(),
            grants.holds(who, privilege, on),
            question::toString);
        asked++;
      }
    }
    assertTrue(asked > 1000, "too few questions");
  }

  private static Securable securable(String noun) {
    switch (noun) {
      case "account":
        return Securable.ACCOUNT;
      case "schema":
        return Securable.schema(T);
      case "function":
        return Securable.of("function", "function:spark_catalog.s.f", T);
      case "backup set":
        return Securable.backupSet("1");
      default:
        return Securable.of(noun, "delta:1", T);
    }
  }

  @Test
  void kindsOfTypesAreThoseThatPythonFinds() throws IOException {
    int asked = 0;
    for (var type : cases("kinds").properties()) {
      DataType found = DataType.fromDDL(type.getKey());
      assertEquals(type.getValue().asText(), Protection.kindOf(found), type::getKey);
      asked++;
    }
    assertTrue(asked > 20, "too few types");
  }

  @Test
  void whoMakesAnObjectOwnsItUntilTheStatementEnds() {
    Grants grants = new Grants();
    Identity ann = identity("ann"), bob = identity("bob");
    Securable table = Securable.of("table", "name:spark_catalog.s.t", T);
    grants.note(table, false, ann);
    assertTrue(grants.holds(ann, Grants.OWNERSHIP, table));
    assertFalse(grants.holds(bob, Grants.OWNERSHIP, table));
    assertEquals(List.of(new CreatedObjects.Created(table, false)), grants.made());
    assertFalse(grants.holds(ann, Grants.OWNERSHIP, table));
    assertEquals(List.of(), grants.made());
  }

  @Test
  void aFunctionRunsAsItsOwnerWithAllTheirRoles() {
    Grants grants = new Grants();
    Map<String, String> owners =
        new HashMap<>(Map.of("function:f", "ROLE HR", "function:g", "USER bob"));
    grants.learn(
        new Grants.Changes(Map.of(), owners, Map.of("ROLE HR", List.of("ROLE HR", "ROLE PUBLIC"))));
    Identity ann = identity("ann");
    assertEquals(Set.of("ROLE HR", "ROLE PUBLIC"), grants.ownerOf(on("function:f"), ann).holders);
    assertEquals("HR", grants.ownerOf(on("function:f"), ann).role());
    assertEquals(Set.of("USER bob", "ROLE PUBLIC"), grants.ownerOf(on("function:g"), ann).holders);
    assertSame(ann, grants.ownerOf(on("function:h"), ann));
    owners.put("function:f", null);
    grants.learn(new Grants.Changes(Map.of(), owners, null));
    assertSame(ann, grants.ownerOf(on("function:f"), ann));
  }

  @Test
  void aMarkOfPrivilegesEndsWithAnyChange() {
    Grants grants = new Grants();
    Identity ann = identity("ann");
    String before = grants.markOf(ann);
    assertEquals(before, grants.markOf(ann));
    grants.learn(new Grants.Changes(Map.of(), Map.of(), null));
    assertFalse(before.equals(grants.markOf(ann)));
  }

  private static Securable on(String key) {
    return Securable.of("function", key, T);
  }

  static Identity identity(String user) {
    return new Identity(
        new Identity.Claim(
            user, null, "acc", List.of("USER " + user, "ROLE PUBLIC"), List.of("PUBLIC")));
  }
}
