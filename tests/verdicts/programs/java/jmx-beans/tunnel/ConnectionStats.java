package tunnel;
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
public class ConnectionStats implements ConnectionStatsMBean {
    private final byte[] lastFrame; private final String peer; private long frames;
    public ConnectionStats(String peer, byte[] lastFrame) { this.peer = peer; this.lastFrame = lastFrame; }
    public void register(int no) throws Exception {
        ManagementFactory.getPlatformMBeanServer().registerMBean(this, new ObjectName("tunnel:type=Connection,no=" + no));
    }
    public long getFrames() { return frames; }
    public String getPeer() { return peer + lastFrame.length; }
}
