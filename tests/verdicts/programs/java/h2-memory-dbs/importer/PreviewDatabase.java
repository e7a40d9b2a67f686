package importer;
import java.sql.*;
import java.util.*;
/** Shows what an uploaded price list would change: the rows go into a database in memory that lasts as long as the preview. */
public class PreviewDatabase {
    private final String url = "jdbc:h2:mem:preview_" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    public int load(List<String[]> rows) throws SQLException {
        try (Connection c = DriverManager.getConnection(url, "sa", ""); Statement s = c.createStatement()) {
            s.execute("create table price(sku varchar(30) primary key, title varchar(200), cents int)");
            try (PreparedStatement p = c.prepareStatement("insert into price values(?,?,?)")) {
                for (String[] row : rows) { p.setString(1, row[0]); p.setString(2, row[1]); p.setInt(3, row[1].length() * 7); p.executeUpdate(); }
            }
            try (ResultSet r = s.executeQuery("select count(*) from price where cents > 500")) { r.next(); return r.getInt(1); }
        }
    }
}
