/**
 * Shapes that several modules share. No code.
 *
 * Names in snake_case are those of the wire; times end in their unit. "Client" times are microseconds of the worker's
 * `performance.now()`, server times microseconds in the server's timebase.
 */

/** @typedef {"sse" | "socketio"} Transport */

/** @typedef {Transport | "both"} Choice what the person chose: one transport, or one after the other */

/** @typedef {"websocket" | "http"} ClockChannelKind */

/** @typedef {"ok" | "no_clock" | "wide_u" | "hidden" | "epoch_break" | "warmup" | "replay" | "polling"} SampleState */

/** @typedef {"on_time" | "late" | "replayed" | "duplicate"} Outcome */

/**
 * A notification, as every transport carries it.
 *
 * @typedef {{
 *   id: string, offset: number, topic: string, due_us: number, sent_us: number,
 *   title: string, body: string, data: Record<string, any>,
 * }} Notification
 */

/** @typedef {{from: number, to: number, reason: "expired" | "epoch", id?: string}} Gap */

/** @typedef {{epoch: string, first: number, last: number}} Span offsets, both ends included */

/**
 * What history says of a span.
 *
 * @typedef {{epoch: string, oldest: number, listed: number[], through: number}} HistoryAnswer
 *   `oldest`: from this offset on nothing has been dropped; `Infinity` when history is empty.
 *   `listed`: the offsets of the span that were sent to everyone. `through`: the answer goes up to here
 */

/** @typedef {{lost_count: number, unknown_count: number}} Missing `unknown_count`: lost, or not for this device */

/**
 * One life of a transport's connection, known from when it opened.
 *
 * @typedef {{
 *   transport: Transport,
 *   resumed: boolean,
 *   position: string | null,
 *   resumes_from: string | null,
 *   opened_client_us: number,
 *   carrier: "event-stream" | "websocket" | "polling",
 * }} Connection `position`: where the history stood when it opened; null on SSE, which does not tell its reader.
 *   `resumes_from`: what a next connection names as long as nothing has arrived on this one
 */

/**
 * What a transport reports. It stamps a notification first thing in its handler.
 *
 * @typedef {{
 *   onOpen: (connection: Connection) => void,
 *   onNotification: (notification: Notification, receivedUs: number) => void,
 *   onGap: (gap: Gap) => void,
 *   onDown: () => void,
 * }} StreamEvents `onDown` is said once for each failed try; the transport itself tries again until it is closed
 */

/** @typedef {{close: () => void}} Stream */

/**
 * Opens a stream behind a position (null: with what comes next) and keeps it open until it is closed.
 *
 * @typedef {(
 *   transport: Transport,
 *   wanted: {lastEventId: string | null, topics?: string[], transports?: string[]},
 *   events: StreamEvents,
 * ) => Stream} OpenStream
 */

/**
 * A notification that came in, before its delay is known.
 *
 * @typedef {{
 *   notification: Notification, connection: Connection, is_new: boolean, visible: boolean,
 *   received_client_us: number, displayed_client_us: number | null,
 *   lifecycle?: Lifecycle, polling_asked?: boolean,
 * }} Arrival `polling_asked`: polling is what the trial is about, and no accident
 */

/**
 * A measured arrival, as `POST /api/deliveries` takes it.
 *
 * @typedef {{
 *   id: string, transport: Transport, due_us: number, sent_us: number,
 *   received_client_us: number, displayed_client_us: number | null,
 *   clock_offset_us: number | null, clock_bound_us: number | null,
 *   state: SampleState, outcome: Outcome, visible: boolean, lifecycle: Lifecycle,
 * }} Sample
 */

/** @typedef {"visible" | "hidden" | "frozen" | "resumed"} Lifecycle what the page was when something arrived */

/**
 * What happens to a page, by the browser's own names.
 *
 * @typedef {"visible" | "hidden" | "freeze" | "resume" | "pagehide" | "pageshow" | "online" | "offline"} LifecycleEvent
 */

/**
 * What is known of the phone itself.
 *
 * @typedef {{
 *   model?: string, browser?: string, secure_context: boolean, wake_lock: boolean, timer_step_us: number,
 * }} DeviceFacts
 */

/**
 * How a phone behaved in a trial; see conduct.js.
 *
 * @typedef {{
 *   disconnects: number, hidden_ms: number, frozen_ms: number, suspended_ms: number, clock_steps: number,
 *   wall_ahead_us: number | null, expected_count: number, received_count: number, events: [number, string][],
 *   device: DeviceFacts & {rtt_ms: number | null, radio_jitter_ms: number | null},
 * }} Conduct
 */

/** @typedef {{name: string, model: string, join_code: string}} Wish what a phone says when it joins; "" is nothing */

/**
 * What all samples of one batch have in common.
 *
 * @typedef {{
 *   run: string | null, trial: number | null, clock_channel: ClockChannelKind, timebase: string,
 * }} BatchContext
 */

/**
 * A probe of the clock as it is posted: how often the clock had been begun anew by then, and its four stamps.
 *
 * @typedef {[wake_count: number, t1_us: number, t2_us: number, t3_us: number, t4_us: number]} ProbeStamps
 */

/**
 * A batch but for its device.
 *
 * @typedef {BatchContext & {
 *   batch_id: string, samples: Sample[], conduct?: Conduct, probes?: ProbeStamps[],
 * }} Batch
 */

/** @typedef {{delay_ms: number, bound_ms: number, sample_count: number}} MedianReading */

/**
 * @typedef {{
 *   received_count: number, duplicate_count: number, replayed_count: number, late_count: number,
 *   left_out: Partial<Record<SampleState, number>>, median: MedianReading | null,
 * } & Missing} TallyReading
 */

/**
 * @typedef {{
 *   state: "waiting" | "ok" | "wide_u" | "no_clock" | "epoch_break",
 *   offset_us: number | null, bound_us: number | null, client_us: number,
 *   channel: ClockChannelKind | null, answered_count: number,
 * }} ClockStatus `client_us`: when the clock was read
 */

/** @typedef {{sent_count: number, waiting_count: number, dropped_count: number, refused_count: number}} OutboxStatus */

/** @typedef {"ready" | "starting" | "receiving" | "reconnecting" | "stopping" | "stopped"} Phase */

/** @typedef {"server_away" | "server_full" | "stream_blocked" | "clock_silent" | "sending_fails" | "second_tab" | "worker"} Problem */

/**
 * The state of the worker: one value, of which the page is a function.
 *
 * @typedef {{
 *   phase: Phase, transport: Transport | null, problems: Problem[],
 *   tallies: Record<Transport, TallyReading>, clock: ClockStatus, outbox: OutboxStatus,
 * }} WorkerState
 */

/** @typedef {{device: string, token: string}} Identity */

/** @typedef {{version: string, clock_port: number | null, language: string, run: string | null}} Config */

/** @typedef {import("./room_types.js").RoomState} RoomState */

/**
 * @typedef {{kind: "start", choice: Choice, config: Config, identity: Identity | null, visible: boolean}
 *   | {kind: "stop"}
 *   | {kind: "join", config: Config, identity: Identity | null, visible: boolean, wish: Wish, facts: DeviceFacts}
 *   | {kind: "leave"}
 *   | {kind: "identity", identity: Identity | null}
 *   | {kind: "check"}
 *   | {kind: "awake", awake: boolean}
 *   | {kind: "lifecycle", event: LifecycleEvent, client_us: number | null}
 *   | {kind: "displayed", id: string, displayed_client_us: number}
 *   | {kind: "ping", t1_us: number}} ToWorker `identity`: as the page knows it by now; null where the server is away
 */

/**
 * @typedef {{kind: "state", state: WorkerState}
 *   | {kind: "arrival", notification: Notification, transport: Transport, reading: ArrivalReading}
 *   | {kind: "room", room: RoomState}
 *   | {kind: "trial_arrival", id: string, count: number}
 *   | {kind: "beacon", body: string}
 *   | {kind: "register", stale: Identity | null}
 *   | {kind: "pong", t1_us: number, t2_us: number, t3_us: number}} ToPage `stale`: the identity that the server does not know
 */

/**
 * The delay of the newest arrival as far as it is known at once; later probes make it narrower.
 *
 * @typedef {{delay_ms: number, bound_ms: number} | null} ArrivalReading
 */

/**
 * The part of a Socket.IO client's socket that is used here.
 *
 * @typedef {{
 *   active: boolean,
 *   on: (event: string, handler: (...args: any[]) => void) => unknown,
 *   connect: () => unknown, disconnect: () => unknown,
 *   io: {
 *     on: (event: string, handler: (...args: any[]) => void) => unknown,
 *     engine?: {transport?: {name?: string}},
 *   },
 * }} SocketIoSocket
 */

/** @typedef {{setTimeout: (action: () => void, delayMs: number) => any, clearTimeout: (timer: any) => void}} Timers */

export {};
