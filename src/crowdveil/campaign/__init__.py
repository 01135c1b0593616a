"""Run a campaign as pure state transitions, without I/O, clock or randomness.

plan            what an operator fixes before the start
state           rounds: what is learned from each, who is selected in the end
quota           how large a share of the next round should select
next_policy     which policy comes next
request         what a selection is asked for, and how often one person may be chosen
groups          those who sent the same symbol, and their chance of coming to each target
assignment      how many of each group go to each place, so that the most come
selection       who is selected from given reports, and the lottery among equals
forecast        people expected at each place, before the start and while the campaign runs
knowledge       what an operator knows beforehand, and crowds that would agree with it
prediction      a forecast with intervals that hold although nobody knows where people are
people_needed   backwards: how many people to ask, at which ε, so that so many come to each place
year            a year ahead: a panel with how many reports, against fresh reports or a split limit
capacity        how many people each place of a panel can be given, and which places it should have
afterwards      planned, estimated, and why they differ
preview         what a plan promises, beside what it would promise with other numbers
audit           repeats a finished campaign from its public record
from_wire       from an operator's message to a plan
"""

from crowdveil.campaign.afterwards import PlanComparison, Reason, compare_with_plan
from crowdveil.campaign.capacity import PlaceCapacity, PlacesAdvice, advise_places, place_capacities
from crowdveil.campaign.forecast import Expected, Forecast, PlaceForecast, expected_coverage, forecast
from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.next_policy import next_policy
from crowdveil.campaign.people_needed import PeopleNeeded, people_needed
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.prediction import LikelyRange, PossibleCampaigns, Prediction, possible_campaigns, predict
from crowdveil.campaign.preview import CoverForecast, compare_covers, preview_state
from crowdveil.campaign.quota import quota, quotas, reporting_share
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import Event, RoundClosed, RoundOpened, State, advance, begin, resume, select
from crowdveil.campaign.year import FADING_PER_WEEK, YearOption, year_ahead
from crowdveil.vocabulary import Algorithm, Cover

__all__ = [
    "FADING_PER_WEEK",
    "Algorithm",
    "Cover",
    "CoverForecast",
    "Event",
    "Expected",
    "Forecast",
    "Knowledge",
    "LikelyRange",
    "PeopleNeeded",
    "PlaceCapacity",
    "PlaceForecast",
    "PlacesAdvice",
    "Plan",
    "PlanComparison",
    "PossibleCampaigns",
    "Prediction",
    "Reason",
    "Reports",
    "RoundClosed",
    "RoundOpened",
    "Selection",
    "SelectionRequest",
    "State",
    "YearOption",
    "advance",
    "advise_places",
    "begin",
    "compare_covers",
    "compare_with_plan",
    "expected_coverage",
    "forecast",
    "next_policy",
    "people_needed",
    "place_capacities",
    "possible_campaigns",
    "predict",
    "preview_state",
    "quota",
    "quotas",
    "reporting_share",
    "resume",
    "select",
    "year_ahead",
]
