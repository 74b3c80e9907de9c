"""Schema of a run's database, with its version history.

Tables are append-only, which triggers enforce: measurements are never changed, and deleted only on request of the
owner of the phone that made them (`device_rows.py`). Times are microseconds. A column has the name of the field that
it stores (`app/core/delivery.py`, `app/core/trial.py`). An import compares the SQL token by token, so comments may change.

    version 1   run, ending, trial, published, delivery, cpu, clock_probe, client_batch, client_sample, spool_read
    version 2   adds instrument, connection, accepted, tcp_info: the server's record of its connections
    version 3   adds participant, conduct: the phones of a trial and their lifecycle reports; `lifecycle` in delivery
                and client_sample; `conduct` in client_batch, as it was posted
    version 4   adds course, cpu_second, opening, upload: the timeline of a trial
    version 5   adds `wall_ahead_us` in conduct: a phone's wall clock, with which the published study measured
    version 6   `warnings` in trial hold arguments instead of English text and advice; older rows stay as they are
"""

from __future__ import annotations

APPLICATION_ID = 0x53494152
"""`PRAGMA application_id`, "SIAR": distinguishes a run's database from other SQLite files."""

VERSION = 6
"""`PRAGMA user_version`. A reader supports all versions up to its own and refuses newer ones; a writer upgrades the file."""

TABLES = {
    "run": """
        id TEXT PRIMARY KEY,
        started TEXT NOT NULL,          -- ISO 8601, UTC
        plan TEXT NOT NULL,             -- JSON, app/core/plan/scenario.py
        plan_sha256 TEXT NOT NULL,
        conditions TEXT NOT NULL,       -- JSON, app/lab/measure/host.py
        simulated INTEGER NOT NULL      -- 1: built-in clients
    """,
    "ending": """
        kind TEXT NOT NULL,             -- 'finished' or 'stopped'; a run without 'finished' is incomplete
        ended TEXT NOT NULL,
        conditions TEXT NOT NULL        -- JSON: what is known only at the end
    """,
    "trial": """
        trial INTEGER PRIMARY KEY,      -- TrialSpec.index
        block INTEGER NOT NULL,
        clients INTEGER NOT NULL,
        arm TEXT NOT NULL,              -- JSON: name, transport, factors
        idle INTEGER NOT NULL,
        started_us INTEGER NOT NULL,
        ended_us INTEGER NOT NULL,
        published INTEGER NOT NULL,
        source_lag_us TEXT NOT NULL,    -- JSON array
        client_loop_lag_ms_p99 REAL,
        client_cpu_s REAL,
        disconnects INTEGER NOT NULL,
        disturbances INTEGER NOT NULL,
        completed INTEGER NOT NULL,
        warnings TEXT NOT NULL          -- JSON array of code, severity, text, advice
    """,
    "published": """
        trial INTEGER NOT NULL REFERENCES trial,
        seq INTEGER NOT NULL,
        "offset" INTEGER NOT NULL,
        due_us INTEGER NOT NULL,
        sent_us INTEGER NOT NULL,
        PRIMARY KEY (trial, seq)
    """,
    "delivery": """
        trial INTEGER NOT NULL REFERENCES trial,
        client INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        warmup INTEGER NOT NULL,
        "offset" INTEGER,
        due_us INTEGER NOT NULL,
        sent_us INTEGER,
        received_client_us REAL,
        clock_offset_us REAL,
        clock_bound_us REAL,
        kernel_received_us REAL,
        state TEXT NOT NULL,
        outcome TEXT NOT NULL,
        visible INTEGER NOT NULL
    """,
    "cpu": """
        trial INTEGER PRIMARY KEY REFERENCES trial,
        wall_s REAL NOT NULL,
        user_s REAL NOT NULL,
        system_s REAL NOT NULL,
        total_s REAL NOT NULL,
        total_is_ns INTEGER NOT NULL,
        machine_busy_s REAL NOT NULL,
        cores INTEGER NOT NULL,
        voluntary_switches INTEGER NOT NULL,
        involuntary_switches INTEGER NOT NULL,
        rss_bytes INTEGER NOT NULL,
        cpu_percent_before REAL,
        cpu_percent_after REAL
    """,
    "clock_probe": """
        client TEXT NOT NULL,           -- 'built-in' for all built-in clients, which share a clock, or a device
        timebase TEXT NOT NULL,
        t1_us REAL NOT NULL,
        t2_us REAL NOT NULL,
        t3_us REAL NOT NULL,
        t4_us REAL NOT NULL
    """,
    "client_batch": """
        batch INTEGER PRIMARY KEY,
        device TEXT NOT NULL,
        batch_id TEXT NOT NULL,
        received_us INTEGER NOT NULL,   -- when the server took it
        run TEXT,
        trial INTEGER,
        clock_channel TEXT,
        timebase TEXT<added>,
        UNIQUE (device, batch_id)
    """,
    "client_sample": """
        batch INTEGER NOT NULL REFERENCES client_batch,
        id TEXT,                        -- the notification's
        transport TEXT,
        due_us REAL,
        sent_us REAL,
        received_client_us REAL,
        displayed_client_us REAL,
        clock_offset_us REAL,
        clock_bound_us REAL,
        state TEXT,
        outcome TEXT,
        visible INTEGER
    """,
    "spool_read": """
        position_bytes INTEGER NOT NULL -- how far spool.jsonl has been taken in; the highest counts
    """,
    "instrument": """
        trial INTEGER PRIMARY KEY REFERENCES trial,     -- a row for each trial for which it was switched on
        absent TEXT,                    -- why nothing was recorded
        dropped INTEGER NOT NULL
    """,
    "connection": """
        trial INTEGER NOT NULL REFERENCES trial,
        connection INTEGER NOT NULL,    -- 0-based within the trial
        client INTEGER,                 -- whose it was; NULL: nobody's of the trial
        address TEXT NOT NULL,
        port INTEGER NOT NULL,          -- of the peer
        PRIMARY KEY (trial, connection)
    """,
    "accepted": """
        trial INTEGER NOT NULL REFERENCES trial,
        connection INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        accepted_us INTEGER NOT NULL,   -- right before the send() that completed the notification
        PRIMARY KEY (trial, connection, seq)
    """,
    "tcp_info": """
        trial INTEGER NOT NULL REFERENCES trial,
        connection INTEGER NOT NULL,
        edge TEXT NOT NULL,             -- 'before' the first notification or 'after' the last
        at_us INTEGER NOT NULL,
        rtt_us INTEGER NOT NULL,
        rttvar_us INTEGER NOT NULL,
        min_rtt_us INTEGER,
        retransmissions INTEGER NOT NULL,
        segments_out INTEGER,
        segments_in INTEGER,
        data_segments_out INTEGER,
        bytes_sent INTEGER,
        bytes_acked INTEGER,
        bytes_received INTEGER,
        delivered INTEGER,
        header_bytes INTEGER NOT NULL,
        PRIMARY KEY (trial, connection, edge)
    """,
    "participant": """
        trial INTEGER NOT NULL REFERENCES trial,
        client INTEGER NOT NULL,        -- the phone's seat in the run, minus 1
        PRIMARY KEY (trial, client)
    """,
    "conduct": """
        trial INTEGER NOT NULL REFERENCES trial,
        client INTEGER NOT NULL,
        disconnects INTEGER NOT NULL,
        hidden_ms REAL NOT NULL,
        frozen_ms REAL NOT NULL,
        suspended_ms REAL NOT NULL,
        clock_steps INTEGER NOT NULL,
        expected_count INTEGER NOT NULL,
        received_count INTEGER NOT NULL,
        events TEXT NOT NULL<added>,    -- JSON array of client_us, kind
        PRIMARY KEY (trial, client)
    """,
    "course": """
        trial INTEGER PRIMARY KEY REFERENCES trial,     -- a row for each trial of which the three tables below tell
        uploads_known INTEGER NOT NULL  -- 0: its clients did not say what they sent
    """,
    "cpu_second": """
        trial INTEGER NOT NULL REFERENCES trial,
        second INTEGER NOT NULL,        -- 0-based, from the beginning of the CPU window
        wall_s REAL NOT NULL,
        process_s REAL,                 -- the server's process tree; NULL: no nanosecond clocks
        kernel_s REAL NOT NULL,         -- the machine's system, irq and softirq, all cores, ticks of 10 ms
        busy_s REAL NOT NULL,           -- and user time
        PRIMARY KEY (trial, second)
    """,
    "opening": """
        trial INTEGER NOT NULL REFERENCES trial,
        client INTEGER NOT NULL,
        place INTEGER NOT NULL,         -- 0: the client's first connection
        began_us REAL NOT NULL,         -- all on the client's own clock
        connected_us REAL,
        first_byte_us REAL,
        ready_us REAL,
        lost_us REAL,
        PRIMARY KEY (trial, client, place)
    """,
    "upload": """
        trial INTEGER NOT NULL REFERENCES trial,
        client INTEGER NOT NULL,
        at_us REAL NOT NULL,            -- the client's own clock
        payload_bytes INTEGER NOT NULL
    """,
}

SINCE = {
    **dict.fromkeys(("instrument", "connection", "accepted", "tcp_info"), 2),
    **dict.fromkeys(("participant", "conduct"), 3),
    **dict.fromkeys(("course", "cpu_second", "opening", "upload"), 4),
}
"""Version that added a table; the others exist since version 1."""

ADDED = {
    "delivery": {"lifecycle TEXT NOT NULL DEFAULT 'visible'": 3},
    "client_sample": {"lifecycle TEXT": 3},
    "client_batch": {"conduct TEXT": 3},
    "conduct": {"wall_ahead_us REAL": 5},
}
"""Columns that were added to a table later, with their version; they are last, or at the place of `<added>`."""

INSTRUMENT_SINCE = 2
CONDUCT_SINCE = 3
COURSE_SINCE = 4
WALL_SINCE = 5

INDEXES = (
    "CREATE INDEX delivery_of_trial ON delivery (trial, client, seq)",
    "CREATE INDEX sample_of_batch ON client_sample (batch)",
)


def statements(version: int = VERSION) -> list[str]:
    """Return the statements that create the schema of a version in an empty database."""
    return [
        f"PRAGMA application_id = {APPLICATION_ID}",
        *_changes(0, version),
        *INDEXES,
        _set_version(version),
    ]


def upgrade(version: int) -> list[str]:
    """Return the statements that upgrade an older database to the newest version; existing rows do not change."""
    return [*_changes(version, VERSION), _set_version(VERSION)] if version < VERSION else []


def _changes(older: int, newer: int) -> list[str]:
    """Return the statements for tables added between two versions, their triggers, and columns added to older tables."""
    names = [name for name in TABLES if older < SINCE.get(name, 1) <= newer]
    # The text equals the result of ALTER TABLE, so that upgraded and new files have the same schema.
    created = [f"CREATE TABLE {name} ({_columns(name, newer)})" for name in names]
    widened = [
        f"ALTER TABLE {name} ADD COLUMN {column}"
        for name in ADDED
        if name not in names
        for column in _added(name, older, newer)
    ]
    triggers = [
        f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
        "BEGIN SELECT RAISE(ABORT, 'the tables of a run are append-only'); END"
        for name in names
        for verb in ("UPDATE", "DELETE")
    ]
    return [*created, *widened, *triggers]


def _columns(table: str, newer: int) -> str:
    added = "".join(f", {column}" for column in _added(table, 0, newer))
    text = TABLES[table]
    return text.replace("<added>", added) if "<added>" in text else text + added


def _added(table: str, older: int, newer: int) -> list[str]:
    return [column for column, since in ADDED.get(table, {}).items() if older < since <= newer]


def _set_version(version: int) -> str:
    return f"PRAGMA user_version = {version}"
