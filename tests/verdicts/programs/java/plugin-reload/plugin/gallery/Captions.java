package gallery;
enum Captions {
    SHORT, LONG, NONE;
    private static final java.util.Map<String, Integer> widths = new java.util.TreeMap<>();
    static void put(String k, int v) { widths.put(k, v); }
}
