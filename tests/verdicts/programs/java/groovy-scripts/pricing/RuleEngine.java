package pricing;
import groovy.lang.*;
import java.util.Map;
public class RuleEngine {
    private final GroovyShell shell = new GroovyShell();
    public Object apply(String rule, Map<String, Object> facts) {
        Script s = shell.parse(rule);
        s.setBinding(new Binding(facts));
        return s.run();
    }
}
