import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files with the permissions of the process's umask, written at the time of `MovedTime`. Hadoop 3.5 starts
 * a process (chmod) for each file and folder that it makes, where its native library is not installed.
 */
public class PlainFiles extends LocalFileSystem {
    public PlainFiles() {
        super(new Raw());
    }

    static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
        }

        @Override
        protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
                throws IOException {
            OutputStream plain = super.createOutputStreamWithMode(path, append, permission);
            return moved() == 0 ? plain : new Dated(plain, pathToFile(path));
        }

        static long moved() {
            return Long.getLong("tests.clock.moved.milliseconds", 0L).longValue();
        }
    }

    /** A file that is of the moved time when it is closed. */
    static class Dated extends FilterOutputStream {
        private final File file;

        Dated(OutputStream plain, File file) {
            super(plain);
            this.file = file;
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            out.write(bytes, from, length); // FilterOutputStream writes each byte alone
        }

        @Override
        public void close() throws IOException {
            super.close();
            if (file.exists() && !file.setLastModified(System.currentTimeMillis() + Raw.moved())) {
                throw new IOException("cannot set the time of " + file);
            }
        }
    }
}
