package shop;

import java.net.Socket;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

/** Programs that ask for something while they build their job: a "socket", or a "broker" through a library. */
public class Reaching {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("socket")) {
            new Socket("localhost", 9).close();
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[1]);
        properties.put("default.api.timeout.ms", arguments[2]);
        properties.put("request.timeout.ms", "1000");
        Admin.create(properties).listTopics().names().get();
    }
}
