package batch;
import org.apache.logging.log4j.*;
import org.apache.logging.log4j.core.*;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
/** Collects the log of one job, to show it on the job's page. */
public class JobLog extends AbstractAppender {
    private final StringBuilder lines = new StringBuilder();
    private JobLog(String job) { super("job-" + job, null, null, true, Property.EMPTY_ARRAY); }
    public static JobLog open(String job) {
        JobLog log = new JobLog(job); log.start();
        ((org.apache.logging.log4j.core.Logger) LogManager.getRootLogger()).addAppender(log);
        return log;
    }
    @Override public void append(LogEvent e) { if (lines.length() < 8000) lines.append(e.getMessage().getFormattedMessage()).append('\n'); }
}
