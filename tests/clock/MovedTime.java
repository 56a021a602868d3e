import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.nio.charset.Charset;
import java.security.ProtectionDomain;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import javax.management.ObjectName;

/**
 * The time of Spark SQL, Delta and this project's Java, moved by the system property of `MOVED`: an agent that
 * a running JVM loads. It turns each call of System.currentTimeMillis() and Instant.now() in these classes into
 * a call of the methods here, and Delta's `new SystemClock` into `new MovedClock`. Spark's core keeps the
 * machine's time: its heartbeats would find every executor lost.
 *
 * Only the constant pool of a class changes: the class of a method reference, and the name of a class.
 */
public class MovedTime implements ClassFileTransformer {
    public static final String MOVED = "tests.clock.moved.milliseconds";

    private static final String[] PACKAGES = {"org/apache/spark/sql/", "io/delta/", "io/sparkaccesshistory/"};
    private static final String DELTA = "org/apache/spark/sql/delta/";
    private static final String SYSTEM_CLOCK = "org/apache/spark/util/SystemClock";

    /** Let this JVM load a jar as an agent: what `jcmd JVMTI.agent_load` does, without a JDK. */
    public Object load(String jar) throws Exception {
        return ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "jvmtiAgentLoad",
                        new Object[] {new String[] {jar}},
                        new String[] {String[].class.getName()});
    }

    public static void agentmain(String arguments, Instrumentation jvm) throws Exception {
        jvm.addTransformer(new MovedTime(), true);
        List<Class<?>> loaded = new ArrayList<Class<?>>();
        Class<?>[] all = jvm.getAllLoadedClasses();
        for (int i = 0; i < all.length; i++) {
            String name = all[i].getName().replace('.', '/');
            if (isMoved(name) && jvm.isModifiableClass(all[i]) && changed(name, bytesOf(all[i], name)) != null) {
                loaded.add(all[i]);
            }
        }
        if (!loaded.isEmpty()) {
            jvm.retransformClasses((Class[]) loaded.toArray(new Class[0]));
        }
        System.setProperty(MOVED, "0");
    }

    public static long currentTimeMillis() {
        return System.currentTimeMillis() + Long.getLong(MOVED, 0L).longValue();
    }

    public static Instant now() {
        return Instant.now().plusMillis(Long.getLong(MOVED, 0L).longValue());
    }

    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        return name != null && isMoved(name) ? changed(name, bytes) : null;
    }

    private static boolean isMoved(String name) {
        for (int i = 0; i < PACKAGES.length; i++) {
            if (name.startsWith(PACKAGES[i])) {
                return true;
            }
        }
        return false;
    }

    private static byte[] bytesOf(Class<?> type, String name) throws IOException {
        ClassLoader loader = type.getClassLoader();
        InputStream file = loader == null ? null : loader.getResourceAsStream(name + ".class");
        if (file == null) {
            return null; // a lambda, or generated code
        }
        try {
            return file.readAllBytes();
        } finally {
            file.close();
        }
    }

    /** The class with this time in the place of the machine's; null where it asks for no time. */
    private static byte[] changed(String name, byte[] bytes) {
        if (bytes == null) {
            return null;
        }
        ConstantPool pool = new ConstantPool(bytes);
        boolean time = pool.moveMethod("java/lang/System", "currentTimeMillis", "MovedTime");
        boolean instant = pool.moveMethod("java/time/Instant", "now", "()Ljava/time/Instant;", "MovedTime");
        boolean clock = name.startsWith(DELTA) && pool.renameClass(SYSTEM_CLOCK, "MovedClock");
        return time || instant || clock ? pool.classFile() : null;
    }

    /** The constant pool of a class file (Java Virtual Machine Specification, 4.4), with entries added. */
    static class ConstantPool {
        private static final Charset UTF_8 = Charset.forName("UTF-8");
        private static final int UTF8 = 1;
        private static final int CLASS = 7;
        private static final int METHOD = 10;

        private final byte[] bytes;
        private final int[] at;
        private final int end;
        private final ByteArrayOutputStream added = new ByteArrayOutputStream();
        private int count;

        ConstantPool(byte[] original) {
            bytes = (byte[]) original.clone();
            count = u2(8);
            at = new int[count];
            int position = 10;
            for (int i = 1; i < count; i++) {
                at[i] = position;
                int tag = bytes[position];
                position += size(tag, position);
                if (tag == 5 || tag == 6) {
                    i++; // long and double take two places
                }
            }
            end = position;
        }

        private int size(int tag, int position) {
            switch (tag) {
                case UTF8:
                    return 3 + u2(position + 1);
                case 3: case 4: case 9: case METHOD: case 11: case 12: case 17: case 18:
                    return 5;
                case 5: case 6:
                    return 9;
                case 15:
                    return 4;
                default: // CLASS, 8, 16, 19, 20
                    return 3;
            }
        }

        boolean moveMethod(String owner, String method, String target) {
            return moveMethod(owner, method, null, target);
        }

        /** Let calls of a static method go to the method of the same name and type in another class. */
        boolean moveMethod(String owner, String method, String type, String target) {
            int targetClass = 0;
            for (int i = 1; i < at.length; i++) {
                if (at[i] == 0 || bytes[at[i]] != METHOD || !owner.equals(className(u2(at[i] + 1)))) {
                    continue;
                }
                int nameAndType = at[u2(at[i] + 3)];
                if (!method.equals(text(u2(nameAndType + 1)))
                        || (type != null && !type.equals(text(u2(nameAndType + 3))))) {
                    continue;
                }
                if (targetClass == 0) {
                    targetClass = addClass(target);
                }
                put(at[i] + 1, targetClass);
            }
            return targetClass != 0;
        }

        boolean renameClass(String old, String target) {
            int renamed = 0;
            for (int i = 1; i < at.length; i++) {
                if (at[i] != 0 && bytes[at[i]] == CLASS && old.equals(className(i))) {
                    renamed = addText(target);
                    put(at[i] + 1, renamed);
                }
            }
            return renamed != 0;
        }

        byte[] classFile() {
            byte[] more = added.toByteArray();
            byte[] file = new byte[bytes.length + more.length];
            System.arraycopy(bytes, 0, file, 0, end);
            System.arraycopy(more, 0, file, end, more.length);
            System.arraycopy(bytes, end, file, end + more.length, bytes.length - end);
            file[8] = (byte) (count >> 8);
            file[9] = (byte) count;
            return file;
        }

        private int addClass(String name) {
            int text = addText(name);
            added.write(CLASS);
            added.write(text >> 8);
            added.write(text);
            return count++;
        }

        private int addText(String text) {
            byte[] letters = text.getBytes(UTF_8);
            added.write(UTF8);
            added.write(letters.length >> 8);
            added.write(letters.length);
            added.write(letters, 0, letters.length);
            return count++;
        }

        private String className(int index) {
            return index < at.length ? text(u2(at[index] + 1)) : ""; // what is added is moved already
        }

        private String text(int index) {
            return index < at.length ? new String(bytes, at[index] + 3, u2(at[index] + 1), UTF_8) : "";
        }

        private int u2(int position) {
            return (bytes[position] & 0xff) << 8 | bytes[position + 1] & 0xff;
        }

        private void put(int position, int value) {
            bytes[position] = (byte) (value >> 8);
            bytes[position + 1] = (byte) value;
        }
    }
}

public class MovedClock extends org.apache.spark.util.SystemClock {
    public long getTimeMillis() {
        return MovedTime.currentTimeMillis();
    }
}
