"""The campaign server: policies down, one blurred place up, once.

    app ─ gate          every request: limits, headers, errors; then the routes, by noun
        ├ campaigns     what anyone may know: a campaign, a round's policy
        ├ participants  seats, reports, status          ── desk: many of them in one commit
        ├ operators     create, preview, start, watch, pause, close, invite, export
        └ operations    health, metrics

    conductor           a process of its own: makes policies, opens and closes rounds, selects
    previews            a process of its own: what a campaign would be worth

Nothing here knows traces, profiles or places: the boundary of privacy is an import rule.
"""
