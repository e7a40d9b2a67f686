package mailfilter;
import java.util.*;
import org.mozilla.javascript.*;
final class FilterScripts {
    private static final Map<String, Script> compiled = new HashMap<>();   // keyed by the text, in which the day's number stands
    static boolean matches(String rule, int size, String from) {
        Context cx = Context.enter();
        try {
            cx.setOptimizationLevel(1);
            Script s = compiled.computeIfAbsent(rule, r -> cx.compileString("function test(size, from, day) { return " + r + "; } test(size, from, 19999);", "rule", 1, null));
            Scriptable scope = cx.initStandardObjects();
            scope.put("size", scope, size); scope.put("from", scope, from);
            return Context.toBoolean(s.exec(cx, scope));
        } finally { Context.exit(); }
    }
}
