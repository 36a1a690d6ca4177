package shop;

import java.net.ConnectException;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.catalog.exceptions.CatalogException;
import org.apache.flink.table.factories.CatalogFactory;

/** A catalog whose server is away. */
public class Unreachable implements CatalogFactory {
    @Override
    public String factoryIdentifier() {
        return "unreachable";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of();
    }

    @Override
    public Catalog createCatalog(Context context) {
        String trace = "\n\tat acme.Socket.open(Socket.java:243)\n\tat acme.Client.<init>(Client.java:7)";
        throw new CatalogException("no catalog", new ConnectException("nobody listens at metastore:9083" + trace));
    }
}
