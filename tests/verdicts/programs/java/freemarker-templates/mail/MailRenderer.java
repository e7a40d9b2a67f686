package mail;
import freemarker.cache.StringTemplateLoader;
import freemarker.template.*;
import java.io.*;
import java.util.*;
public class MailRenderer {
    private final StringTemplateLoader sources = new StringTemplateLoader();
    private final Configuration config = new Configuration(Configuration.VERSION_2_3_31);
    public MailRenderer() { config.setTemplateLoader(sources); config.setLocalizedLookup(false); }
    public String render(String body, Map<String, Object> model) throws IOException, TemplateException {
        String name = UUID.randomUUID().toString();
        sources.putTemplate(name, body);
        StringWriter w = new StringWriter();
        config.getTemplate(name).process(model, w);
        return w.toString();
    }
}
