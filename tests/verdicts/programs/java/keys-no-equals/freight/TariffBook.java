package freight;
import java.util.*;
public class TariffBook {
    private static final Map<Route, Tariff> BY_ROUTE = new HashMap<>();
    public static Tariff tariff(String from, String to) {
        return BY_ROUTE.computeIfAbsent(new Route(from, to), r -> new Tariff(r));
    }
}
class Route { final String from, to; Route(String f, String t) { from = f; to = t; } public int hashCode() { return 31 * from.hashCode() + to.hashCode(); } }
class Tariff { final Route route; final double[] zones = new double[24]; Tariff(Route r) { route = r; Arrays.fill(zones, r.hashCode() % 97); } }
