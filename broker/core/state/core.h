/*  core.h -- the core itself: what all rooms of it share. Only broker/core includes it.
 *
 *      submission 1 ── n job (one, or one per array task)      class 1 ── n job waiting, FIFO
 *      site 1 ── n pool, 1 ── n job live there, in order of dispatch
 */
#ifndef HELIO_BROKER_CORE_STATE_CORE_H
#define HELIO_BROKER_CORE_STATE_CORE_H

#include <utlist.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/tenants.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"
#include "federation/base/rng.h"
#include "federation/policy/choice.h"
#include "federation/policy/duration.h"
#include "federation/policy/overflow.h"

struct helio_broker_core {
    helio_broker_options_t options;
    const core_moments_t *moments; /* moments.h */
    helio_effects_t *effects; /* of the running step */
    const helio_event_t *event;
    int64_t now_ms;
    int64_t wall_ms;
    int64_t wall_ahead_ms;  /* of the monotonic clock */
    int64_t latest_wall_ms; /* that any step of this leader had */
    bool loaded;
    helio_rng_t rng;
    uint64_t incarnation;
    uint64_t broker_epoch;
    uint64_t leases_left_ms; /* of former leaders, when this one began */
    int64_t restored_ms;       /* by the wall; 0 = the database is the one that leaders before wrote */
    int64_t restored_until_ms; /* core_sites_awaited; 0 = they are not */
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t open_batch;
    uint64_t session;
    helio_uuid_t newest_job; /* the last id given, by this leader or one before it */
    int64_t id_ms;           /* its millisecond, and how many of that were given */
    uint32_t id_count;
    uint64_t capacity_version;
    uint64_t facts_version;    /* counts changes of what scores rest on: profiles, series, whom offers go to */
    uint64_t pools_version;    /* counts changes of which pools there are */
    uint64_t reserved_version; /* capacity_version of the reservations */
    uint64_t rounds;
    int64_t
        next_check_ms; /* wall clock: the earliest of the classes' next_check_ms, and windows_check_ms; INT64_MAX = none */
    overflow_t *overflows;
    uint64_t overflow_version; /* counts their changes */
    calendar_t calendar;
    int64_t rules_check_ms;   /* the same of the queues' rules */
    int64_t rules_checked_ms; /* when that was found out */
    int64_t windows_check_ms; /* wall clock: what is kept is looked at again then; INT64_MAX = nothing is */
    migrations_t *migrations;
    bool has_site_windows;      /* some site told of GPUs that it keeps */
    int64_t
        reconciling_until_ms; /* monotonic: preemptions of the last leader may go on at sites not heard of until then */
    struct option *scratch; /* of an evaluation that is not kept */
    uint32_t scratch_capacity;
    helio_durations_t *durations;
    bool round_wanted;
    int64_t next_silence_check_ms; /* silence and leases are looked at then */
    tenant_t *tenants;
    queue_t *queues;
    site_t *sites;
    site_t *peers;
    job_t *jobs; /* in order of their ids, oldest first */
    array_t *arrays;
    job_class_t *classes;
    job_class_t *newest_class; /* asked for last: jobs of a burst are alike. NULL = gone */
    idempotency_t *keys;
    dataset_t *datasets; /* by prefix */
    uint32_t datasets_of_size[HELIO_DATA_PREFIX_MAX + 1]; /* how many have a prefix of so many bytes */
    uint32_t prefix_longest;                              /* of all that there ever were */
    link_entry_t *links;
    job_t *dirty;
    job_t *ended, *ended_last; /* of this step, in order */
    preemption_t *preemptions;
    uint32_t preemption_count;
    waited_t *waited;
    dependency_hold_t **timed; /* a heap: the earliest first */
    uint32_t timed_count, timed_capacity;
    dependency_hold_t *dirty_holds;
    job_class_t *retired; /* left by an edited job in this step, which holds it until the next one */
    submission_t *buried; /* over, but effects of the last step may point into them */
    uint32_t open_jobs;
    helio_broker_figures_t figures;
};

#endif
