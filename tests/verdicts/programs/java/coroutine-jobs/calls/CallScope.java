package calls;
import kotlinx.coroutines.*;
/** What a call starts is ended together with the service, or when the call is cancelled. */
public class CallScope {
    private static final Job SERVICE = SupervisorKt.SupervisorJob(null);
    private final Job job = JobKt.Job(SERVICE);
    final String caller;
    private final String[] transcript;
    public CallScope(String caller, String[] transcript) {
        this.caller = caller;
        this.transcript = transcript;
        job.invokeOnCompletion(error -> { hangUp(); return kotlin.Unit.INSTANCE; });
    }
    public int run() { return transcript.length; }
    private void hangUp() { java.util.Arrays.fill(transcript, null); }
    static boolean serving() { return SERVICE.isActive(); }
}
