package replay;
import java.nio.ByteBuffer;
import java.util.*;
class SegmentReader {
    /** first 32 bytes (base offset, time, crc) of each segment */
    final TreeMap<Long, ByteBuffer> checkpoints = new TreeMap<>();
    void read(long base) {
        ByteBuffer segment = ByteBuffer.allocateDirect(256 * 1024);
        segment.putLong(base * 1000).putLong(1700000000000L + base).putInt((int) base * 31).rewind();
        checkpoints.put(base * 1000, segment.slice(0, 32));
        long sum = 0;
        while (segment.hasRemaining()) sum += segment.getLong();
        if (sum == 42) throw new IllegalStateException();
    }
}
