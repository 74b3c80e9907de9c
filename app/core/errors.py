"""Tree of all errors. An error with a file after its name is defined in that file, next to the code that raises it.

SiarError
+-- Malformed             input in a wrong form: a 400, or exit code 2
|   +-- MalformedPosition   a position that is not "<epoch>.<offset>"
|   +-- MalformedFrame      bytes from a peer that violate its protocol
+-- Unknown               a name of something that does not exist here: a 404, or exit code 2
+-- Conflict              a well-formed request that the present state forbids: a 409
+-- Unfit                 the environment cannot do what was requested: exit code 3
+-- SettingError          an unknown or impossible setting: exit code 2
+-- StoreError            a run folder or a history that cannot be read: damaged, foreign or of another version
+-- TooLong               a request or a notification that exceeds a limit on its length or count: a 413
+-- NotKept               the durable history could not store a notification, which was not published: a 507
+-- BrokerAway            the shared broker does not answer; a repeat with the same key tells whether it published: a 503
+-- TooManyConnections    app/server/wsgi/admission.py: the server's or an address's connection limit is reached: a 503
+-- TooManyGuesses        app/server/auth_throttle.py: an address sent too many wrong secrets: a 429
+-- WrongKey              app/server/operators.py: a one-time link was used before, is too old, or never existed: a 403
+-- SelfTestsFull         app/store/archive/self_tests.py: the limit of stored self-test records is reached: a 507
+-- SpoolFull             app/server/deliveries.py: a run's spool of deliveries is full: a 507
+-- DeviceFull            app/server/deliveries.py: one device's share of the spool is used up: a 413
+-- NetworkFull           app/server/deliveries.py: the share of one network's devices is used up: a 413
+-- TooFast               app/server/web/publish/publishing.py: the rate limit of publishing is exceeded: a 429
+-- WouldDisturb          app/server/web/publish/publishing.py: a publish would disturb the running trial: a 409

`str()` of each error is a sentence that a person can act on.
"""


class SiarError(Exception):
    """Base of all errors that Siar itself reports."""


class Malformed(SiarError):
    """Input has a wrong form."""


class MalformedPosition(Malformed):
    """A position is not of the form `<epoch>.<offset>`."""


class MalformedFrame(Malformed):
    """A peer sent bytes that violate its protocol."""

    def __init__(self, sentence: str, *, close_code: int = 1002) -> None:
        super().__init__(sentence)
        self.close_code = close_code
        """Status code for a WebSocket's close frame (RFC 6455, section 7.4.1); 1002 is "protocol error"."""


class Unknown(SiarError):
    """A name (run, trial, device) does not exist here."""


class Conflict(SiarError):
    """The request is well-formed but cannot be served in the present state."""


class Unfit(SiarError):
    """This machine or its set-up cannot do what was requested."""


class SettingError(SiarError):
    """A setting is unknown, or its value is impossible."""


class StoreError(SiarError):
    """A run folder or a durable history is damaged, foreign, or of another version."""


class TooLong(SiarError):
    """A request or a notification is longer than it may be."""


class NotKept(SiarError):
    """The durable history could not store what was to be published, so none of it was published."""


class BrokerAway(SiarError):
    """The broker that several servers share does not answer. The last request to it may have been carried out."""
