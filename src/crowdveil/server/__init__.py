"""Run campaigns over HTTP: send policies to devices, store one report of each, and select participants.

    app             the application: routes, middleware, error handlers, OpenAPI document
    request_guard   middleware of every request: rate limits, body sizes, security headers, errors
    direct_routes   answers the busiest requests without the web framework
    requests        reading bodies and tokens
    access          what an operator may do, by role and campaign
    tokens          makes operators' tokens; compares them in constant time
    campaigns       public routes: a campaign's announcement, a round's policy
    participants    routes of devices: seats, reports, status
    operators       routes of operators: create, preview, start, watch, pause, close, invite
    selections      routes of operators: ask a panel for people, export selections and the audit record
    team            routes of operators: operators, tokens, shares, the activity log
    health          routes for monitoring: health, metrics
    commit_queue    stores seats and reports in group commits; acknowledges a report only after its commit
    scheduler       a process of its own: makes policies, opens and closes rounds, selects
    previews        processes of their own: the expected coverage of a campaign that is being planned
    child_process   starts such a process again if it ends
    rate_limit      how many requests an address may make
    seat_limit      how many seats an address may take in an open campaign
    timed_protocol  cuts off requests that do not arrive
    terms           what a campaign announces; refuses what every default device would refuse
    refusals        turns every error into a problem document
    services        what the routes share: store, queue, cached announcements and policies
    views           what operators see of a campaign, and the audit record
    areas           areas for the console's map
    pages           the console and the participant's page
    logs, metrics   JSON lines; Prometheus
    process         a server on a socket, in this process
    workers         several processes at one address, with PostgreSQL
    run, local      one or the other; a server for demonstrations

Where to look: a round is closed by `scheduler.Scheduler`, or early by an operator (`operators`). The lottery among
equals is decided by `campaign.selection`, with the seed that the audit record publishes. What is stored of a
participant is in `store.schema`.

Nothing here imports traces, profiles or places: the privacy boundary is an import rule (tests/test_rooms.py).
"""
