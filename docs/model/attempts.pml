/*  attempts.pml -- what keeps a job from running twice: a model for spin. README.md says what is left out, and why.
 *
 *  One job, two sites, two leaders. Leader 0 has broker epoch 1, leader 1 has epoch 2; they are two brokers, or one that
 *  restarted. Leader 0 can go on after leader 1 has taken over. Each option of the loop below is one step of one party,
 *  and names the function that takes it.
 *
 *  -DLEASE           the job's on_site_loss is `lease`; without it `strict`
 *  -DMEMORY          a site's journal can be lost, or replaced by an older copy
 *  -DRESTORE         leader 1 finds a restored database: a copy from before the job was placed
 *  -DBUG_name        a seeded bug, which spin must find
 */
#define SITES 2
#define FIRST 0 /* the site of the first attempt */
#define LEADERS 2
#ifndef ATTEMPTS
#define ATTEMPTS 2 /* the highest epoch of the job */
#endif
#define NOWHERE 2 /* neither site, or neither leader */

/*  Time. A lease lasts LEASE_TICKS by the agent's clock. A clock is wrong by at most DRIFT in that time. */
#define LEASE_TICKS 1
#define DRIFT 1
#ifdef BUG_SHORT_COUNT
#define MARGIN DRIFT
#else
#define MARGIN (2 * DRIFT) /* lease / 50 + LEASE_MARGIN_MS in core_site_lease (broker/core/sites/silence.c) */
#endif
#define AT_MOST (LEASE_TICKS + DRIFT)    /* no copy runs longer after the agent's request: a slow clock */
#define COUNT (LEASE_TICKS + MARGIN)     /* the broker's count, which a fast clock ends DRIFT earlier */
#define count_is_over(ticks) (ticks <= DRIFT)

/*  The job, as a leader and the database see it. */
#define QUEUED 0
#define OFFERED 1
#define RUNNING 2 /* also accepted, starting, suspended */
#define STOPPING 3
#define SUSPECT 4 /* added to the state before it, which the code keeps in job->before */
#define DONE 8
#define DOUBT 8 /* added as well: suspect with SiteMemoryLost (core_job_is_doubted) */
#define is_suspect(state) (state > SUSPECT && state < DONE)
#define is_doubted(state) (state > DOUBT)
#define is_live(state) (state != QUEUED && state != DONE)

typedef job_t {
    byte state;
    byte site;
    byte epoch
}

typedef leader_t {
    bool leads;         /* the process runs and believes that it leads */
    bool linked;        /* its session with the database holds the leader lock */
    bool dirty;         /* rows wait for their commit */
    byte effects;       /* messages that wait with them (broker/release) */
    byte to;            /* the site that they are for */
    byte acks;          /* the attempt whose report REPORTS_ACK names */
    job_t job;
    byte session[SITES];/* NO_SESSION, WELCOMED, READY */
    byte count[SITES];  /* ticks until site->lease_over_ms */
    byte doubt[SITES];  /* ticks until site->doubt_over_ms */
    bool other[SITES];  /* site->memory_lost: another journal than at the last inventory */
    byte memory[SITES]; /* site->memory_since_ms and memory_mark: which journal the site had last */
    bool awaited[SITES];
    byte copy[SITES]    /* the fenced attempt whose end the site has not reported (broker/core/state/copies.h) */
}

#define NO_SESSION 0
#define WELCOMED 1
#define READY 2

/*  Messages from a broker: at most one of each kind is under way to a site. */
#define WELCOME 1
#define VERDICTS 2
#define FENCED 4 /* with VERDICTS: the attempt of the inventory is fenced */
#define ORDERS 8
#define STOPS 16
#define RENEWED 32
#define REPORTS_ACK 64
/*  WELCOME and REPORTS_ACK are taken as soon as they leave: a late one is like a late commit. */

/*  Messages to a broker. */
#define HELLO 1
#define INVENTORY 2
#define RENEW 4

/*  An attempt in the agent's journal. */
#define NOTHING 0
#define ACCEPTED 1 /* the row is durable, the backend will be called */
#define DUE 2      /* as before, but the agent restarted: it waits for a session (start_due) */
#define STARTED 3
#define ENDING 4 /* STOPPING in site-agent/core/attempt_state.def */
#define OVER 5   /* its end is reported, but not yet acknowledged */

/*  Reports that are not yet acknowledged, one for each attempt: a later one replaces a former one. */
#define R_NONE 0
#define R_PROGRESS 1
#define R_ENDED 2
#define R_STOPPED 3 /* also LOST: nothing of it runs */
#define R_REFUSED 4
#define R_NOT_HERE 5 /* STOPPED with HELIO_CAUSE_NOT_HERE */

/*  The agent's phase. */
#define CLOSED 0
#define GREETING 1
#define LISTING 2
#define OPEN 3

typedef site_t {
    byte broker; /* to which it is connected */
    byte phase;
    byte up;         /* messages on their way to the broker */
    byte down;       /* and from it */
    byte listed;     /* the attempt in INVENTORY */
    byte ordered;    /* the attempt in ORDERS */
    byte stopped;    /* the attempt in STOPS */
    byte asked;      /* ticks that a lease would last that is granted to the HELLO or RENEW under way */
    byte lease;      /* ticks that the site's lease lasts at most: agent and shim stop copies before that */
#if defined(LEASE) && defined(MEMORY)
    byte former;     /* ticks left to a copy that the agent does not know: the lease file does not name it */
#endif
    byte seen;       /* the highest broker epoch that the agent has followed */
    byte known;      /* the highest epoch of the job that it knows */
    byte held;       /* the attempt in its journal */
    byte state;
    byte reports[ATTEMPTS + 1];
    byte memory;     /* which journal: 1 = it was lost or went back */
    byte runs        /* the attempt of which a copy runs here; 0 = none */
}

leader_t L[LEADERS];
site_t S[SITES];

/*  The database: the leader lock is held by the linked leader. */
byte db_epoch;
byte db_memory[SITES];
job_t db;
bool done;            /* the completion is committed */
byte issued[(ATTEMPTS + 1) * 2]; /* by incarnation and epoch: to which site + 1 the order left */

/*  What cannot happen without end in a run. */
bool memory_went;
bool database_lost;

/*  Of a step; they mean nothing between steps. A search in breadth knows no hidden variables. */
#ifdef BREADTH
byte k, e, is_held;
#else
hidden byte k, e, is_held;
#endif

/* ---- connections --------------------------------------------------------------------------------------- */

/*  core_on_gone, helio_session_disconnected. What was under way is lost; rows that wait still wait. */
inline disconnect(x) {
    if
    :: S[x].broker != NOWHERE ->
        L[S[x].broker].session[x] = NO_SESSION;
        if
        :: L[S[x].broker].to == x -> L[S[x].broker].effects = 0; L[S[x].broker].acks = 0; L[S[x].broker].to = 0
        :: else
        fi
    :: else
    fi;
    S[x].broker = NOWHERE;
    S[x].phase = CLOSED;
    S[x].up = 0; S[x].down = 0; S[x].asked = 0;
    S[x].listed = 0; S[x].ordered = 0; S[x].stopped = 0
}

inline clear(y) { /* what it believes, but not its process and its session with the database */
    L[y].effects = 0; L[y].to = 0; L[y].acks = 0;
    L[y].job.state = 0; L[y].job.site = 0; L[y].job.epoch = 0;
    for (k : 0 .. SITES - 1) {
        L[y].session[k] = 0; L[y].count[k] = 0; L[y].doubt[k] = 0; L[y].other[k] = 0; L[y].memory[k] = 0;
        L[y].awaited[k] = 0; L[y].copy[k] = 0
    }
}

inline end_process(y) { /* of a broker */
    if :: S[0].broker == y -> disconnect(0) :: else fi;
    if :: S[1].broker == y -> disconnect(1) :: else fi;
    L[y].leads = false; L[y].linked = false; L[y].dirty = false;
    clear(y)
}

/* ---- the database and the release queue ---------------------------------------------------------------- */

/*  helio_store_open, helio.lead: one session holds the lock. The core loads what is committed, and gives every site the
 *  whole lease from now on (load_site in broker/core/load.c). */
inline take_lead(y) {
#ifdef RESTORE
    if :: y == 1 -> done = false; db.state = QUEUED; db.site = 0; db.epoch = 0; db_memory[0] = 0; db_memory[1] = 0 :: else fi;
#endif
    db_epoch = y + 1;
    L[y].leads = true; L[y].linked = true;
    L[y].job.state = db.state; L[y].job.site = db.site; L[y].job.epoch = db.epoch;
    for (k : 0 .. SITES - 1) {
#ifdef LEASE
#ifdef BUG_FORMER_FORGOTTEN
        L[y].count[k] = 0;
#else
        L[y].count[k] = (k == FIRST -> COUNT : 0);
#endif
        L[y].doubt[k] = L[y].count[k];
#endif
        L[y].memory[k] = db_memory[k];
#ifdef RESTORE
        L[y].awaited[k] = (y == 1)
#endif
    }
}

#if defined(RESTORE) && !defined(BUG_EPOCH_AGAIN)
#define incarnation(y) (y) /* helio.lead begins a new one */
#else
#define incarnation(y) 0
#endif

/*  helio_release_queue_release: messages reach the connection that they are for, or nobody. */
inline release(y) {
    if
    :: L[y].effects && S[L[y].to].broker == y ->
        if
        :: L[y].effects & ORDERS ->
            S[L[y].to].ordered = L[y].job.epoch;
#define token issued[incarnation(y) * (ATTEMPTS + 1) + L[y].job.epoch]
            assert(token == 0 || token == L[y].to + 1); /* no identity is issued twice */
            token = L[y].to + 1
        :: else
        fi;
        if :: L[y].effects & STOPS -> S[L[y].to].stopped = L[y].job.epoch :: else fi;
        if /* helio_reports_acknowledge */
        :: L[y].effects & REPORTS_ACK ->
            S[L[y].to].reports[L[y].acks] = R_NONE;
            if
            :: S[L[y].to].held == L[y].acks && S[L[y].to].state == OVER ->
                S[L[y].to].held = 0; S[L[y].to].state = NOTHING
            :: else
            fi
        :: else
        fi;
        if /* helio_session_welcome */
        :: L[y].effects & WELCOME ->
            assert(S[L[y].to].phase == GREETING && S[L[y].to].seen <= y + 1); /* is_stale never has to refuse */
            S[L[y].to].seen = y + 1;
            S[L[y].to].phase = LISTING; S[L[y].to].up = S[L[y].to].up | INVENTORY;
            S[L[y].to].listed = S[L[y].to].held
        :: else
        fi;
        S[L[y].to].down = S[L[y].to].down | (L[y].effects & ~(WELCOME | REPORTS_ACK))
    :: else
    fi;
    L[y].effects = 0; L[y].to = 0; L[y].acks = 0
}

inline put_rows(y) {
    assert(db_epoch == y + 1); /* no write of an older leader counts */
    assert(!done || L[y].job.state == DONE); /* a completed job stays complete */
    if
    :: L[y].job.state == DONE && !done ->
        done = true;
        assert(S[0].runs == 0 && S[1].runs == 0); /* the result is of the only copy */
    :: else
    fi;
    db.state = L[y].job.state; db.site = L[y].job.site; db.epoch = L[y].job.epoch;
    db_memory[0] = L[y].memory[0]; db_memory[1] = L[y].memory[1]
}

/*  The core emitted: what leaves, leaves with the commit. */
inline emit(y, x, messages) {
    L[y].dirty = true; L[y].to = x; L[y].effects = messages
}

/* ---- the core ------------------------------------------------------------------------------------------ */

/*  A process that leads; the core's next step begins when the rows of the former one are committed. */
#define idle(y) (L[y].leads && !L[y].dirty)
#define is_not_last(y) (L[y].job.epoch < ATTEMPTS) /* nothing can follow the last attempt, so nothing is lost without its end */
/*  The sites are alike, so the first attempt is at site 0; nothing waits for the end of the last attempt. So only
 *  site 0 needs a lease: at site 1 a lease never ends, which allows more than the code does. */
#ifdef LEASE
#define may_place(y, x) (x == FIRST || L[y].job.epoch)
#else
#define may_place(y, x) (x == FIRST || L[y].job.epoch || y)
#endif
/*  core_job_is_kept_back */
#ifdef BUG_COPY_UNHEEDED
#define kept_back(y) (L[y].awaited[0] || L[y].awaited[1])
#else
#ifdef BUG_AWAITED_BRIEFLY
#define kept_back(y) (L[y].copy[0] || L[y].copy[1])
#else
#define kept_back(y) (L[y].awaited[0] || L[y].awaited[1] || L[y].copy[0] || L[y].copy[1])
#endif
#endif
#define connected(x, y) (S[x].broker == y)
#define at(y, x) (is_live(L[y].job.state) && L[y].job.site == x)

inline site_back(y) {
    if
    :: is_suspect(L[y].job.state) -> L[y].job.state = L[y].job.state - SUSPECT
    :: is_doubted(L[y].job.state) -> L[y].job.state = L[y].job.state - DOUBT
    :: else
    fi
}

inline requeue(y) {
    L[y].job.state = QUEUED; L[y].job.site = 0
}

/*  core_site_lease */
inline extend(y, x) {
#ifdef LEASE
    if :: x == FIRST -> L[y].count[x] = COUNT :: else fi
#else
    skip
#endif
}

/*  take_holding, close_inventory */
#ifdef BUG_NOT_HERE_IS_PROOF
#define proves_nothing(y, x) false
#else
#define proves_nothing(y, x) (L[y].other[x] || is_doubted(L[y].job.state))
#endif
inline take_inventory(y, x) {
    emit(y, x, VERDICTS);
    is_held = at(y, x) && S[x].listed == L[y].job.epoch;
    if :: S[x].listed && !is_held -> L[y].effects = L[y].effects | FENCED :: else fi;
    if
    :: !at(y, x)
    :: at(y, x) && !is_held && proves_nothing(y, x) -> /* core_doubt_job */
        if
        :: is_doubted(L[y].job.state)
        :: is_suspect(L[y].job.state) -> L[y].job.state = L[y].job.state - SUSPECT + DOUBT
        :: else -> L[y].job.state = L[y].job.state + DOUBT
        fi
    :: at(y, x) && (is_held || !proves_nothing(y, x)) ->
        site_back(y);
        if
        :: L[y].job.state == STOPPING -> L[y].effects = L[y].effects | STOPS
        :: L[y].job.state == OFFERED && !is_held -> L[y].effects = L[y].effects | ORDERS
        :: L[y].job.state == RUNNING && !is_held -> /* the answer to the stop is the proof */
            L[y].job.state = STOPPING; L[y].effects = L[y].effects | STOPS
        :: else
        fi
    fi;
    /* core_doubt_inventory */
    if :: L[y].other[x] -> L[y].doubt[x] = L[y].count[x] :: else fi;
    L[y].other[x] = false;
    L[y].memory[x] = S[x].memory;
#ifdef RESTORE
    L[y].copy[x] = (is_held -> 0 : S[x].listed); /* core_restored_copy, core_restored_inventory */
#endif
    L[y].awaited[x] = false;
    L[y].session[x] = READY
}

/*  take_report */
inline take_report(y, x, n) {
#ifdef BUG_OLD_REPORT
#define current is_live(L[y].job.state)
#else
#define current (at(y, x) && L[y].job.epoch == n)
#endif
#ifdef BUG_NOT_HERE_IS_PROOF
#define doubt_lasts false
#else
#define doubt_lasts (is_doubted(L[y].job.state) && S[x].reports[n] >= R_REFUSED) /* core_doubt_lasts */
#endif
    emit(y, x, REPORTS_ACK);
    L[y].acks = n;
    if /* core_restored_end */
    :: L[y].copy[x] == n && (S[x].reports[n] == R_ENDED || S[x].reports[n] == R_STOPPED) -> L[y].copy[x] = 0
    :: else
    fi;
    if
    :: !current || doubt_lasts
    :: current && !doubt_lasts ->
        site_back(y);
        if
        :: S[x].reports[n] == R_PROGRESS ->
            if :: L[y].job.state == OFFERED -> L[y].job.state = RUNNING :: else fi
        :: S[x].reports[n] == R_ENDED -> L[y].job.state = DONE /* on_ended */
        :: S[x].reports[n] == R_STOPPED || S[x].reports[n] == R_NOT_HERE -> requeue(y) /* on_stopped, on_lost */
        :: S[x].reports[n] == R_REFUSED -> /* on_refused */
            if :: L[y].job.state == OFFERED || L[y].job.state == STOPPING -> requeue(y) :: else fi
        fi
    fi;
    printf("leader %d has report %d of site %d on epoch %d, its job is %d\n", y, S[x].reports[n], x, n, L[y].job.state)
}

/* ---- the agent ----------------------------------------------------------------------------------------- */

/*  finish in site-agent/core/life.c */
inline finish(x, report) {
    S[x].reports[S[x].held] = report; S[x].state = OVER
}

#if defined(LEASE) && defined(MEMORY)
#define no_former(x) S[x].former = 0
#define name_no_more(x) S[x].former = (x == FIRST -> S[x].lease : 0) /* helio_lease_tell: the lease file names what is held */
#else
#define no_former(x) skip
#define name_no_more(x) skip
#endif

inline start(x) {
    assert(S[0].runs == 0 && S[1].runs == 0); /* no two copies at once */
    S[x].runs = S[x].held; S[x].state = STARTED; no_former(x)
}

/*  helio_attempt_stop */
inline stop(x) {
    if
    :: S[x].state == ACCEPTED || S[x].state == DUE -> finish(x, R_STOPPED)
    :: S[x].state == STARTED -> S[x].state = ENDING
    :: else
    fi
}

inline grant(x) { /* helio_lease_grant: from the time of asking; the lease that ends last counts */
    if :: S[x].asked > S[x].lease -> S[x].lease = S[x].asked :: else fi;
    S[x].asked = 0
}

inline ask(x) {
#ifdef LEASE
    if :: x == FIRST -> S[x].asked = AT_MOST :: else fi
#else
    skip
#endif
}

inline connect(x, y) { /* helio_session_connected */
    S[x].broker = y; S[x].phase = GREETING; S[x].up = HELLO;
    ask(x);
    printf("site %d sends HELLO to leader %d\n", x, y)
}

#ifdef LEASE
#define has_lease(x) (x != FIRST || S[x].lease > 0) /* helio_lease_is_valid; the shim looks again before the job begins */
#else
#define has_lease(x) true
#endif

inline take_order(x) {
    e = S[x].ordered;
    if
#ifndef BUG_OLD_ATTEMPT
    :: S[x].known == e -> /* repeated, or over */
        if :: S[x].held != e && S[x].reports[e] == R_NONE -> S[x].reports[e] = R_REFUSED :: else fi
    :: S[x].known > e ->
        if :: S[x].reports[e] == R_NONE -> S[x].reports[e] = R_REFUSED :: else fi
    :: S[x].known < e &&
#else
    :: S[x].held == e && S[x].state != OVER
    :: !(S[x].held == e && S[x].state != OVER) &&
#endif
        (S[x].phase != OPEN || (S[x].held && S[x].state != OVER)
#ifdef LEASE
         || !has_lease(x)
#endif
        ) -> S[x].known = e; S[x].reports[e] = R_REFUSED /* not_ready */
    :: else -> /* accept: the row is durable before anything else happens */
        S[x].known = e; S[x].held = e; S[x].state = ACCEPTED; S[x].reports[e] = R_PROGRESS
    fi
}

/*  helio_stops_take */
inline take_stop(x) {
    e = S[x].stopped;
    if
    :: S[x].held == e -> stop(x)
    :: S[x].held != e && S[x].phase == OPEN && S[x].reports[e] == R_NONE -> /* stop_unknown */
        if :: S[x].known < e -> S[x].known = e :: else fi;
        S[x].reports[e] = R_NOT_HERE
    :: else
    fi
}

/*  The journal is lost, or is an older copy: then the last attempt is as when it was accepted. At the start the agent looks
 *  for copies that run, and holds what it finds (on_found). */
inline forget(x, holds, as) {
    memory_went = true;
    disconnect(x);
    S[x].memory = 1; S[x].seen = 0;
    for (k : 1 .. ATTEMPTS) { S[x].reports[k] = R_NONE }
    S[x].held = holds; S[x].known = holds; S[x].state = as;
    if :: holds -> S[x].reports[holds] = R_PROGRESS :: else fi;
    printf("the journal of site %d goes back, holds %d\n", x, holds)
}

/* ---- the parties --------------------------------------------------------------------------------------- */

#ifdef BUG_NO_FENCE
#define can_commit(y) L[y].leads
#else
#define can_commit(y) (L[y].linked && db_epoch == y + 1)
#endif

#ifdef BUG_GRANT_UNCOMMITTED
#define can_renew(y) L[y].leads
#else
#define can_renew(y) idle(y)
#endif

/*  A replaced leader whose rows wait can do nothing more: what it believes makes no difference. */
inline settle(y) {
    if :: y == 0 && db_epoch == 2 && L[0].dirty && !can_commit(0) -> clear(0) :: else fi
}

proctype leader(byte y)
{
    do
    /* helio.take_batch, helio_store_flight_committed */
    :: d_step { L[y].dirty && can_commit(y) -> put_rows(y); release(y); L[y].dirty = false; printf("leader %d commits\n", y) }
    :: d_step { y == 1 && db_epoch == 1 && !L[0].linked -> take_lead(1); settle(0); printf("leader 1 takes over\n") }
    :: d_step { y == 0 && L[0].leads && db_epoch == 1 -> end_process(0); printf("leader 0 is killed\n") }
    /* It stands still, or its database is out of reach: the server ends its session, which frees the lock. */
    :: d_step { y == 0 && L[0].linked && !database_lost ->
        L[0].linked = false; database_lost = true; printf("leader 0 loses its database\n") }
    /* helio.resume, take_resume_answer */
    :: d_step { y == 0 && L[0].leads && !L[0].linked && db_epoch == 1 ->
        L[0].linked = true; printf("leader 0 resumes\n") }
    :: d_step { y == 0 && L[0].leads && !L[0].linked && db_epoch == 2 -> end_process(0); printf("leader 0 is fenced\n") }
    od
}

/*  What a leader does for one site. */
proctype core(byte y, x)
{
    do
    /* core_on_hello; older_than */
    :: d_step { idle(y) && connected(x, y) && (S[x].up & HELLO) ->
        S[x].up = S[x].up - HELLO;
        if
        :: S[x].seen > y + 1 -> disconnect(x); printf("leader %d refuses site %d: FENCED\n", y, x)
        :: else ->
            emit(y, x, WELCOME);
            L[y].session[x] = WELCOMED;
            L[y].other[x] = (S[x].memory != L[y].memory[x]); /* core_doubt_compare */
            extend(y, x);
            printf("leader %d has HELLO of site %d\n", y, x)
        fi;
        settle(y) }
    :: d_step { idle(y) && connected(x, y) && (S[x].up & INVENTORY) && L[y].session[x] == WELCOMED ->
        S[x].up = S[x].up - INVENTORY;
        take_inventory(y, x);
        printf("leader %d has the inventory of site %d: %d, its job is %d\n", y, x, S[x].listed, L[y].job.state);
        S[x].listed = 0 }
    /* core_on_reports: any report that waits, again and again until it is acknowledged */
    :: d_step { idle(y) && connected(x, y) && S[x].phase == OPEN && L[y].session[x] == READY && S[x].reports[1] ->
        take_report(y, x, 1);
        settle(y) }
    :: d_step { idle(y) && connected(x, y) && S[x].phase == OPEN && L[y].session[x] == READY && S[x].reports[2] ->
        take_report(y, x, 2);
        settle(y) }
#ifdef LEASE
    /* core_on_renew */
    :: d_step { can_renew(y) && connected(x, y) && (S[x].up & RENEW) && L[y].session[x] != NO_SESSION ->
        S[x].up = S[x].up - RENEW;
        extend(y, x);
#ifdef BUG_GRANT_UNCOMMITTED
        S[x].down = S[x].down | RENEWED;
#else
        emit(y, x, RENEWED);
#endif
        printf("leader %d renews the lease of site %d\n", y, x);
        settle(y) }
#endif
    /* core_round, core_order */
    :: d_step { idle(y) && L[y].job.state == QUEUED && may_place(y, x) && L[y].session[x] == READY && L[y].job.epoch < ATTEMPTS &&
                !kept_back(y) ->
        L[y].job.state = OFFERED; L[y].job.site = x; L[y].job.epoch++;
        emit(y, x, ORDERS);
#ifdef BUG_ORDER_UNCOMMITTED
        release(y);
#endif
        printf("leader %d places the job at site %d, epoch %d\n", y, x, L[y].job.epoch) }
    /* core_stop: a preemption, a move to another site */
    :: d_step { idle(y) && L[y].session[x] == READY && at(y, x) && is_not_last(y) &&
                (L[y].job.state == OFFERED || L[y].job.state == RUNNING) ->
        L[y].job.state = STOPPING;
        emit(y, x, STOPS);
#ifdef BUG_STOP_UNANSWERED
        requeue(y); L[y].effects = 0; L[y].to = 0;
#endif
        printf("leader %d stops the job at site %d\n", y, x) }
    /* watch_site: no message for too long */
    :: d_step { idle(y) && at(y, x) && is_not_last(y) && (L[y].session[x] != NO_SESSION || L[y].job.state < SUSPECT) ->
        if :: L[y].job.state < SUSPECT -> L[y].job.state = L[y].job.state + SUSPECT :: else fi;
        L[y].session[x] = NO_SESSION;
        if :: connected(x, y) -> disconnect(x) :: else fi;
        L[y].dirty = true; L[y].to = 0;
        printf("leader %d: site %d is silent\n", y, x);
        settle(y) }
#ifdef LEASE
#ifdef BUG_REQUEUE_AT_SILENCE
#define lease_is_over true
#else
#define lease_is_over count_is_over(L[y].count[x])
#endif
    :: d_step { idle(y) && at(y, x) && L[y].session[x] == NO_SESSION && is_suspect(L[y].job.state) && lease_is_over ->
        assert(S[x].lease == 0 || db_epoch != y + 1); /* no grant outlives the newest leader's count */
        requeue(y);
        L[y].dirty = true;
        printf("leader %d: the lease of site %d is over\n", y, x) }
    /* core_doubt_watch */
    :: d_step { idle(y) && at(y, x) && is_doubted(L[y].job.state) && count_is_over(L[y].doubt[x]) ->
        requeue(y);
        L[y].dirty = true;
        printf("leader %d: the doubt about site %d is over\n", y, x);
        settle(y) }
#endif
    od
}

proctype agent(byte x)
{
    do
    /* ---- the session: site-agent/core/session.c ---- */
    :: d_step { S[x].broker == NOWHERE && L[0].leads -> connect(x, 0) }
    :: d_step { S[x].broker == NOWHERE && L[1].leads -> connect(x, 1) }
    :: d_step { (S[x].down & VERDICTS) && S[x].phase == LISTING -> /* helio_session_rulings, open_session */
        S[x].phase = OPEN;
        if :: S[x].down & FENCED -> stop(x) :: else fi;
        S[x].down = S[x].down & ~(VERDICTS | FENCED);
        if :: S[x].state == DUE -> S[x].state = ACCEPTED :: else fi;
        grant(x);
        printf("site %d opens its session\n", x) }
#ifdef LEASE
    /* renew: one at a time, and only if it prolongs anything */
    :: d_step { x == FIRST && S[x].phase == OPEN && S[x].asked == 0 && S[x].lease < AT_MOST && !(S[x].up & RENEW) && !(S[x].down & RENEWED) &&
                !(L[S[x].broker].to == x && (L[S[x].broker].effects & RENEWED)) ->
        S[x].up = S[x].up | RENEW;
        ask(x) }
    :: d_step { (S[x].down & RENEWED) && S[x].phase == OPEN -> /* helio_session_renewed */
        S[x].down = S[x].down - RENEWED;
        grant(x);
        printf("site %d has its lease for %d\n", x, S[x].lease) }
#endif
    /* The connection breaks, or core_check_database ends it. Or the agent crashes and reads its journal: what the backend was not asked for yet waits. */
    :: d_step { S[x].broker != NOWHERE -> disconnect(x); printf("site %d is cut off\n", x) }
    :: d_step { S[x].broker != NOWHERE && S[x].state == ACCEPTED ->
        disconnect(x); S[x].state = DUE; printf("the agent of site %d crashes\n", x) }
    /* ---- instructions: site-agent/core/orders.c; an order can arrive again and again ---- */
    :: d_step { S[x].down & ORDERS ->
        take_order(x);
        printf("site %d takes the order, holds %d\n", x, S[x].held) }
    :: d_step { S[x].down & STOPS ->
        take_stop(x);
        S[x].down = S[x].down - STOPS; S[x].stopped = 0;
        printf("site %d takes the stop\n", x) }
    /* ---- the attempt: site-agent/core/life.c ---- */
    :: d_step { S[x].state == ACCEPTED && has_lease(x) -> start(x); printf("site %d starts epoch %d\n", x, S[x].runs) }
    :: d_step { (S[x].state == STARTED || S[x].state == ENDING) && S[x].runs == S[x].held ->
        S[x].runs = 0; finish(x, R_ENDED); printf("at site %d epoch %d ends\n", x, S[x].held) }
    :: d_step { S[x].state == ENDING && S[x].runs == S[x].held ->
        S[x].runs = 0; finish(x, R_STOPPED); printf("at site %d epoch %d is stopped\n", x, S[x].held) }
    :: d_step { (S[x].state == STARTED || S[x].state == ENDING) && S[x].runs != S[x].held ->
        finish(x, R_STOPPED); printf("site %d notes that epoch %d was stopped\n", x, S[x].held) }
    /* a copy that no journal knows ends */
    :: d_step { S[x].runs && S[x].runs != S[x].held -> S[x].runs = 0; no_former(x); printf("at site %d a copy ends\n", x) }
#ifdef LEASE
    /* helio_attempts_stop_leased: a fast clock is early */
    :: d_step { x == FIRST && S[x].lease <= DRIFT && (S[x].state == ACCEPTED || S[x].state == STARTED) -> stop(x) }
#endif
#ifdef MEMORY
    :: d_step { !memory_went && S[x].runs -> forget(x, S[x].runs, STARTED) }
    :: d_step { !memory_went && S[x].runs == 0 && S[x].known -> forget(x, S[x].known, DUE) }
    :: d_step { !memory_went && S[x].runs == 0 && S[x].known -> forget(x, 0, NOTHING) }
    :: d_step { !memory_went && S[x].runs -> name_no_more(x); forget(x, 0, NOTHING) } /* it does not find the copy */
#endif
#ifdef BUG_SECOND_AGENT
    /* Another agent with the key and a copy of the journal. It is refused while this one is in session: is_second_agent. If
     * it is not, its attempt is kept, and its backend does not have it. */
    :: d_step { x == 0 && S[0].phase == OPEN && S[0].held && S[0].state == STARTED -> assert(S[0].runs == 0) }
#endif
    od
}

#ifdef LEASE
#define tick_down(count) if :: count > 0 -> count = count - 1 :: else fi
/*  All clocks go on. A copy whose lease is over has been stopped before: by the agent, or by the shim. */
active proctype time()
{
    do
    :: d_step { S[FIRST].lease || S[FIRST].asked || L[0].count[FIRST] || L[1].count[FIRST] ->
        tick_down(S[FIRST].lease);
        tick_down(S[FIRST].asked);
        if :: S[FIRST].lease == 0 -> S[FIRST].runs = 0; no_former(FIRST) :: else fi;
#if defined(MEMORY) && !defined(BUG_LEASE_OF_ANY)
        if
        :: S[FIRST].former == 1 -> S[FIRST].runs = 0; S[FIRST].former = 0
        :: S[FIRST].former > 1 -> S[FIRST].former = S[FIRST].former - 1
        :: else
        fi;
#endif
        tick_down(L[0].count[FIRST]); tick_down(L[1].count[FIRST]);
        tick_down(L[0].doubt[FIRST]); tick_down(L[1].doubt[FIRST]);
        printf("tick\n") }
    od
}
#endif

init
{
    atomic {
        S[0].broker = NOWHERE; S[1].broker = NOWHERE;
        take_lead(0);
        run leader(0); run leader(1);
        run core(0, 0); run core(0, 1); run core(1, 0); run core(1, 1);
        run agent(0); run agent(1)
    }
}
