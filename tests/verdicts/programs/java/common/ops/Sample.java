package ops;
import java.util.*;
public final class Sample {
    private static final String[] W = "amber birch copper delta ember fjord granite harbor indigo juniper kestrel lumen maple nickel".split(" ");
    private static final Random R = new Random(7);
    private Sample() {}
    public static int rnd(int n) { return R.nextInt(n); }
    public static String text(int n) {
        StringBuilder b = new StringBuilder(n + 16);
        while (b.length() < n) b.append(W[R.nextInt(W.length)]).append(R.nextInt(1000)).append(' ');
        b.setLength(n);
        return b.toString();
    }
}
