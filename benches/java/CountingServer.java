import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * The JDK's own HTTPS server, and a plain one that says how many requests the first has answered.
 *
 * <p>{@code java CountingServer.java KEYSTORE PASSWORD PROTOCOL}; prints {@code serving ADDRESS} and {@code counting ADDRESS}.
 */
public final class CountingServer {
    private static final int THREADS = 16;
    private static final int BACKLOG = 4096;

    public static void main(String[] arguments) throws Exception {
        AtomicLong answered = new AtomicLong();
        SSLContext context = context(arguments[0], arguments[1].toCharArray());
        HttpsServer server = HttpsServer.create(anyPort(), BACKLOG);
        server.setHttpsConfigurator(configurator(context, arguments[2]));
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/", exchange -> {
            answered.incrementAndGet();
            answer(exchange, "ok");
        });
        HttpServer counter = HttpServer.create(anyPort(), 0);
        counter.createContext("/", exchange -> answer(exchange, Long.toString(answered.get())));
        server.start();
        counter.start();
        System.out.println("serving 127.0.0.1:" + server.getAddress().getPort());
        System.out.println("counting 127.0.0.1:" + counter.getAddress().getPort());
    }

    private static InetSocketAddress anyPort() throws IOException {
        return new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0);
    }

    private static SSLContext context(String file, char[] password) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (FileInputStream input = new FileInputStream(file)) {
            keys.load(input, password);
        }
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, password);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return context;
    }

    private static HttpsConfigurator configurator(SSLContext context, String protocol) {
        return new HttpsConfigurator(context) {
            @Override
            public void configure(HttpsParameters parameters) {
                SSLParameters tls = context.getDefaultSSLParameters();
                tls.setProtocols(new String[] {protocol});
                parameters.setSSLParameters(tls);
            }
        };
    }

    private static void answer(HttpExchange exchange, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        try (exchange) {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        }
    }
}
