package trades;
import scala.collection.AbstractIterator;
import scala.collection.immutable.Stream;
class DayTape {
    static final DayTape TODAY = new DayTape(90000);
    final Stream<Tick> ticks;
    DayTape(int n) {
        ticks = new AbstractIterator<Tick>() {
            int i;
            public boolean hasNext() { return i < n; }
            public Tick next() { i++; return new Tick(100 + i % 13, 1700000000000L + i, "venue " + i % 5000); }
        }.toStream();
    }
}
