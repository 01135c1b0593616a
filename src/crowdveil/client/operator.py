"""Run campaigns on a server, and manage who else may: every request of an operator, over a device's transport."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal
from urllib.parse import quote

from crowdveil.client.retry import JSON, RetryingClient, RetryPolicy
from crowdveil.client.transport import HttpRequest, Transport
from crowdveil.codec import canonical_json
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.vocabulary import OperatorRole, Progress
from crowdveil.wire import (
    PROTOCOL,
    ActivityList,
    AuditRecord,
    CampaignList,
    CampaignPlan,
    CampaignView,
    Expectation,
    InviteRequest,
    Invites,
    Message,
    NewToken,
    OperatorList,
    OperatorView,
    PanelRequest,
    Preview,
    ReplacedPlan,
    RoleChange,
    SelectionList,
    SelectionView,
    SignedIn,
    StateChange,
    TokenList,
    TokenRequest,
)
from crowdveil.wire.operator import INVITES_PER_PERSON, MAX_INVITES

CSV = "text/csv"
OPERATOR_RETRY_POLICY = RetryPolicy(attempts=4, first_wait_s=0.25, longest_wait_s=4.0)
"""Shorter than a device's, because a person waits for the answer."""


class Operator(RetryingClient):
    """Run campaigns on a server; a refusal by the server is raised with its detail."""

    advice = "Is the server running, and is this its address?"

    def __init__(
        self,
        transport: Transport,
        token: str,
        *,
        retry_policy: RetryPolicy = OPERATOR_RETRY_POLICY,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(transport, retry_policy, sleep)
        if not (token.isascii() and token.isprintable() and token.strip() == token != ""):
            raise InputError("token", "...", "should be exactly the text that `crowdveil serve` printed")
        self._token = token
        self.url: str = getattr(transport, "url", "")
        """Address of the server."""

    def campaigns(self) -> CampaignList:
        """List the campaigns that this operator sees, oldest first."""
        return self.send(self._request("GET", "/campaigns"), CampaignList.from_bytes)

    def create(self, campaign: str, plan: CampaignPlan) -> CampaignView:
        """Create a campaign as a draft; the same request again changes nothing."""
        return self.send(self._request("PUT", _path(campaign), plan), CampaignView.from_bytes)

    def replace_plan(self, campaign: str, plan: CampaignPlan) -> ReplacedPlan:
        """Replace the plan of a draft; invites that name other terms are deleted, and the answer says how many."""
        return self.send(self._request("PUT", _path(campaign, "/plan"), plan), ReplacedPlan.from_bytes)

    def copy(self, source: str, new: str) -> CampaignView:
        """Create a draft with the plan of a campaign, which may be in any state; its lottery has a seed of its own.

        A campaign that is called by its id gives the copy the copy's id for a name.
        """
        plan = self.view(source).plan
        named = {"name": new} if plan.name == source else {}
        return self.create(new, plan.model_copy(update={"seed": None, **named}))

    def delete(self, campaign: str) -> None:
        """Delete a draft, or a finished campaign with all that is stored of it, for good."""
        self.send(self._request("DELETE", _path(campaign)), _nothing)

    def view(self, campaign: str) -> CampaignView:
        """Show a campaign, its rounds and the current estimate."""
        return self.send(self._request("GET", _path(campaign)), CampaignView.from_bytes)

    def set_state(self, campaign: str, state: Literal["open", "paused", "closed"]) -> CampaignView:
        """Start, resume, pause or close a campaign."""
        change = StateChange(protocol=PROTOCOL, state=state)
        return self.send(self._request("PUT", _path(campaign, "/state"), change), CampaignView.from_bytes)

    def invites(self, campaign: str, count: int) -> Invites:
        """Make invites, with what invite links name; the server cannot show the invites again."""
        request = InviteRequest.from_bytes(canonical_json({"protocol": PROTOCOL, "count": count}).encode())
        return self.send(self._request("POST", _path(campaign, "/invites"), request), Invites.from_bytes)

    def preview(self, plan: CampaignPlan) -> Preview:
        """Compute what to expect of a campaign; nothing is stored."""
        return self.send(self._request("POST", "/preview", plan), Preview.from_bytes)

    def expect(self, campaign: str, request: PanelRequest) -> Expectation:
        """Compute how many people to expect if a panel were asked; nobody is selected."""
        return self.send(self._request("POST", _path(campaign, "/expectation"), request), Expectation.from_bytes)

    def select(self, campaign: str, request: PanelRequest, number: int | None = None) -> SelectionView:
        """Ask a panel for people; `number` is that of the selection, from 0 (default: the next one).

        The same request under the same number returns the selection that was made, so that it can be sent again.
        """
        if number is None:
            number = len(self.selections(campaign).selections)
        path = _path(campaign, f"/selections/{number}")
        return self.send(self._request("PUT", path, request), SelectionView.from_bytes)

    def selections(self, campaign: str) -> SelectionList:
        """List the selections of a campaign, in the order in which they were made."""
        return self.send(self._request("GET", _path(campaign, "/selections")), SelectionList.from_bytes)

    def selection_csv(self, campaign: str, number: int = 0) -> str:
        """Return who was selected, in order, as CSV with the columns of `SelectionRow`."""
        return self.send(self._request("GET", _path(campaign, f"/selections/{number}"), accept=CSV), _text)

    def record(self, campaign: str) -> AuditRecord:
        """Return the audit record, from which every selection can be repeated."""
        return self.send(self._request("GET", _path(campaign, "/record")), AuditRecord.from_bytes)

    # --- operators, their tokens, and what they did ---------------------------------------------------------------

    def me(self) -> SignedIn:
        """Say who is signed in, in which role, with which token, and until when."""
        return self.send(self._request("GET", "/me"), SignedIn.from_bytes)

    def operators(self) -> OperatorList:
        """List all operators; only for owners."""
        return self.send(self._request("GET", "/operators"), OperatorList.from_bytes)

    def put_operator(self, name: str, role: OperatorRole) -> OperatorView:
        """Add an operator, who has no token yet, or change the role of one; only for owners."""
        change = RoleChange.from_bytes(canonical_json({"protocol": PROTOCOL, "role": role}).encode())
        return self.send(self._request("PUT", _operator_path(name), change), OperatorView.from_bytes)

    def remove_operator(self, name: str) -> None:
        """Remove an operator, whose tokens stop working; only for owners."""
        self.send(self._request("DELETE", _operator_path(name)), _nothing)

    def tokens(self, name: str) -> TokenList:
        """List the tokens of an operator by their ids; of others only for owners."""
        return self.send(self._request("GET", _operator_path(name, "/tokens")), TokenList.from_bytes)

    def make_token(self, name: str, days: int | None = None) -> NewToken:
        """Make a token, which the server cannot show again; for others only by owners."""
        asked = TokenRequest.from_bytes(canonical_json({"protocol": PROTOCOL, "days": days}).encode())
        return self.send(self._request("POST", _operator_path(name, "/tokens"), asked), NewToken.from_bytes)

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token by its id; it works nowhere from then on."""
        self.send(self._request("DELETE", f"/tokens/{quote(token_id, safe='')}"), _nothing)

    def share(self, campaign: str, name: str) -> CampaignView:
        """Let another operator see a campaign, and run it if they are a planner."""
        path = _path(campaign, f"/shares/{quote(name, safe='')}")
        return self.send(self._request("PUT", path), CampaignView.from_bytes)

    def unshare(self, campaign: str, name: str) -> CampaignView:
        """Take back a share."""
        path = _path(campaign, f"/shares/{quote(name, safe='')}")
        return self.send(self._request("DELETE", path), CampaignView.from_bytes)

    def activity(self, *, before: int | None = None, limit: int = 50) -> ActivityList:
        """List what operators did, the newest first, from the line before a number on."""
        earlier = "" if before is None else f"&before={before}"
        return self.send(self._request("GET", f"/activity?limit={limit}{earlier}"), ActivityList.from_bytes)

    # --- waiting, and many requests in one ------------------------------------------------------------------------

    def wait_until_open(self, campaign: str, *, timeout_s: float = 60.0, every_s: float = 0.2) -> CampaignView:
        """Wait until the first round has a policy, so that devices can join, until it fails, or the time is up."""
        give_up = time.monotonic() + timeout_s
        view = self.view(campaign)
        while not is_open(view) and view.failure is None and time.monotonic() < give_up:
            self._sleep(every_s)
            view = self.view(campaign)
        return view

    def wait_until_closed(
        self, campaign: str, number: int = 0, *, every_s: float = 1.0, progress: Progress | None = None
    ) -> CampaignView:
        """Wait until a round is closed, so that a panel can be asked."""
        while True:
            view = self.view(campaign)
            mine = [one for one in view.rounds if one.number == number]
            if progress is not None:
                progress(sum(one.accepted for one in mine), view.plan.users)
            if any(one.state == "closed" for one in mine):
                return view
            _check_goes_on(view)
            self._sleep(every_s)

    def wait_until_finished(
        self, campaign: str, *, every_s: float = 1.0, progress: Progress | None = None
    ) -> CampaignView:
        """Wait until people are selected; `progress` is called with the reports so far and the people invited."""
        while True:
            view = self.view(campaign)
            if progress is not None:
                progress(sum(one.accepted for one in view.rounds), view.plan.users)
            if view.state == "finished":
                return view
            _check_goes_on(view)
            self._sleep(every_s)

    def make_invites(self, campaign: str, count: int, *, progress: Progress | None = None) -> Invites:
        """Make many invites, in as many requests as that takes; see `invite_batches` for their largest number."""
        batches = list(self.invite_batches(campaign, count, progress=progress))
        return batches[-1].model_copy(update={"invites": tuple(one for batch in batches for one in batch.invites)})

    def invite_batches(self, campaign: str, count: int, *, progress: Progress | None = None) -> Iterator[Invites]:
        """Make many invites, and return those of each request before the next one is sent, so that none is lost.

        A campaign has at most 10 invites for each person who may take part.
        """
        if count < 1:
            raise InputError("count", count, "should be at least 1")
        at_most = INVITES_PER_PERSON * self.view(campaign).plan.users
        if count > at_most:
            raise InputError(
                "count",
                count,
                f"should be at most {at_most:,}: {INVITES_PER_PERSON} for each person who may take part",
            )
        made = 0
        while made < count:
            latest = self.invites(campaign, min(MAX_INVITES, count - made))
            made += len(latest.invites)
            if progress is not None:
                progress(made, count)
            yield latest

    def _request(self, method: str, path: str, message: Message | None = None, accept: str = JSON) -> HttpRequest:
        headers = {"accept": accept, "authorization": f"Bearer {self._token}"}
        if message is None:
            return HttpRequest(method, f"/v1/operator{path}", headers)
        return HttpRequest(method, f"/v1/operator{path}", {**headers, "content-type": JSON}, message.to_bytes())


def is_open(view: CampaignView) -> bool:
    """Say whether the first round has a policy."""
    return any(one.policy_hash for one in view.rounds)


def _check_goes_on(view: CampaignView) -> None:
    if view.failure is not None:
        raise CrowdveilError(f"campaign {view.campaign} cannot go on: {view.failure}. The server tries again by itself")


def _path(campaign: str, rest: str = "") -> str:
    return f"/campaigns/{quote(campaign, safe='')}{rest}"


def _operator_path(name: str, rest: str = "") -> str:
    return f"/operators/{quote(name, safe='')}{rest}"


def _nothing(_: bytes) -> None:
    return None


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("body", body[:40], "should be CSV in UTF-8") from None
