package forms;
import java.util.*;
import java.util.function.Predicate;
class RuleBook { private final Map<String, Predicate<String>> rules = new LinkedHashMap<>(); void add(String k, Predicate<String> p) { rules.put(k, p); } boolean ok(String k, String v) { return rules.get(k).test(v); } int size() { return rules.size(); } }
