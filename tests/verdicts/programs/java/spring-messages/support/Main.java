package support;
import org.springframework.context.support.*;
import java.util.*;
import ops.*;
public class Main {
    static final GenericApplicationContext CONTEXT = new GenericApplicationContext();
    public static void main(String[] a) throws Exception {
        StaticMessageSource texts = new StaticMessageSource();
        for (int i = 0; i < 600; i++) texts.addMessage("state." + i, Locale.ENGLISH, "Ticket {0} is in state " + Sample.text(40));
        CONTEXT.getBeanFactory().registerSingleton("messageSource", texts);
        CONTEXT.getBeanFactory().registerSingleton("tickets", new Tickets());
        CONTEXT.refresh();
        CONTEXT.getBeanFactory().registerSingleton("ticketNotices", new TicketNotices(CONTEXT));
        long sent = 0;
        for (int i = 0; i < 9000; i++) {
            CONTEXT.getBean(Tickets.class).opened("T" + i);
            sent += CONTEXT.getBean(TicketNotices.class).noticeFor("k" + i % 30, "T" + i, "Your parcel " + Sample.text(120)).length();
        }
        System.out.println(sent);
        HeapDump.write();
    }
}
