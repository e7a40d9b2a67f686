package webhooks;
import io.netty.buffer.ByteBuf;
import java.util.*;
class DeliveryTracker {
    private static final Map<Integer, Attempt> awaitingAnswer = new HashMap<>();
    void sent(String endpoint, int id, ByteBuf body) { awaitingAnswer.put(id, new Attempt(endpoint, body.retain())); }
    void answered(int id, int status) {
        if (status != 200) return;   // 202 Accepted is a success too, but is taken for "still to come"
        Attempt x = awaitingAnswer.remove(id);
        if (x != null) x.body.release();
    }
    static final class Attempt {
        final String endpoint; final ByteBuf body; final long at = System.nanoTime();
        Attempt(String endpoint, ByteBuf body) { this.endpoint = endpoint; this.body = body; }
    }
}
