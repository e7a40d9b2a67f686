package quotes;
import java.util.*;
import javax.jms.*;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;
import ops.*;
public class Main {
    static final Map<String, String> TARIFFS = new HashMap<>();
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 9000; i++) TARIFFS.put("tariff-" + i, Sample.text(200));
        BrokerService broker = new BrokerService();
        broker.setPersistent(false); broker.setUseJmx(false); broker.setAdvisorySupport(true); broker.setBrokerName("desk"); broker.setSchedulerSupport(false);
        broker.getSystemUsage().getMemoryUsage().setLimit(32L << 20);
        broker.getSystemUsage().getTempUsage().setLimit(1 << 20);
        broker.start();
        broker.waitUntilStarted();
        Connection connection = new ActiveMQConnectionFactory("vm://desk?create=false").createConnection();
        connection.start();
        Session service = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageProducer answers = service.createProducer(null);
        service.createConsumer(service.createQueue("quotes")).setMessageListener(m -> {
            try { answers.send(m.getJMSReplyTo(), service.createTextMessage(TARIFFS.get("tariff-" + Sample.rnd(9000)))); } catch (JMSException e) { throw new RuntimeException(e); }
        });
        QuoteClient client = new QuoteClient(connection);
        int answered = 0;
        for (int i = 0; i < 850; i++) if (client.quote("basket " + i + Sample.text(60)) != null) answered++;
        System.out.println(answered);
        HeapDump.write();
    }
}
