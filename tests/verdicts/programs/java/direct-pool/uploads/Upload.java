package uploads;
import java.nio.ByteBuffer;
class Upload { final String name; final ByteBuffer buffer; Upload(String n, ByteBuffer b) { name = n; buffer = b; } void chunk(byte[] x) { buffer.clear(); buffer.put(x); } }
