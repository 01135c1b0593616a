"""How policies, comparisons and certificates show themselves in a notebook: HTML with the picture inside.

matplotlib is loaded on use. Without it a notebook shows the numbers alone.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from html import escape

from crowdveil.certify import Certificate
from crowdveil.errors import MissingExtraError
from crowdveil.extras import require_extra
from crowdveil.formatting import exact, in_plain_words
from crowdveil.policy.describe import describe_value
from crowdveil.policy.policy import Policy
from crowdveil.simulate.comparison import Comparison
from crowdveil.simulate.describe import TABLE_HEADER, table_rows


def policy_html(policy: Policy) -> str:
    """Show a policy: its map, what it promises and which one it is."""

    def picture() -> bytes:
        require_extra("drawing a policy", "plots")
        from crowdveil.plots.maps import plot_policy
        from crowdveil.plots.style import render

        return render(plot_policy(policy), ".png")

    facts = {
        "privacy": f"ε = {exact(policy.epsilon_per_km)} per km: {in_plain_words(policy.epsilon_per_km)}",
        "value": describe_value(policy, "{:.2%}".format),
        "selected": f"{policy.beta:.2%} of all who report (β)",
        "cells and targets": f"{len(policy):,} and {len(policy.targets):,}",
        "policy": policy.hash[:12],
    }
    image, drawn = _image(picture, "Map of the chance of being selected in each cell")
    return image if drawn else image + _facts(facts)  # the map's caption says the same


def comparison_html(result: Comparison) -> str:
    """Show a comparison: the coverage of every method as a chart and as a table."""

    def picture() -> bytes:
        require_extra("drawing a comparison", "plots")
        from crowdveil.plots.comparison_report import plot_comparison
        from crowdveil.plots.style import render

        return render(plot_comparison(result), ".png")

    return _image(picture, "Coverage of every method")[0] + _table(TABLE_HEADER, table_rows(result.records))


def certificate_html(certificate: Certificate) -> str:
    """Show a certificate: the verdict, and the sentence that explains it."""
    colour, verdict = ("#0b6b3a", "Private") if certificate.ok else ("#a3001f", "Not private")
    facts = {
        "smallest ε per km": certificate.smallest_shown,
        "inequalities checked": f"{certificate.inequalities:,}",
        "policy": certificate.policy_hash[:12] or "a bare table",
    }
    head = f'<p><strong style="color:{colour}">{verdict}</strong></p><p>{escape(certificate.explain())}</p>'
    return head + _facts(facts)


def _image(picture: Callable[[], bytes], description: str) -> tuple[str, bool]:
    """The picture, or what to install to get it; and whether it is the picture."""
    try:
        data = b64encode(picture()).decode()
    except MissingExtraError as error:
        return f"<p>{escape(str(error))}</p>", False
    style = "max-width:min(100%,620px)"
    return f'<img alt="{escape(description)}" style="{style}" src="data:image/png;base64,{data}">', True


def _facts(facts: Mapping[str, str]) -> str:
    return _table([], [[name, value] for name, value in facts.items()])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th style="text-align:left">{escape(text)}</th>' for text in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(text)}</td>' for text in row) + "</tr>" for row in rows
    )
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
