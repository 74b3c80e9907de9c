// The three of Go in one program. argv: URL, library.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	launchdarkly "github.com/launchdarkly/eventsource"
	r3labs "github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"
)

var output sync.Mutex

func report(kind string, members map[string]any) {
	output.Lock()
	defer output.Unlock()
	members["kind"] = kind
	line, _ := json.Marshal(members)
	fmt.Println(string(line))
}

func reportError(err error) {
	report("error", map[string]any{"message": fmt.Sprint(err)})
}

func reportEvent(event, data string) {
	if event != "notification" && event != "gap" {
		return
	}
	members := map[string]any{}
	if err := json.Unmarshal([]byte(data), &members); err != nil {
		reportError(err)
		return
	}
	report(event, members)
}

func main() {
	url := os.Args[1] + "/events"
	switch os.Args[2] {
	case "r3labs":
		readR3labs(url)
	case "tmaxmax":
		readTmaxmax(url)
	case "launchdarkly":
		readLaunchDarkly(url)
	}
}

// It comes back after an error; the end of a stream ends it, and the same client subscribed again resumes.
func readR3labs(url string) {
	client := r3labs.NewClient(url)
	client.OnConnect(func(*r3labs.Client) { report("open", map[string]any{}) })
	client.OnDisconnect(func(*r3labs.Client) { reportError(nil) })
	for {
		err := client.SubscribeRaw(func(event *r3labs.Event) { reportEvent(string(event.Event), string(event.Data)) })
		reportError(err)
		time.Sleep(300 * time.Millisecond)
	}
}

func readTmaxmax(url string) {
	request, _ := http.NewRequest(http.MethodGet, url, http.NoBody)
	client := tmaxmax.Client{
		HTTPClient: http.DefaultClient,
		OnRetry:    func(err error, _ time.Duration) { reportError(err) },
		Backoff:    tmaxmax.DefaultClient.Backoff,
		ResponseValidator: func(response *http.Response) error {
			if err := tmaxmax.DefaultValidator(response); err != nil {
				return err
			}
			report("open", map[string]any{})
			return nil
		},
	}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(event tmaxmax.Event) { reportEvent(event.Type, event.Data) })
	reportError(connection.Connect())
}

func readLaunchDarkly(url string) {
	stream, err := launchdarkly.SubscribeWithURL(url, launchdarkly.StreamOptionInitialRetry(500*time.Millisecond),
		launchdarkly.StreamOptionErrorHandler(func(err error) launchdarkly.StreamErrorHandlerResult {
			reportError(err)
			return launchdarkly.StreamErrorHandlerResult{}
		}))
	if err != nil {
		reportError(err)
		return
	}
	report("open", map[string]any{})
	for event := range stream.Events {
		reportEvent(event.Event(), event.Data())
	}
}
