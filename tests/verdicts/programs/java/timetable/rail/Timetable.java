package rail;
import com.fasterxml.jackson.databind.*;
import java.util.*;
import ops.Sample;
/** The year's timetable, read once at start from JSON. */
public class Timetable {
    private final Map<String, JsonNode> linesByName = new HashMap<>();
    Timetable() throws Exception {
        StringBuilder json = new StringBuilder("{\"lines\":[");
        for (int l = 0; l < 260; l++) {
            json.append(l == 0 ? "" : ",").append("{\"name\":\"RE").append(l).append("\",\"operator\":\"").append(Sample.text(12)).append("\",\"trips\":[");
            for (int t = 0; t < 14; t++) {
                json.append(t == 0 ? "" : ",").append("{\"no\":").append(l * 100 + t).append(",\"days\":\"mo-fr\",\"stops\":[");
                for (int s = 0; s < 9; s++) json.append(s == 0 ? "" : ",").append("{\"at\":\"").append(Sample.text(10)).append("\",\"min\":").append(300 + t * 60 + s * 7).append('}');
                json.append("]}");
            }
            json.append("]}");
        }
        for (JsonNode line : new ObjectMapper().readTree(json.append("]}").toString()).get("lines")) linesByName.put(line.get("name").asText(), line);
    }
    int stops(String line) { return linesByName.get(line).get("trips").get(0).get("stops").size(); }
    int lines() { return linesByName.size(); }
}
