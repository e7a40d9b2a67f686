package gallery;
class Thumbs {
    private static final int[] GAMMA = new int[6000];
    private static final java.util.Map<String, String> known = new java.util.HashMap<>();
    static void warm() { for (int i = 0; i < GAMMA.length; i++) GAMMA[i] = (int) (255 * Math.pow(i / 6000.0, 2.2)); }
    static void drop(String page) { known.remove(page); }
}
