package io.sparkaccesshistory.capture;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The local disk as Hadoop's `LocalFs`, but without processes. Without its native library, which
 * PySpark does not have, Hadoop asks `readlink` for each name of a rename, and has `chmod` set each
 * permission: twenty processes for one commit of Delta's, four fifths of its time.
 */
public final class LocalFiles extends ChecksumFs {
  private static final String KEY = "fs.AbstractFileSystem.file.impl";

  /** As Hadoop makes it, by its name. */
  public LocalFiles(URI uri, Configuration conf) throws IOException, java.net.URISyntaxException {
    super(new Raw(conf));
  }

  /** Lets what Delta writes by a session of the audit's own go through here. */
  static void use(SparkSession spark) {
    if (spark.conf().getOption(KEY).isDefined()) return;
    // Hadoop looks it up by its name, with the class loader that Spark began with.
    Configuration conf = spark.sparkContext().hadoopConfiguration();
    boolean standard = conf.get(KEY, "").equals("org.apache.hadoop.fs.local.LocalFs");
    if (standard && conf.getClassByNameOrNull(LocalFiles.class.getName()) == LocalFiles.class)
      spark.conf().set(KEY, LocalFiles.class.getName());
  }

  /** As Hadoop's `RawLocalFs`, which cannot be extended. */
  private static final class Raw extends DelegateToFileSystem {
    Raw(Configuration conf) throws IOException, java.net.URISyntaxException {
      super(
          FsConstants.LOCAL_FS_URI, new Disk(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1; // none
    }

    @Override
    public FsServerDefaults getServerDefaults(Path path) throws IOException {
      return LocalConfigKeys.getServerDefaults();
    }

    @Override
    @Deprecated
    public FsServerDefaults getServerDefaults() throws IOException {
      return LocalConfigKeys.getServerDefaults();
    }

    @Override
    public boolean isValidName(String name) {
      return true;
    }
  }

  private static final class Disk extends RawLocalFileSystem {
    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      return Files.isSymbolicLink(pathToFile(path).toPath())
          ? super.getFileLinkStatus(path)
          : getFileStatus(path);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      var file = pathToFile(path).toPath();
      if (permission.getStickyBit() || !Files.getFileStore(file).supportsFileAttributeView("posix"))
        super.setPermission(path, permission);
      else
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permission.toString()));
    }
  }
}
