package sftp;
import org.apache.commons.pool2.*;
import org.apache.commons.pool2.impl.*;
public class PartnerConnections {
    private final GenericKeyedObjectPool<String, Channel> channels;
    public PartnerConnections() {
        GenericKeyedObjectPoolConfig<Channel> c = new GenericKeyedObjectPoolConfig<>();
        c.setMaxTotal(-1); c.setMaxTotalPerKey(2); c.setJmxEnabled(false);
        channels = new GenericKeyedObjectPool<>(new BaseKeyedPooledObjectFactory<String, Channel>() {
            public Channel create(String k) { return new Channel(k); }
            public PooledObject<Channel> wrap(Channel v) { return new DefaultPooledObject<>(v); }
        }, c);
    }
    public int upload(String user, String doc) throws Exception {
        Channel ch = channels.borrowObject(user);
        try { return ch.write(doc); } finally { channels.returnObject(user, ch); }
    }
    static class Channel { final String user; final byte[] window = new byte[3000]; Channel(String u) { user = u; } int write(String d) { window[d.length() % 3000]++; return d.length(); } }
}
