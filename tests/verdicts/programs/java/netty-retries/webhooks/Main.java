package webhooks;
import io.netty.buffer.*;
import io.netty.util.internal.PlatformDependent;
import java.util.*;
import ops.*;
public class Main {
    static final Map<String, String> ENDPOINTS = new LinkedHashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 24000; i++) ENDPOINTS.put("shop-" + i, "https://hooks.example/" + Sample.text(70));
        UnpooledByteBufAllocator alloc = new UnpooledByteBufAllocator(true, true, true);
        DeliveryTracker tracker = new DeliveryTracker();
        System.out.println("noCleaner=" + PlatformDependent.useDirectBufferNoCleaner());
        for (int i = 0; i < 420; i++) {
            ByteBuf body = alloc.directBuffer(256 * 1024);
            body.writeCharSequence(Sample.text(600), java.nio.charset.StandardCharsets.US_ASCII);
            tracker.sent("shop-" + i % 900, i, body);
            if (i % 20 != 0) tracker.answered(i, i % 3 == 0 ? 200 : 202);
            body.release();
        }
        System.out.println(alloc.metric().usedDirectMemory());
        HeapDump.write();
    }
}
