package clicks;
import io.reactivex.rxjava3.subjects.*;
import java.util.concurrent.atomic.*;
/** Counts how many visitors come from a product to the basket. */
public class FunnelStats {
    private final Subject<Click> clicks = PublishSubject.<Click>create().toSerialized();
    final AtomicLong finished = new AtomicLong();
    public FunnelStats() {
        clicks.groupBy(c -> c.session)
            .flatMap(visit -> visit.buffer(5).map(steps -> steps.get(0).path + " > " + steps.get(4).path))
            .subscribe(funnel -> finished.incrementAndGet());
    }
    public void clicked(Click click) { clicks.onNext(click); }
}
