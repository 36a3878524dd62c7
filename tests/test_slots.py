from turnwise.activities import Slots


def test_of_turns_that_are_scheduled_in_the_same_moment_no_more_than_fit_start_at_once() -> None:
    slots = Slots(2)
    with slots.taken("first"):
        assert [slots.promise("second"), slots.promise("third")] == [True, False]


def test_a_promised_slot_is_taken_by_its_own_run_alone() -> None:
    slots = Slots(3)
    slots.promise("first")
    with slots.taken("another"):
        assert [slots.promise("second"), slots.promise("third")] == [True, False]


def test_a_slot_is_free_again_when_its_turn_has_ended() -> None:
    slots = Slots(1)
    assert slots.promise("first")
    with slots.taken("first"):
        assert not slots.promise("second")
    assert slots.promise("second")


def test_a_promise_that_no_turn_takes_up_does_not_hold_a_slot_for_ever() -> None:
    moments = iter([0.0, 0.9, 1.1])
    slots = Slots(1, lambda: next(moments))
    assert [slots.promise("first"), slots.promise("second"), slots.promise("third")] == [True, False, True]
