"""Replacing the plan of a draft, and deleting campaigns with all that is stored of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import func, select

from crowdveil.campaign.selection import Selection
from crowdveil.errors import InputError
from crowdveil.store import (
    Campaign,
    ChangedBy,
    Store,
    StoredEstimate,
    add_invites,
    add_operator,
    add_reports,
    close_round,
    create_campaign,
    delete_campaign,
    finish_panel,
    get_campaign,
    list_activity,
    open_round,
    open_store,
    replace_plan,
    save_estimate,
    save_selection,
    set_state,
    share_campaign,
    take_seat,
    withdraw,
)
from crowdveil.store.schema import metadata
from tests.store.campaign import NAME, NOTICE, SEED, all_accepted, drafted, hashed, policy, report, seated, started

ANN = ChangedBy("ann", 77)


def rows_of(store: Store, campaign: str) -> dict[str, int]:
    """How many rows each table has of a campaign, of those that have any; the log is not among them."""
    found = {}
    with store.reading() as connection:
        for table in metadata.sorted_tables:
            column = table.c.get("campaign", table.c.get("id") if table.name == "campaigns" else None)
            if column is not None and table.name != "activity":
                found[table.name] = connection.execute(select(func.count()).where(column == campaign)).scalar_one()
    return {name: count for name, count in found.items() if count}


def chosen(participants: list[int]) -> Selection:
    people = len(participants)
    nowhere = np.zeros(people, dtype=np.int64)
    return Selection(np.array(participants), np.zeros(people), nowhere, np.zeros(people, dtype=bool), (0,))


def finished(store: Store, name: str = NAME, people: int = 4) -> None:
    """A campaign with rows in every table."""
    started(store, name=name)
    add_operator(store, f"{name}-viewer", hashed(name))
    assert share_campaign(store, name, f"{name}-viewer", ANN) is None
    add_invites(store, name, [hashed("unused")])
    seats = seated(store, people, name)
    assert all_accepted(store, [report(seat, 1, name) for seat in seats[:-1]])
    wrong = report(seats[-1], 1, name)._replace(policy_hash=hashed("another"))
    assert add_reports(store, [wrong]) == ["wrong-policy"]
    close_round(store, name, 0)
    save_estimate(store, name, 0, StoredEstimate((1.0,), (1.0,), 0.0, None, None))
    set_state(store, name, "closed")
    save_selection(store, name, chosen([seats[0].participant]), rounds=1, made=99)


# --- the plan of a draft --------------------------------------------------------------------------------------


def replaced(store: Store, plan: str, terms: str, panel: bool = False) -> tuple[Campaign, int]:
    return replace_plan(
        store, NAME, plan, terms=terms, offer="Tea", seed="f" * 64, enrolment="invite", panel=panel, by=ANN
    )


def test_a_drafts_plan_is_replaced_with_all_that_follows_from_it(store: Store) -> None:
    before = drafted(store)
    found, deleted = replaced(store, '{"plan":2}', '{"terms":2}', panel=True)
    assert deleted == 0
    assert found == get_campaign(store, NAME) != before
    assert (found.plan, found.terms, found.offer, found.seed) == ('{"plan":2}', '{"terms":2}', "Tea", "f" * 64)
    assert (found.enrolment, found.panel, found.state, found.created) == ("invite", True, "draft", before.created)
    assert [(one.operator, one.action) for one in list_activity(store, at_most=9)] == [("ann", "plan-replaced")]


def test_invites_are_deleted_only_with_the_terms_that_they_name(store: Store) -> None:
    drafted(store, enrolment="invite")
    add_invites(store, NAME, [hashed(one) for one in range(3)], rounds=2)
    assert replaced(store, '{"plan":2}', '{"terms":1}')[1] == 0
    assert rows_of(store, NAME) == {"campaigns": 1, "invites": 6}
    assert replaced(store, '{"plan":2}', '{"terms":2}')[1] == 0  # the plan that it has changes nothing
    assert rows_of(store, NAME) == {"campaigns": 1, "invites": 6}
    assert replaced(store, '{"plan":3}', '{"terms":2}')[1] == 3
    assert rows_of(store, NAME) == {"campaigns": 1}
    told = [one.detail for one in reversed(list_activity(store, at_most=9))]
    assert told == ["", "3 invites deleted"]


def test_invites_are_not_made_for_terms_that_were_replaced_meanwhile(store: Store) -> None:
    before = drafted(store, enrolment="invite")
    replaced(store, '{"plan":2}', '{"terms":2}')
    with pytest.raises(InputError, match="plan = 'coffee': was replaced by another operator just now"):
        add_invites(store, NAME, [hashed(1)], terms=before.terms)
    assert "invites" not in rows_of(store, NAME)
    assert add_invites(store, NAME, [hashed(1)], terms='{"terms":2}') is None


def test_only_a_drafts_plan_is_replaced(store: Store) -> None:
    before = drafted(store)
    set_state(store, NAME, "open")
    for plan in ('{"plan":2}', before.plan):
        with pytest.raises(InputError, match="state = 'open': should be draft"):
            replaced(store, plan, '{"terms":2}')
    found = get_campaign(store, NAME)
    assert found is not None
    assert found.plan == before.plan


# --- deleting -------------------------------------------------------------------------------------------------


def test_a_deleted_draft_leaves_nothing_and_its_id_is_free(store: Store) -> None:
    drafted(store, enrolment="invite")
    add_invites(store, NAME, [hashed(1)])
    delete_campaign(store, NAME, ANN)
    assert rows_of(store, NAME) == {}
    assert [(one.action, one.detail) for one in list_activity(store, at_most=9)] == [("campaign-deleted", "was draft")]
    drafted(store)
    assert rows_of(store, NAME) == {"campaigns": 1}


def test_a_finished_campaign_is_deleted_with_all_its_rows_and_no_others(store: Store) -> None:
    finished(store)
    finished(store, "other")
    every = {table.name for table in metadata.sorted_tables if "campaign" in table.c} - {"activity"}
    before = rows_of(store, "other")
    assert rows_of(store, NAME).keys() == every | {"campaigns"}
    delete_campaign(store, NAME, ANN)
    assert rows_of(store, NAME) == {}
    assert rows_of(store, "other") == before
    assert list_activity(store, at_most=1)[0][2:] == ("ann", "campaign-deleted", NAME, "was finished")


def test_the_id_of_a_campaign_that_was_started_is_never_used_again(store: Store) -> None:
    finished(store)
    delete_campaign(store, NAME)
    with pytest.raises(InputError, match=r"belonged to a campaign that was deleted.* choose another id"):
        drafted(store)
    assert take_seat(store, NAME, hashed(0)) == "not-found"
    assert withdraw(store, NAME, hashed(0)) == "unknown-participant"
    with pytest.raises(InputError, match="campaign = 'coffee': was not found"):
        delete_campaign(store, NAME)
    with pytest.raises(InputError, match="campaign = 'coffee': was not found"):
        add_invites(store, NAME, [hashed(1)])


def test_what_runs_is_not_deleted_and_the_refusal_says_what_to_do(store: Store) -> None:
    started(store)
    for state in ("open", "paused"):
        set_state(store, NAME, state)
        with pytest.raises(InputError, match=f"state = '{state}': .*; close the campaign first"):
            delete_campaign(store, NAME)
    close_round(store, NAME, 0)
    set_state(store, NAME, "closed")
    with pytest.raises(InputError, match="it will be finished in a moment"):
        delete_campaign(store, NAME)


def test_the_first_time_at_which_a_campaign_finished_is_kept(store: Store) -> None:
    finished(store)
    found = get_campaign(store, NAME)
    assert found is not None
    assert found.finished == 99
    create_campaign(store, "panel", "{}", terms="{}", offer="", seed=SEED, created=1, panel=True)
    set_state(store, "panel", "open")
    set_state(store, "panel", "closed")
    for at in (5, 6):
        assert finish_panel(store, "panel", at=at).finished == 5


def test_a_new_campaign_with_a_free_id_does_not_show_what_was_logged_of_the_old_one(store: Store) -> None:
    for name in ("ann", "bob"):
        add_operator(store, name, hashed(name))

    def create(by: str, created: int) -> None:
        create_campaign(store, NAME, "{}", terms="{}", offer="", seed=SEED, created=created, operator=by)

    create("ann", 5)
    delete_campaign(store, NAME, ChangedBy("ann", 6))
    create("bob", 7)

    def seen(by: str) -> list[int]:
        return [one.at for one in list_activity(store, at_most=9, seen_by=by) if one.campaign == NAME]

    assert (seen("bob"), seen("ann")) == ([7], [6, 5])


@pytest.mark.parametrize("meanwhile", ["report", "seat", "round", "delete", "invite"])
def test_what_comes_while_a_campaign_is_deleted_finds_it_or_nothing(store: Store, url: str, meanwhile: str) -> None:
    def late(other: Store) -> object:
        seat = seats[0]
        wrong = report(seat, 1)._replace(policy_hash=hashed("another"))
        asked: dict[str, Callable[[], object]] = {
            "report": lambda: add_reports(other, [wrong]),
            "seat": lambda: take_seat(other, NAME, hashed("late")),
            "round": lambda: open_round(other, NAME, 1, policy(), notice=NOTICE),
            "delete": lambda: delete_campaign(other, NAME),
            "invite": lambda: add_invites(other, NAME, [hashed("late")]),
        }
        try:
            return asked[meanwhile]()
        except InputError as error:
            return str(error)

    started(store)
    seats = seated(store, 2)
    assert all_accepted(store, [report(seat, 1) for seat in seats])
    close_round(store, NAME, 0)
    set_state(store, NAME, "closed")
    save_selection(store, NAME, chosen([seats[0].participant]), rounds=1)
    with open_store(url) as other, ThreadPoolExecutor(2) as both:
        for done in (both.submit(late, other), both.submit(delete_campaign, store, NAME)):
            if meanwhile != "delete":
                done.result()
    assert rows_of(store, NAME) == {}
