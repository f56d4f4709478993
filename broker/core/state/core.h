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
#include "broker/core/state/checks.h"
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
    uint64_t capacity_version;
    uint64_t facts_version;    /* counts changes of what scores rest on: profiles, series, whom offers go to */
    uint64_t pools_version;    /* counts changes of which pools there are */
    uint64_t reserved_version; /* capacity_version of the reservations */
    uint64_t rounds;
    calendar_t calendar;
    int64_t next_check_ms[CORE_CHECKS]; /* checks.h */
    int64_t rules_checked_ms; /* wall clock: when their rules were looked at last */
    bool has_site_windows;      /* some site told of GPUs that it keeps */
    bool round_wanted;
    tenant_t *tenants;
    queue_t *queues;
    site_t *sites;
    site_t *peers;
    job_t *jobs; /* in order of their ids, oldest first */
    array_t *arrays;
    job_class_t *classes;
    job_class_t *newest_class; /* asked for last: jobs of a burst are alike. NULL = gone */
    job_t *dirty;
    job_class_t *retired; /* left by an edited job in this step, which holds it until the next one */
    submission_t *buried; /* over, but effects of the last step may point into them */
    uint32_t open_jobs;
    helio_broker_figures_t figures;
    catalogue_t *catalogue;
    /* Each of a room above, which alone knows what is in it. */
    helio_durations_t *durations;     /* forecast/durations.c */
    dependencies_t *dependencies;     /* holds/dependencies.c */
    preemptions_t *preemptions;       /* holds/preemptions.c */
    site_windows_t *site_windows;     /* holds/site_windows.c */
    migrations_t *migrations;                   /* holds/migrations.h: migrate/ too */
    evaluator_t *evaluator;             /* decide/evaluate.c */
    overflows_t *overflows;           /* decide/overflow.c */
    intake_t *intake;                 /* requests/submit.c */
};

#endif
