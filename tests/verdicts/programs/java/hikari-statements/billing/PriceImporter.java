package billing;
import java.sql.*;
import javax.sql.DataSource;
/** Holds one connection for the whole night. */
public class PriceImporter {
    private final Connection connection;
    public PriceImporter(DataSource ds) throws SQLException { connection = ds.getConnection(); }
    public void importRow(int sku, String name) throws SQLException {
        PreparedStatement ps = connection.prepareStatement("insert into price(sku, name) values(?, ?)");
        ps.setInt(1, sku);
        ps.setString(2, name);
        ps.executeUpdate();
    }
}
