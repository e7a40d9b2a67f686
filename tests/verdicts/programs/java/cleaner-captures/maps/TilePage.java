package maps;
import java.lang.ref.Cleaner;
/** A page of decoded tiles; what it takes is counted until it is gone. */
public class TilePage {
    private static final Cleaner CLEANER = Cleaner.create();
    static volatile long bytesInUse;
    private final byte[] pixels;
    private final String region;
    private final int[] offsets = new int[64];
    public TilePage(String region, int size) {
        this.region = region;
        pixels = new byte[size];
        bytesInUse += size;
        CLEANER.register(this, () -> bytesInUse -= pixels.length);
    }
    public int draw(int zoom) { return region.length() * zoom + pixels[zoom] + offsets[zoom % 64]; }
}
