package scan;
/** Gives its tile back to the spool when it is collected. */
public class PageBitmap {
    private final byte[] tile; private final int page;
    PageBitmap(int page, int size) { this.page = page; this.tile = new byte[size]; }
    @Override protected void finalize() { TileSpool.release(page, tile.length); }
    int size() { return tile.length; }
}
