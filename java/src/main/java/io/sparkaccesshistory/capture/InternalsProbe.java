package io.sparkaccesshistory.capture;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Looks whether members of Spark's and Delta's internal classes are there: many in one call.
 *
 * <p>It reads their class files. Reflection would load each class, with all that its methods name:
 * 2,000 classes, most of which no session needs.
 */
public class InternalsProbe {
  private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
  private final Map<String, ClassFile> read = new HashMap<>();

  /**
   * Those of some members that are missing, as they came, one a line.
   *
   * <p>A line is "class C", "field C name type", "method C name arity" or "constructor C arity";
   * `type` is the class that the field is declared with. What a superclass or an interface has
   * counts.
   */
  public String missing(String members) throws IOException {
    StringBuilder found = new StringBuilder();
    for (String line : members.split("\n"))
      if (!isThere(line.split(" "))) found.append(line).append('\n');
    return found.toString();
  }

  private boolean isThere(String[] member) throws IOException {
    String owner = member[1].replace('.', '/');
    switch (member[0]) {
      case "class":
        return file(owner) != null;
      case "field":
        return has(owner, "field " + member[2] + " L" + member[3].replace('.', '/') + ";");
      case "method":
        return has(owner, "method " + member[2] + " " + member[3]);
      case "constructor":
        ClassFile file = file(owner);
        return file != null && file.members.contains("method <init> " + member[2]);
      default:
        throw new IllegalArgumentException(String.join(" ", member));
    }
  }

  private boolean has(String owner, String member) throws IOException {
    ClassFile file = file(owner);
    if (file == null) return false;
    if (file.members.contains(member)) return true;
    for (String above : file.above) if (has(above, member)) return true;
    return false;
  }

  private ClassFile file(String name) throws IOException {
    if (read.containsKey(name)) return read.get(name);
    ClassFile found = null;
    try (InputStream in = loader.getResourceAsStream(name + ".class")) {
      if (in != null) found = new ClassFile(in.readAllBytes());
    }
    read.put(name, found);
    return found;
  }

  /** What a class file declares (The Java Virtual Machine Specification, chapter 4). */
  private static final class ClassFile {
    final Set<String> members = new HashSet<>();

    /** The superclass and the interfaces. */
    final List<String> above = new ArrayList<>();

    private final ByteBuffer in;

    /** Where each constant begins, behind its tag. */
    private final int[] constants;

    ClassFile(byte[] bytes) {
      in = ByteBuffer.wrap(bytes);
      in.position(8); // behind the magic number and the version
      constants = new int[unsigned()];
      for (int i = 1; i < constants.length; i++) {
        int tag = in.get();
        constants[i] = in.position();
        if (tag == 1) skip(unsigned());
        else if (tag == 7 || tag == 8 || tag == 16 || tag == 19 || tag == 20) skip(2);
        else if (tag == 15) skip(3);
        else if (tag == 5 || tag == 6) {
          skip(8);
          i++; // a long or double takes two entries
        } else skip(4);
      }
      skip(4); // flags, this class
      above();
      for (int left = unsigned(); left > 0; left--) above();
      for (int left = unsigned(); left > 0; left--) member(false);
      for (int left = unsigned(); left > 0; left--) member(true);
    }

    private void above() {
      int type = unsigned();
      if (type != 0)
        above.add(text(in.getShort(constants[type]) & 0xffff)); // Object has no superclass
    }

    private void member(boolean isMethod) {
      skip(2);
      String name = text(unsigned()), type = text(unsigned());
      members.add(isMethod ? "method " + name + " " + arity(type) : "field " + name + " " + type);
      for (int left = unsigned(); left > 0; left--) {
        skip(2);
        skip(in.getInt());
      }
    }

    private String text(int constant) {
      int at = constants[constant];
      return new String(in.array(), at + 2, in.getShort(at) & 0xffff, StandardCharsets.UTF_8);
    }

    private int unsigned() {
      return in.getShort() & 0xffff;
    }

    private void skip(int bytes) {
      in.position(in.position() + bytes);
    }

    private static int arity(String descriptor) {
      int count = 0;
      for (int i = 1; descriptor.charAt(i) != ')'; i++) {
        while (descriptor.charAt(i) == '[') i++;
        if (descriptor.charAt(i) == 'L') i = descriptor.indexOf(';', i);
        count++;
      }
      return count;
    }
  }
}
