"""What can go wrong, as one tree. Where a name has a file behind it, the error stands there, beside what raises it.

SiarError
+-- Malformed             input that does not have the form it must have: a 400, or exit code 2
|   +-- MalformedPosition   a position that is not "<epoch>.<offset>"
|   +-- MalformedFrame      bytes from a peer that break their own protocol
+-- Unknown               a name that does not stand for anything here: a 404, or exit code 2
+-- Conflict              right in form, but not now: a 409
+-- Unfit                 the environment cannot do what was asked: exit code 3
+-- SettingError          an unknown or impossible setting: exit code 2
+-- StoreError            a run folder or a history that cannot be read: damaged, foreign or of another version
+-- TooLong               more in one request or notification than may be: a 413
+-- NotKept               the durable history could not take a notification, which was not published: a 507
+-- BrokerAway            the shared broker does not answer; whether it published, a repeat with its key finds out: a 503
+-- TooManyConnections    app/server/wsgi/admission.py: the server's limit, or that of an address: a 503
+-- TooManyGuesses        app/server/auth_throttle.py: an address gave too many wrong secrets: a 429
+-- WrongKey              app/server/operators.py: a one-time link that was used before, is too old, or never was: a 403
+-- SelfTestsFull         app/store/archive/self_tests.py: as many devices have answered the self-test as are kept: a 507
+-- SpoolFull             app/server/deliveries.py: a run has taken as many deliveries as it may: a 507
+-- DeviceFull            app/server/deliveries.py: one device has posted as much of them as one may: a 413
+-- NetworkFull           app/server/deliveries.py: so have the devices of one network address: a 413
+-- TooFast               app/server/web/publish/publishing.py: more was published than may be in a second: a 429
+-- WouldDisturb          app/server/web/publish/publishing.py: a publish would spoil the trial that is under way: a 409

`str()` of each is a sentence that a person can act on.
"""


class SiarError(Exception):
    """The root: everything that Siar itself reports."""


class Malformed(SiarError):
    """Input does not have the form that it must have."""


class MalformedPosition(Malformed):
    """A position is not of the form `<epoch>.<offset>`."""


class MalformedFrame(Malformed):
    """A peer sent bytes that break the protocol it speaks."""

    def __init__(self, sentence: str, *, close_code: int = 1002) -> None:
        super().__init__(sentence)
        self.close_code = close_code
        """What a WebSocket's close frame says of it (RFC 6455, section 7.4.1); 1002 is "protocol error"."""


class Unknown(SiarError):
    """A name (run, trial, device) stands for nothing here."""


class Conflict(SiarError):
    """The request is right in form but cannot be served in the present state."""


class Unfit(SiarError):
    """This machine or its set-up cannot do what was asked."""


class SettingError(SiarError):
    """A setting is unknown, or its value is impossible."""


class StoreError(SiarError):
    """A run folder or a durable history is damaged, foreign, or of another version."""


class TooLong(SiarError):
    """A request or a notification is longer than it may be."""


class NotKept(SiarError):
    """The durable history could not take what was to be published, so none of it was."""


class BrokerAway(SiarError):
    """The broker that several servers share does not answer. What was asked of it may have been carried out."""
