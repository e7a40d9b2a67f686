package quotes;
import javax.jms.*;
/** Asks for a quote and waits for the answer on a queue of its own. */
public class QuoteClient {
    private final Connection connection;
    public QuoteClient(Connection connection) { this.connection = connection; }
    public String quote(String basket) throws JMSException {
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        try {
            TemporaryQueue replies = session.createTemporaryQueue();
            MessageConsumer consumer = session.createConsumer(replies);
            TextMessage question = session.createTextMessage(basket);
            question.setJMSReplyTo(replies);
            session.createProducer(session.createQueue("quotes")).send(question);
            Message answer = consumer.receive(3000);
            return answer == null ? null : ((TextMessage) answer).getText();
        } finally {
            session.close();
        }
    }
}
