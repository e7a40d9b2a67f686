package billing;
import com.zaxxer.hikari.*;
import ops.*;
import java.util.*;
public class Main {
    static final List<String> CURRENCIES = new ArrayList<>();
    static PriceImporter importer;
    public static void main(String[] a) throws Exception {
        for (int i = 0; i < 15000; i++) CURRENCIES.add(Sample.text(60));
        HikariConfig c = new HikariConfig();
        c.setJdbcUrl("jdbc:h2:mem:billing"); c.setMaximumPoolSize(4); c.setPoolName("billing-pool");
        HikariDataSource ds = new HikariDataSource(c);
        ds.getConnection().createStatement().execute("create table price(sku int, name varchar(400))");
        importer = new PriceImporter(ds);
        for (int i = 0; i < 9000; i++) importer.importRow(i, Sample.text(250));
        HeapDump.write();
    }
}
