"""Equal periods fall due in the order in which they began."""

from app.server.transports.socket_io.engine.timer import Deadlines


def test_items_are_due_after_their_period_in_the_order_in_which_they_came() -> None:
    deadlines: Deadlines[str] = Deadlines(100)
    assert deadlines.add("first", 0) == 100
    assert deadlines.add("second", 30) == 130
    deadlines.add("third", 31)

    assert list(deadlines.take(99)) == []
    assert list(deadlines.take(130)) == [(100, "first"), (130, "second")]
    assert list(deadlines.take(130)) == []
    assert list(deadlines.take(1000)) == [(131, "third")]


def test_what_is_added_while_taking_has_its_own_time() -> None:
    deadlines: Deadlines[str] = Deadlines(100)
    deadlines.add("once", 0)
    taken = []

    for _due_us, item in deadlines.take(500):
        taken.append(item)
        deadlines.add("again", 500)

    assert taken == ["once"]
    assert deadlines.next_due_us(10_000) == 600


def test_the_next_one_is_due_no_later_than_asked() -> None:
    deadlines: Deadlines[str] = Deadlines(100)
    assert deadlines.next_due_us(77) == 77

    deadlines.add("item", 0)

    assert deadlines.next_due_us(77) == 77
    assert deadlines.next_due_us(777) == 100
