"""`crowdveil device`: says what would leave, asks, sends once; the ledger remembers, can be seen, and can be moved."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from math import log
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crowdveil.area import Area
from crowdveil.cli import app
from crowdveil.client import InviteLink, Ledger, PrivacyLimits
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import HttpTransport
from crowdveil.server.local import LocalServer
from crowdveil.wire import RoundNotice, new_private_key, public_key
from tests.cli.helpers import Run, refused
from tests.limits.some_terms import some_terms

HOME = "cell,probability\n12,0.9\n3,0.2\n"
MINE = ("--ledger", "mine.ledger")


@pytest.fixture
def join(run: Run, campaign: str) -> Run:
    """Join the campaign with a profile and a ledger in this folder, which is made if it is missing."""
    Path("profile.csv").write_text(HOME)

    def invoke(*arguments: str | Path) -> Result:
        if not Path("mine.ledger").exists():
            assert run("device", "create", *MINE).exit_code == 0
        where = () if "--data" in arguments else ("--profile", "profile.csv")
        return run("device", "join", campaign, *MINE, *where, *arguments)

    return invoke


def test_a_device_says_what_would_leave_then_joins_once(join: Run, run: Run, campaign: str) -> None:
    first = join("--yes")
    assert first.exit_code == 0, first.stderr
    for said in ("asks for one answer", "which you visit regularly", "at most 31 % sure", "allows 2 more campaigns"):
        assert said in first.stderr
    assert "ε₀" not in first.stderr
    assert "state: acknowledged" in first.stdout
    again = join("--yes", "--verbose")
    assert again.exit_code == 0
    assert "asks for one answer" not in again.stderr
    assert again.stdout == first.stdout
    sent = run("device", "sent", *MINE)
    assert "You have answered 1 campaign and used 34 % of your limit" in sent.stdout
    assert f"{campaign} at http://127.0.0.1" in sent.stdout
    assert "ε₀: 4.15888 of 12.4766" in run("device", "sent", *MINE, "--verbose").stdout
    assert "state: reported" in run("device", "status", campaign, *MINE).stdout


def test_explaining_sends_nothing_and_shows_the_figures_if_asked(join: Run, run: Run, campaign: str) -> None:
    Path("profile.csv").write_text("cell,probability\n12,0.9\n3,0.9\n17,0.9\n")
    run("device", "create", *MINE)
    told = {run("device", "explain", campaign, *MINE, "--profile", "profile.csv").stdout for _ in range(4)}
    kept = "The place that was picked earlier is kept; what you name now does not change it.\n"
    assert {text.removeprefix(kept) for text in told} == {min(told, key=len)}  # the place is picked once
    assert len(told) == 2
    verbose = run("device", "explain", campaign, *MINE, "--profile", "profile.csv", "--verbose").stdout
    assert verbose.startswith(max(told, key=len).rstrip())
    assert "never more than 2ε₀" in verbose
    assert "You have answered no campaign" in run("device", "sent", *MINE).stdout


@pytest.mark.parametrize(
    ("day", "latitude", "longitude", "said"),
    [
        ("2034-01-01", 40.72, -73.975, "none lies in the 364 days from"),
        ("2009-01-01", 40.72, -73.975, "they lie between 2009-01-01 and 2009-01-03"),
        ("2012-05-20", -73.975, 40.72, "some would with latitude and longitude exchanged"),
    ],
)
def test_traces_that_tell_nothing_are_refused_before_a_place_is_picked(
    run: Run, campaign: str, day: str, latitude: float, longitude: float, said: str
) -> None:
    run("device", "create", *MINE)
    first = datetime.fromisoformat(day)

    def trace(latitude: float, longitude: float, first: datetime) -> Path:
        rows = [f"me,{first + timedelta(days=n)}Z,{latitude},{longitude}\n" for n in range(3)]
        Path("my.csv").write_text("user,time,latitude,longitude\n" + "".join(rows))
        return Path("my.csv")

    now = ("--today", "2012-05-25")
    for verb in ("explain", "join"):
        wrong = run("device", verb, campaign, *MINE, "--data", trace(latitude, longitude, first), *now)
        refused(wrong, "visits = '3 visits'", said, "Nothing was picked or kept")
    right = trace(40.72, -73.975, datetime(2012, 5, 20))
    told = run("device", "explain", campaign, *MINE, "--data", right, *now)
    assert "which you visit" in told.stdout, told.stderr
    again = run("device", "explain", campaign, *MINE, "--data", trace(latitude, longitude, first), *now)
    assert (
        again.stdout
        == f"The place that was picked earlier is kept; what you name now does not change it.\n{told.stdout}"
    )


def test_a_device_that_was_elsewhere_is_outside_and_odd_visits_are_left_out(run: Run, campaign: str) -> None:
    run("device", "create", *MINE)
    elsewhere = [f"me,2012-05-{day:02}T12:00:00Z,48.1,11.5\n" for day in range(1, 23)]
    old = "me,1970-01-02T00:00:00Z,48.1,11.5\n"
    Path("my.csv").write_text("".join(["user,time,latitude,longitude\n", *elsewhere, elsewhere[0], old]))
    told = run("device", "explain", campaign, *MINE, "--data", "my.csv", "--today", "2012-05-25")
    assert "You do not appear to have been in this area." in told.stdout
    for said in ("dates far from all others: 1970-01-02", 'keep "outlying-dates"'):
        assert said in told.stderr
    keep = ("--keep", "outlying-dates")
    assert "They are kept" in run("device", "explain", campaign, *MINE, "--data", "my.csv", *keep).stderr


def test_nothing_is_sent_unless_its_owner_agrees(run: Run, campaign: str) -> None:
    Path("profile.csv").write_text(HOME)
    run("device", "create", *MINE)
    arguments = ["device", "join", campaign, *MINE, "--profile", "profile.csv"]
    for answer in ("n\n", "\n", ""):
        declined = CliRunner().invoke(app, arguments, input=answer)
        assert declined.exit_code == 2
        assert "Send this reply?" in declined.stderr
        assert f"You declined to answer campaign {campaign}. This phone sent nothing" in declined.stderr
    assert "You have answered no campaign" in run("device", "sent", *MINE).stdout
    agreed = CliRunner().invoke(app, arguments, input="y\n")
    assert agreed.exit_code == 0, agreed.stderr


def test_people_are_told_how_regular_they_are_and_whether_they_are_here(join: Run) -> None:
    Path("profile.csv").write_text("cell,probability\n12,0.3\n")
    joined = join("--yes")
    assert joined.exit_code == 0, joined.stderr
    assert "which you visit occasionally" in joined.stderr
    assert (
        "If you are likely to visit a place that the organiser asks about, your phone reports from it" in joined.stderr
    )


def link_of(server: str, campaign: str) -> InviteLink:
    with HttpTransport(server) as transport:
        announced = ParticipantClient(transport, RetryPolicy(), lambda _: None).campaign(campaign)
    assert announced.notice is not None
    return InviteLink(server, campaign, None, announced.terms.server_key, announced.terms.hash)


def test_a_link_names_the_server_and_what_it_has_to_show(run: Run, campaign: str, service: LocalServer) -> None:
    Path("profile.csv").write_text(HOME)
    run("device", "create", *MINE)
    link = link_of(service.url, campaign)
    elsewhere = ("--server", "http://127.0.0.1:1")
    for wrong in (InviteLink(link.server, campaign, None, "0" * 64, link.terms_hash), "#"):
        text = wrong if isinstance(wrong, str) else wrong.format()
        figures = None if isinstance(wrong, str) else "Expected 000000000000, found"
        refused(run("device", "join", text, *MINE, "--profile", "profile.csv", "--yes"), "link", figures=figures)
    for torn in (link.format()[:-3], link.format().partition("#")[0], link.format().partition("&")[0]):
        told = "the link is incomplete: copy all of it"
        refused(run("device", "join", torn, *MINE, "--profile", "profile.csv", "--yes"), told)
    joined = run("device", "join", link.format(), *MINE, "--profile", "profile.csv", "--yes", *elsewhere)
    assert joined.exit_code == 0, joined.stderr


def test_leaving_is_possible_until_the_round_is_closed(join: Run, run: Run, campaign: str) -> None:
    join("--yes")
    left = run("device", "leave", campaign, *MINE)
    assert left.exit_code == 0, left.stderr
    assert "the server has forgotten this device's answer" in left.stdout
    assert "left; the server has deleted the answer" in run("device", "sent", *MINE).stdout
    refused(join("--yes"), f"You left campaign {campaign}")
    refused(run("device", "status", campaign, *MINE), f"You left campaign {campaign}, so you cannot be selected in it")
    refused(run("device", "leave", "nowhere", *MINE), "this device has not joined it on this server")


def test_excluded_places_are_listed_and_included_again_on_purpose(
    join: Run, run: Run, area: Path, campaign: str
) -> None:
    run("device", "create", *MINE)
    latitude, longitude = (axis[12] for axis in Area.load(area).centres())
    assert run("device", "exclude", f"{latitude:.4f}:{longitude:.4f}", *MINE, "--radius-km", "0.4").exit_code == 0
    assert "40.72:-73.975" in run("device", "excluded", *MINE).stdout
    told = run("device", "explain", campaign, *MINE, "--profile", "profile.csv").stdout
    assert "which you visit now and then" in told  # cell 3 is left
    refused(run("device", "include-again", "7", *MINE), "place = 7")
    refused(run("device", "exclude", "40.7", *MINE), "place = '40.7'", "should be latitude:longitude, such as")
    south = run("device", "exclude", "-33.9:151.2", *MINE)
    assert south.exit_code == 0, south.stderr
    assert "-33.9:151.2" in run("device", "excluded", *MINE).stdout
    assert run("device", "include-again", "2", *MINE).exit_code == 0
    refused(run("device", "exclude", "91:0", *MINE), "latitude = 91")
    (number,) = Ledger("mine.ledger").excluded()
    assert run("device", "include-again", str(number), *MINE).exit_code == 0
    assert Ledger("mine.ledger").excluded() == {}


def test_a_ledger_moves_to_another_device(join: Run, run: Run, campaign: str) -> None:
    join("--yes")
    moved = run("device", "export", "moved.json", *MINE)
    assert moved.exit_code == 0, moved.stderr
    assert json.loads(Path("moved.json").read_text())["format"] == "crowdveil-ledger"
    assert "no longer answers" in run("device", "sent", *MINE).stderr
    new = run("device", "import", "moved.json", "--ledger", "phone.ledger")
    assert new.exit_code == 0, new.stderr
    assert "You have answered 1 campaign" in new.stdout
    assert "Delete moved.json now" in new.stderr
    refused(run("device", "import", "moved.json", "--ledger", "phone.ledger"), "a ledger exists already")
    refused(run("device", "limits", *MINE, "--min-cells", "20"), "moved to another device")
    assert "state: reported" in run("device", "status", campaign, "--ledger", "phone.ledger").stdout


def test_notices_are_saved_and_compared_and_a_split_view_is_found(join: Run, run: Run, campaign: str) -> None:
    join("--yes")
    shown = run("device", "notices", *MINE, "--out", "mine.json")
    assert shown.exit_code == 0, shown.stderr
    assert campaign in shown.stdout
    agree = run("device", "notices", *MINE, "--compare", "mine.json")
    assert agree.exit_code == 0
    assert "1 notices of others agree with yours" in agree.stderr
    key = new_private_key()
    terms = some_terms(private_key=key)
    lies = [RoundNotice.of(terms, 0, digit * 64, key).model_dump(mode="json") for digit in "ab"]
    Path("theirs.json").write_text(json.dumps([{"server_key": public_key(key), "notice": lie} for lie in lies]))
    split = run("device", "notices", *MINE, "--compare", "theirs.json")
    assert split.exit_code == 3
    assert "signed two different notices for campaign noise" in split.stderr
    forged = {**lies[0], "policy_hash": "c" * 64}
    Path("theirs.json").write_text(
        json.dumps([{"server_key": public_key(key), "notice": n} for n in (lies[0], forged)])
    )
    assert run("device", "notices", *MINE, "--compare", "theirs.json").exit_code == 0  # an unsigned one proves nothing
    for text in ("[1]", "{}", "["):
        Path("theirs.json").write_text(text)
        refused(run("device", "notices", *MINE, "--compare", "theirs.json"), "theirs.json")


def test_visits_are_those_of_one_person_in_recent_weeks(join: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    days = [(now - timedelta(days=3 + day)).isoformat() for day in range(60)]
    lines = [f"{user},{day},40.72,-73.975" for user in ("ann", "bob") for day in days]
    Path("visits.csv").write_text("user,time,latitude,longitude\n" + "\n".join(lines))
    refused(join("--yes", "--data", "visits.csv"), "--user is missing", "2 people", "'ann'")
    refused(join("--yes", "--data", "visits.csv", "--user", "eve"), "user = 'eve'", "should be one of the 2 people")
    joined = join("--yes", "--data", "visits.csv", "--user", "bob")
    assert joined.exit_code == 0, joined.stderr
    assert "Your phone will answer at random." in joined.stderr


def test_a_phones_own_exports_are_read(join: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    times = [(now - timedelta(days=3 + day)).isoformat() for day in range(60)]
    points = "".join(f'<trkpt lat="40.72" lon="-73.975"><time>{time}</time></trkpt>' for time in times)
    Path("track.gpx").write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    joined = join("--yes", "--data", "track.gpx", "--format", "gpx")
    assert joined.exit_code == 0, joined.stderr
    assert "Your phone will answer at random." in joined.stderr
    refused(join("--yes", "--data", "track.gpx", "--format", "timeline"), "track.gpx", "Google Timeline")


def test_old_visits_count_on_the_day_that_is_named(join: Run) -> None:
    Path("visits.csv").write_text(
        "user,time,latitude,longitude\n"
        + "".join(f"ann,2012-05-{day:02}T12:00:00Z,40.72,-73.975\n" for day in range(1, 29))
    )
    refused(join("--yes", "--data", "visits.csv", "--today", "then"), "today = 'then'", "2024-01-31")
    joined = join("--yes", "--data", "visits.csv", "--today", "2012-05-30")
    assert joined.exit_code == 0, joined.stderr
    assert "which you visit regularly" in joined.stderr


def test_an_owners_limits_refuse_before_the_server_hears_of_the_device(join: Run, run: Run, campaign: str) -> None:
    for number, (option, value, said) in enumerate(
        (
            ("--max-epsilon-per-km", "ln2", "could learn more about your place than your limit allows"),
            ("--max-null-epsilon", "ln2", "whether you are ever in this area"),
            ("--max-grade-epsilon", "ln2", "how regularly you visit a place"),
            ("--total-epsilon-per-km", "1", "This campaign would take you past your limit"),
            ("--total-null-epsilon", "1", "This campaign would take you past your limit"),
            ("--min-cell-km", "2", "finer than your limit allows"),
            ("--max-gap-km", "0.5", "would identify you"),
            ("--min-cells", "26", "too few to hide among; your limit is 26"),
            ("--min-cells-near", "9", "so few others near it"),
            ("--min-delta", "0.6", "cannot tell from chance"),
        )
    ):
        ledger = ("--ledger", f"{number}.ledger")
        made = run("device", "create", *ledger, option, value)
        assert made.exit_code == 0, made.stderr
        figures = None if option == "--min-cells" else ""
        refused(run("device", "join", campaign, *ledger, "--profile", "profile.csv", "--yes"), said, figures=figures)
        assert "You have answered no campaign" in run("device", "sent", *ledger).stdout
    assert join("--yes").exit_code == 0


def test_limits_are_kept_shown_and_changed(run: Run) -> None:
    made = run("device", "create", *MINE, "--max-epsilon-per-km", "ln2", "--span", "twelve-months")
    assert made.exit_code == 0, made.stderr
    assert "place, one answer: ε = 0.693147 per km" in made.stdout
    assert "place, all answers: ε = 2.07944 per km" in made.stdout
    assert "sums run over: any twelve months" in made.stdout
    changed = run("device", "limits", *MINE, "--clear-reports", "2", "--least-charge", "0.2")
    assert "answers in the clear: 2" in changed.stdout
    expected = PrivacyLimits(
        epsilon_per_km=log(2),
        total_epsilon_per_km=3 * log(2),
        span="twelve-months",
        clear_reports=2,
        least_charge=0.2,
    )
    assert Ledger("mine.ledger").limits() == expected
    refused(run("device", "limits", *MINE, "--min-cells", "few"), "min_cells = 'few'")
    refused(run("device", "limits", *MINE, "--max-gap-km", "far"), "max_gap_km = 'far'")
    refused(run("device", "limits", *MINE, "--max-gap-km", "-1"), "gap_km = -1.0")
    assert Ledger("mine.ledger").limits() == expected


def test_a_ledger_is_begun_on_purpose_only(run: Run, campaign: str) -> None:
    Path("profile.csv").write_text(HOME)
    lost = ("--ledger", "lost.ledger")
    arguments = ["device", "join", campaign, *lost, "--profile", "profile.csv", "--yes"]
    refused(run(*arguments), "lost.ledger: not found", "device create")
    refused(run("device", "create", *lost, "--already-spent", "-1"), "already spent epsilon_per_km = -1.0")
    refused(run("device", "create", *lost, "--already-spent", "1", "--lost"), "can't be combined with --lost")
    assert run("device", "create", *lost, "--already-spent", "3", "--already-spent-null", "ln2").exit_code == 0
    past = "this report would add 1.38629"
    refused(run(*arguments), "past your limit", "used 73 % of your limit", figures=past)
    refused(run("device", "create", *lost), "a ledger exists already")
    refused(run("device", "status", campaign, *lost), "this device has not joined it on this server")
    refused(run("device", "sent", "--ledger", "nowhere"), "nowhere: not found")
    refused(run("device", "sent", "--ledger", "profile.csv"), "profile.csv: is not a ledger")
    assert run("device", "create", *MINE, "--lost").exit_code == 0
    refused(
        run("device", "join", campaign, *MINE, "--profile", "profile.csv", "--yes"),
        "before this record began",
        figures=past,
    )


def test_profiles_that_are_none_are_refused(join: Run) -> None:
    for text, said in (
        ("cell,probability\n12,1.5\n", "probability = 1.5"),
        ("cell,probability\n1.5,0.5\n", "cell = 1.5"),
        ("cell,probability\n3,0.5\n3,0.5\n", "cell = 3: is named twice"),
        ("cell,probability\n99,0.5\n", "profile"),
    ):
        Path("profile.csv").write_text(text)
        refused(join("--yes"), said)
    refused(join("--yes", "--user", "ann"), "user = 'ann'", "can't be combined with --profile")


def test_a_campaign_that_is_not_there_is_one_line(run: Run, campaign: str) -> None:
    Path("profile.csv").write_text(HOME)
    run("device", "create", *MINE)
    refused(run("device", "join", "nowhere", *MINE, "--profile", "profile.csv", "--yes"), "not-found")
