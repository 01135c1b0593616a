"""The front door: everything that a researcher needs in one import, from traces to a compared selection.

    import crowdveil as cv

    visits = cv.read_traces("visits.csv", zone="Europe/Berlin")
    result = cv.compare(visits, densest=3, seeds=20)
    result.to_frame()

`crowdveil` takes its public names from `__all__` below. Methods that draw are attached here to the values that they
draw, so that the rooms of policies and simulations need not know the room that draws.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdveil.area import OUTSIDE, Area, Grid, Hexagons, Plane, Points, Towers
from crowdveil.area.read_targets import read_targets
from crowdveil.area.targets import NamedTargets
from crowdveil.campaign import (
    FADING_PER_WEEK,
    CoverForecast,
    Event,
    Expected,
    Forecast,
    Knowledge,
    LikelyRange,
    PeopleNeeded,
    PlaceCapacity,
    PlaceForecast,
    PlacesAdvice,
    Plan,
    PlanComparison,
    PossibleCampaigns,
    Prediction,
    Reason,
    Reports,
    RoundClosed,
    RoundOpened,
    Selection,
    SelectionRequest,
    State,
    YearOption,
    advance,
    advise_places,
    begin,
    compare_covers,
    compare_with_plan,
    expected_coverage,
    forecast,
    next_policy,
    people_needed,
    place_capacities,
    possible_campaigns,
    predict,
    preview_state,
    quota,
    quotas,
    reporting_share,
    resume,
    select,
    year_ahead,
)
from crowdveil.certify import (
    AcceptedReport,
    Certificate,
    Witness,
    certify,
    certify_table,
    combined_loss,
    guess_bound,
    smallest_epsilon,
)
from crowdveil.draw import draw, draw_many
from crowdveil.errors import (
    CampaignRefused,
    CrowdveilError,
    FileFormatError,
    InputError,
    MissingExtraError,
    NotPrivateError,
    ServerUnreachable,
)
from crowdveil.extras import require_extra
from crowdveil.notebook import certificate_html, comparison_html, policy_html
from crowdveil.policy.baselines.blahut_arimoto import blahut_arimoto
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace, sample_planar_laplace
from crowdveil.policy.baselines.remapping import remapped_cells
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.peaks import Peaks
from crowdveil.policy.policy import Completion, Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.closure import least_policy
from crowdveil.policy.solver.completion import equal_columns
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.solver.stack import panel_policy, policy_per_target
from crowdveil.policy.theory.bounds import lemma2_bound, lemma5_bound
from crowdveil.policy.theory.closed_form import closed_form_for_quota, closed_form_hit
from crowdveil.policy.theory.theorem1 import theorem1_hit, theorem1_threshold
from crowdveil.prior import (
    Round,
    Smoothness,
    count_symbols,
    divergence,
    iterative_update,
    place_chances,
    pooled_estimate,
    posterior,
    target_chances,
)
from crowdveil.profile import (
    Counts,
    LogisticConstants,
    Periods,
    Profile,
    Roc,
    choose_half_life,
    count_visits,
    fit_logistic,
    frequency,
    logistic,
    poisson,
    profile_visits,
    recency,
    roc,
)
from crowdveil.profile.calibration import calibration
from crowdveil.profile.place import choose_graded_places, choose_place, choose_places
from crowdveil.simulate.campaign_run import CampaignResult, run_campaign
from crowdveil.simulate.compare import compare
from crowdveil.simulate.comparison import Comparison
from crowdveil.simulate.panel_run import PanelResult, run_panel
from crowdveil.simulate.simulation import METHODS
from crowdveil.traces import (
    ODDITIES,
    TRACE_FORMATS,
    Inspection,
    Visits,
    describe_visits,
    inspect_visits,
    read_traces,
    synthetic_visits,
)
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DELTA,
    DEFAULT_EPSILON_PER_KM,
    DEFAULT_ROUNDS,
    DEFAULT_SHARE_WANTED,
    NULL,
)

if TYPE_CHECKING:
    from crowdveil.client import Device, DeviceSettings, HttpTransport, Ledger, Operator, PrivacyLimits, RetryPolicy
    from crowdveil.wire import CampaignPlan, PanelRequest

__all__ = [
    "DEFAULT_CONFIDENCE",
    "DEFAULT_DELTA",
    "DEFAULT_EPSILON_PER_KM",
    "DEFAULT_ROUNDS",
    "DEFAULT_SHARE_WANTED",
    "FADING_PER_WEEK",
    "METHODS",
    "NULL",
    "ODDITIES",
    "OUTSIDE",
    "TRACE_FORMATS",
    "AcceptedReport",
    "Area",
    "CampaignPlan",
    "CampaignRefused",
    "CampaignResult",
    "Certificate",
    "Comparison",
    "Completion",
    "Counts",
    "CoverForecast",
    "CrowdveilError",
    "Device",
    "DeviceSettings",
    "Event",
    "Expected",
    "FileFormatError",
    "Forecast",
    "Grid",
    "Hexagons",
    "HttpTransport",
    "InputError",
    "Inspection",
    "Knowledge",
    "Ledger",
    "LikelyRange",
    "LogisticConstants",
    "MissingExtraError",
    "NamedTargets",
    "NotPrivateError",
    "Operator",
    "PanelRequest",
    "PanelResult",
    "Peaks",
    "PeopleNeeded",
    "Periods",
    "PlaceCapacity",
    "PlaceForecast",
    "PlacesAdvice",
    "Plan",
    "PlanComparison",
    "Plane",
    "Points",
    "Policy",
    "PossibleCampaigns",
    "Prediction",
    "PrivacyLimits",
    "Profile",
    "Reason",
    "Reports",
    "RetryPolicy",
    "Roc",
    "Round",
    "RoundClosed",
    "RoundOpened",
    "Selection",
    "SelectionRequest",
    "ServerUnreachable",
    "Smoothness",
    "State",
    "Towers",
    "Visits",
    "Witness",
    "YearOption",
    "advance",
    "advise_places",
    "begin",
    "blahut_arimoto",
    "calibration",
    "certify",
    "certify_table",
    "chances_of_grades",
    "choose_graded_places",
    "choose_half_life",
    "choose_place",
    "choose_places",
    "closed_form_for_quota",
    "closed_form_hit",
    "combined_loss",
    "compare",
    "compare_covers",
    "compare_with_plan",
    "count_symbols",
    "count_visits",
    "describe_visits",
    "divergence",
    "draw",
    "draw_many",
    "equal_columns",
    "expected_coverage",
    "exponential",
    "fit_logistic",
    "forecast",
    "frequency",
    "guess_bound",
    "identity",
    "inspect_visits",
    "iterative_update",
    "least_policy",
    "lemma2_bound",
    "lemma5_bound",
    "logistic",
    "minimum_beta",
    "next_policy",
    "optimal_policy",
    "panel_policy",
    "people_needed",
    "place_capacities",
    "place_chances",
    "planar_laplace",
    "poisson",
    "policy_per_target",
    "pooled_estimate",
    "possible_campaigns",
    "posterior",
    "predict",
    "preview_state",
    "profile_visits",
    "quota",
    "quotas",
    "read_targets",
    "read_traces",
    "recency",
    "remapped_cells",
    "reporting_share",
    "resume",
    "roc",
    "run_campaign",
    "run_panel",
    "sample_planar_laplace",
    "select",
    "smallest_epsilon",
    "synthetic_visits",
    "target_chances",
    "theorem1_hit",
    "theorem1_threshold",
    "year_ahead",
]

_LOADED_ON_USE = {
    "CampaignPlan": "crowdveil.wire",
    "Device": "crowdveil.client",
    "DeviceSettings": "crowdveil.client",
    "HttpTransport": "crowdveil.client",
    "Ledger": "crowdveil.client",
    "Operator": "crowdveil.client",
    "PanelRequest": "crowdveil.wire",
    "PrivacyLimits": "crowdveil.client",
    "RetryPolicy": "crowdveil.client",
}
"""Where names are whose HTTP and message libraries take longer to load than all the rest."""


def __getattr__(name: str) -> Any:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_ON_USE[name]), name)


# --- methods that draw, attached to the values that they draw ------------------------------------------------


def _plot_policy(policy: Policy, title: str | None = None) -> Any:
    """Draw the map of the chance of being selected in each cell, and return the matplotlib figure.

    Args:
        policy: The policy.
        title: What stands above the map (default: for how many targets it is).

    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> figure = cv.optimal_policy(grid, None, [7], epsilon_per_km=1.0, beta=0.1).plot()
    >>> figure.savefig("policy.png")  # doctest: +SKIP
    """
    require_extra("drawing a policy", "plots")
    from crowdveil.plots.maps import plot_policy

    return plot_policy(policy, title=title)


def _plot_comparison(result: Comparison) -> Any:
    """Draw the coverage of every method with its 95 % interval, and return the matplotlib figure."""
    require_extra("drawing a comparison", "plots")
    from crowdveil.plots.comparison_report import plot_comparison

    return plot_comparison(result)


def _save_comparison(result: Comparison, folder: str | Path, command: str | None = None) -> list[str]:
    """Write results.json, pictures and report.html into a folder, and return the names of the files.

    Args:
        result: The comparison.
        folder: Where to write; made if missing.
        command: What the report says was typed to make it (default: a call of `compare` with the settings).
    """
    require_extra("drawing a comparison", "plots")
    from crowdveil.plots.comparison_report import write_comparison

    return write_comparison(folder, result, command)


def _attach(kind: type, **methods: Callable[..., Any]) -> None:
    for name, method in methods.items():
        method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
        setattr(kind, name, method)


_attach(Policy, plot=_plot_policy, _repr_html_=policy_html)
_attach(Comparison, plot=_plot_comparison, save=_save_comparison, _repr_html_=comparison_html)
_attach(Certificate, _repr_html_=certificate_html)
