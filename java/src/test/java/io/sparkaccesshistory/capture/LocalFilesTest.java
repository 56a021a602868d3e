package io.sparkaccesshistory.capture;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.TreeMap;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.Options.CreateOpts;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalFilesTest {
  @TempDir java.nio.file.Path folder;

  private interface Work {
    void on(FileContext files, java.nio.file.Path folder) throws IOException;
  }

  /** As Delta's HDFSLogStore writes a commit. */
  private static void commit(FileContext files, java.nio.file.Path folder, String name)
      throws IOException {
    Path temporary = new Path(folder.toString(), "." + name + ".tmp");
    try (var out =
        files.create(temporary, EnumSet.of(CreateFlag.CREATE), CreateOpts.checksumParam(null))) {
      out.write(name.getBytes());
    }
    files.rename(temporary, new Path(folder.toString(), name), Rename.NONE);
  }

  private static FileContext ours() throws IOException {
    Configuration conf = new Configuration();
    conf.set("fs.AbstractFileSystem.file.impl", LocalFiles.class.getName());
    return FileContext.getFileContext(java.net.URI.create("file:///"), conf);
  }

  private static FileContext hadoops() throws IOException {
    return FileContext.getFileContext(java.net.URI.create("file:///"), new Configuration());
  }

  /** What lies in a folder: names, permissions, bytes. */
  private static TreeMap<String, String> contents(java.nio.file.Path folder) throws IOException {
    TreeMap<String, String> found = new TreeMap<>();
    try (var files = Files.list(folder)) {
      for (var file : (Iterable<java.nio.file.Path>) files::iterator)
        found.put(
            file.getFileName().toString(),
            PosixFilePermissions.toString(Files.getPosixFilePermissions(file))
                + java.util.Arrays.toString(Files.readAllBytes(file)));
    }
    return found;
  }

  private List<String> processes(Work work, FileContext files, java.nio.file.Path at)
      throws IOException {
    List<String> found = new ArrayList<>();
    java.nio.file.Path events = folder.resolve("events.jfr");
    try (Recording recording = new Recording()) {
      recording.enable("jdk.ProcessStart");
      recording.start();
      work.on(files, at);
      recording.stop();
      recording.dump(events);
    }
    for (RecordedEvent event : RecordingFile.readAllEvents(events))
      if (event.getEventType().getName().equals("jdk.ProcessStart"))
        found.add(event.getString("command"));
    return found;
  }

  @Test
  void aCommitIsAsHadoopWritesItAndStartsNoProcess() throws IOException {
    var one = Files.createDirectory(folder.resolve("one"));
    var other = Files.createDirectory(folder.resolve("other"));
    Work work = (files, at) -> commit(files, at, "00000000000000000000.json");
    assertTrue(processes(work, hadoops(), other).size() >= 10);
    assertEquals(List.of(), processes(work, ours(), one));
    assertEquals(contents(other), contents(one));
    assertEquals(2, contents(one).size()); // the commit and its checksum
  }

  @Test
  void aCommitThatIsThereStays() throws IOException {
    commit(ours(), folder, "0.json");
    byte[] known = Files.readAllBytes(folder.resolve("0.json"));
    assertThrows(FileAlreadyExistsException.class, () -> commit(ours(), folder, "0.json"));
    assertArrayEquals(known, Files.readAllBytes(folder.resolve("0.json")));
  }

  @Test
  void linksAreWhatHadoopSaysOfThem() throws IOException {
    Files.write(folder.resolve("file"), new byte[] {1});
    Files.createSymbolicLink(folder.resolve("link"), folder.resolve("file"));
    Path link = new Path(folder.toString(), "link");
    var found = ours().getFileLinkStatus(link);
    assertTrue(found.isSymlink());
    assertEquals(hadoops().getFileLinkStatus(link).getSymlink(), found.getSymlink());
  }
}
