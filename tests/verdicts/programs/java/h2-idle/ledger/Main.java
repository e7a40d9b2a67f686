package ledger;
import java.sql.*;
import java.util.*;
import ops.*;
/** An embedded database at rest: its tables are the data of the program. */
public class Main {
    static Connection db;
    static final Map<String, Integer> ACCOUNT_TYPES = new TreeMap<>();
    public static void main(String[] a) throws Exception {
        db = DriverManager.getConnection("jdbc:h2:mem:ledger;DB_CLOSE_DELAY=-1");
        try (Statement s = db.createStatement()) { s.execute("create table entry(id int primary key, account varchar(40), memo varchar(200), amount decimal(12,2))"); s.execute("create index entry_account on entry(account)"); }
        try (PreparedStatement p = db.prepareStatement("insert into entry values(?,?,?,?)")) {
            for (int i = 0; i < 20000; i++) { p.setInt(1, i); p.setString(2, "acc" + i % 700); p.setString(3, Sample.text(90)); p.setInt(4, i); p.executeUpdate(); }
        }
        for (int i = 0; i < 400; i++) ACCOUNT_TYPES.put("type" + i, i);
        HeapDump.write();
    }
}
