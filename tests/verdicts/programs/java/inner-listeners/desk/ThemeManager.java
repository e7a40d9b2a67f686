package desk;
import java.util.*;
public final class ThemeManager {
    private static final ThemeManager INSTANCE = new ThemeManager();
    private final List<Runnable> themeListeners = new ArrayList<>();
    public static ThemeManager get() { return INSTANCE; }
    public void onThemeChange(Runnable r) { themeListeners.add(r); }
    public void apply() { themeListeners.forEach(Runnable::run); }
}
