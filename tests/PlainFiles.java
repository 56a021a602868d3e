import java.io.IOException;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files with the permissions of the process's umask. Hadoop 3.5 starts a process (chmod) for each file and
 * folder that it makes, where its native library is not installed.
 */
public class PlainFiles extends LocalFileSystem {
    public PlainFiles() {
        super(new Raw());
    }

    static class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
        }
    }
}
