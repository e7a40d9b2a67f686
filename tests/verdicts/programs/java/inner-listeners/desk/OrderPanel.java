package desk;
public class OrderPanel {
    private final String title; private final int[] pixels; private String color = "light";
    public OrderPanel(String title) {
        this.title = title; this.pixels = new int[700];
        ThemeManager.get().onThemeChange(new Runnable() { @Override public void run() { color = "dark" + OrderPanel.this.title.length(); } });
    }
    public int area() { return pixels.length + color.length(); }
}
