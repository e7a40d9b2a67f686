package archive;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
class ArchiveWriter {
    private final Path file;
    ArchiveWriter(Path file) { this.file = file; }
    void store(int n, int size) throws Exception {
        byte[] scan = new byte[size];
        java.util.Arrays.fill(scan, (byte) n);
        try (FileChannel c = FileChannel.open(file, StandardOpenOption.WRITE)) { c.write(ByteBuffer.wrap(scan), 0); }
    }
}
