import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.sse.EventSource;
import okhttp3.sse.EventSourceListener;
import okhttp3.sse.EventSources;

/** okhttp-sse. It reads one stream and ends with it; the listener opens the next one. */
class OkHttpSse extends EventSourceListener {
  private final OkHttpClient client = new OkHttpClient.Builder().readTimeout(0, TimeUnit.SECONDS).build();
  private final String url;
  private String lastEventId;

  OkHttpSse(String url) {
    this.url = url;
  }

  public static void main(String[] arguments) {
    new OkHttpSse(arguments[0] + "/events").open();
  }

  private void open() {
    var request = new Request.Builder().url(url);
    if (lastEventId != null) request.header("Last-Event-ID", lastEventId);
    EventSources.createFactory(client).newEventSource(request.build(), this);
  }

  @Override
  public void onOpen(EventSource source, Response response) {
    System.out.println("{\"kind\": \"open\"}");
  }

  @Override
  public void onEvent(EventSource source, String id, String type, String data) {
    lastEventId = id;
    if ("notification".equals(type) || "gap".equals(type)) {
      System.out.println("{\"kind\": \"" + type + "\", " + data.substring(1));
    }
  }

  @Override
  public void onClosed(EventSource source) {
    again("the stream ended");
  }

  @Override
  public void onFailure(EventSource source, Throwable error, Response response) {
    again(error == null ? "status " + response.code() : error.getClass().getName());
  }

  private void again(String message) {
    System.out.println("{\"kind\": \"error\", \"message\": \"" + message + "\"}");
    try {
      Thread.sleep(300);
    } catch (InterruptedException error) {
      return;
    }
    open();
  }
}
