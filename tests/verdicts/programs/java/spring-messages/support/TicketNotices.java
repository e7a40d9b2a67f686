package support;
import org.springframework.context.MessageSource;
import java.util.Locale;
public class TicketNotices {
    private final MessageSource messages;
    public TicketNotices(MessageSource messages) { this.messages = messages; }
    /** A notice in the customer's words: there are texts for a few kinds only, for all others the agent's own sentence is taken. */
    public String noticeFor(String kind, String ticket, String sentence) {
        return messages.getMessage("notice." + kind, new Object[] {ticket}, sentence.replace("'", "''") + " ({0})", Locale.ENGLISH);
    }
}
