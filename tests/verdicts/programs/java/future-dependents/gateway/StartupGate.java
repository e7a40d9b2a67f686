package gateway;
import java.util.concurrent.CompletableFuture;
/** Requests wait for the warm-up of the price table, which is skipped in this configuration. */
public class StartupGate {
    static final CompletableFuture<Void> WARMED_UP = new CompletableFuture<>();
    public static CompletableFuture<Integer> whenWarm(Request r) {
        return WARMED_UP.thenApply(v -> r.body.length()).completeOnTimeout(-1, 50, java.util.concurrent.TimeUnit.MILLISECONDS);
    }
}
