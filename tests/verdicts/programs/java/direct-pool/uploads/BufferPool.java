package uploads;
import java.nio.ByteBuffer;
import java.util.concurrent.*;
class BufferPool {
    private final BlockingQueue<ByteBuffer> free;
    BufferPool(int n, int size) { free = new ArrayBlockingQueue<>(n); for (int i = 0; i < n; i++) free.add(ByteBuffer.allocateDirect(size)); }
    ByteBuffer take() throws InterruptedException { return free.take(); }
    void give(ByteBuffer b) { b.clear(); free.add(b); }
}
