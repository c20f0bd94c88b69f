// The JDK's HttpsServer: PORT CERT KEY IP. Writes a line for each request.

import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.*;
import java.util.concurrent.Executors;
import javax.net.ssl.*;

public class Server {
    public static void main(String[] arguments) throws Exception {
        var certificates = CertificateFactory.getInstance("X.509").generateCertificates(new FileInputStream(arguments[1]));
        var keys = KeyStore.getInstance("PKCS12");
        keys.load(null, null);
        keys.setKeyEntry("server", key(arguments[2]), new char[0], certificates.toArray(new java.security.cert.Certificate[0]));
        var managers = KeyManagerFactory.getInstance("PKIX");
        managers.init(keys, new char[0]);
        var context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        var files = Map.of("/", Files.readAllBytes(Path.of("html/index.html")), "/big", Files.readAllBytes(Path.of("html/big")));
        var server = HttpsServer.create(new InetSocketAddress(arguments[3], Integer.parseInt(arguments[0])), 4096);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> answer(exchange, files));
        server.start();
    }

    private static void answer(HttpExchange exchange, Map<String, byte[]> files) throws IOException {
        var path = exchange.getRequestURI().getPath();
        var body = files.getOrDefault(path, files.get("/"));
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        System.out.println("row " + exchange.getRemoteAddress().getPort() + " - " + exchange.getProtocol() + " 200 " + path);
    }

    private static PrivateKey key(String file) throws Exception {
        var text = Files.readString(Path.of(file)).replaceAll("-----[A-Z ]+-----|\\s", "");
        var bytes = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text));
        try {
            return KeyFactory.getInstance("EC").generatePrivate(bytes);
        } catch (java.security.spec.InvalidKeySpecException notEc) {
            return KeyFactory.getInstance("RSA").generatePrivate(bytes);
        }
    }
}
