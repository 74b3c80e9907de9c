import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;

/** The JDK's own HTTP client, whose answer is a stream of lines; the fields are read by hand. */
class JdkClient {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static String lastEventId;

  public static void main(String[] arguments) throws InterruptedException {
    while (true) {
      try {
        read(URI.create(arguments[0] + "/events"));
        error("the stream ended");
      } catch (IOException | UncheckedIOException error) {
        error(error.getClass().getName());
      }
      Thread.sleep(300);
    }
  }

  private static void read(URI address) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(address).header("Accept", "text/event-stream");
    if (lastEventId != null) request.header("Last-Event-ID", lastEventId);
    var response = CLIENT.send(request.build(), BodyHandlers.ofLines());
    if (response.statusCode() != 200) throw new IOException("status " + response.statusCode());
    System.out.println("{\"kind\": \"open\"}");
    var fields = new HashMap<String, String>();
    response.body().forEach(line -> take(line, fields));
  }

  private static void take(String line, Map<String, String> fields) {
    if (!line.isEmpty()) {
      var parts = line.split(": ", 2);
      if (parts.length == 2) fields.put(parts[0], parts[1]);
      return;
    }
    if (fields.containsKey("id")) lastEventId = fields.get("id");
    var event = fields.getOrDefault("event", "");
    if (event.equals("notification") || event.equals("gap")) {
      System.out.println("{\"kind\": \"" + event + "\", " + fields.get("data").substring(1));
    }
    fields.clear();
  }

  private static void error(String message) {
    System.out.println("{\"kind\": \"error\", \"message\": \"" + message + "\"}");
  }
}
