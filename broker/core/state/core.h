/*  core.h -- the core itself: what all its rooms share. Only broker/core includes it.
 *
 *      submission 1 ── n job (one, or one for each task of an array)      class 1 ── n waiting job, FIFO
 *      site 1 ── n pool, 1 ── n live job, in order of dispatch */
#ifndef HELIO_BROKER_CORE_STATE_CORE_H
#define HELIO_BROKER_CORE_STATE_CORE_H

#include <utlist.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/copies.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/lines.h"
#include "broker/core/state/needs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/portion.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/tenants.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"
#include "federation/base/keyed_hash.h"
#include "federation/base/rng.h"
#include "federation/policy/choice.h"
#include "federation/policy/duration.h"
#include "federation/policy/overflow.h"

struct helio_broker_core {
    helio_broker_options_t options;
    const core_moments_t *moments; /* moments.h */
    helio_effects_t *effects;      /* of the running step */
    const helio_event_t *event;
    int64_t now_ms;
    int64_t wall_ms;
    int64_t wall_ahead_ms;  /* of the monotonic clock */
    int64_t latest_wall_ms; /* of all steps of this leader; goes on when the clock is set back */
    bool loaded;
    helio_rng_t rng;
    helio_hash_key_t secret; /* of the hashes of what strangers choose: from the seed of the federation */
    uint64_t incarnation;
    uint64_t broker_epoch;
    uint64_t leases_left_ms;   /* of leases that former leaders granted, at takeover */
    int64_t restored_ms;       /* wall clock; 0 = this is the database that former leaders wrote */
    int64_t restored_until_ms; /* end of core_sites_awaited; 0 = no site is awaited */
    helio_uuid_t restored_job; /* the newest that was restored: copies of it and of older ones may run; nil = none */
    bool copies_changed;       /* jobs that were kept back may no longer be */
    int64_t copies_checked_ms;
    int64_t database_lost_ms; /* since when; 0 = the database is there */
    int64_t missed_since_ms;  /* when this leader loaded sites that were ready under the last one */
    int64_t awaited_check_ms; /* when the wait for a site may be over; 0 = no site is awaited */
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t open_batch;
    portion_t portion; /* what it has taken of changes of many jobs */
    uint64_t session;
    uint64_t capacity_version;
    uint64_t facts_version; /* counts changes of what scores depend on: profiles, series, which sites accept offers */
    uint64_t pools_version; /* counts changes of which pools exist */
    uint64_t tiers_version; /* counts changes of the lowest tier of a pool's jobs: holds/expected_ends.h */
    uint64_t reserved_version; /* capacity_version of the reservations */
    uint64_t rounds;
    calendar_t calendar;
    int64_t next_check_ms[CORE_CHECKS]; /* checks.h */
    int64_t rules_checked_ms;           /* wall clock: when the rules of the queues were last checked */
    bool has_site_windows;              /* some site has reported reserved GPUs */
    uint32_t curtailments;              /* of all sites, that are not over */
    bool round_wanted;
    bool queues_told; /* some site has said how long jobs wait in its own queue (forecast/queue_wait.h) */
    tenant_t *tenants;
    queue_t *queues;
    site_t *sites;
    site_t *peers;
    job_t *jobs; /* in order of their ids, oldest first */
    array_t *arrays;
    job_class_t *classes; /* by what their jobs ask for */
    job_class_t *classes_by_id;
    job_class_t *judged;  /* with waiting jobs, and in no line: each round judges them */
    need_t *needs;        /* of the classes in lines */
    account_t *lined;     /* accounts with lines */
    uint64_t lines_tiers; /* tiers_version at the last look at the tiers */
    uint64_t lines_facts; /* all lines hold while these are the core's */
    uint64_t lines_pools;
    int64_t lines_step;        /* since 1970, of HELIO_SCORE_STEP_MS */
    job_class_t *newest_class; /* used last, because jobs of a burst are alike; NULL = freed */
    job_t *dirty;
    job_class_t *retired; /* left by an edited job in this step; kept until the next one */
    submission_t *buried; /* over, but effects of the last step can point into them */
    uint32_t open_jobs;
    estimate_t *estimates;    /* sites/estimates.h; the oldest first */
    uint32_t estimated_hours; /* of all of them */
    helio_broker_figures_t figures;
    catalogue_t *catalogue;
    /* Each belongs to a room above, which alone knows its contents. */
    helio_durations_t *durations;     /* forecast/durations.c */
    dependencies_t *dependencies;     /* holds/dependencies.c */
    recent_end_t *recent_ends;        /* holds/recent_ends.c; the oldest first */
    preemptions_t *preemptions;       /* holds/preemptions.c */
    site_windows_t *site_windows;     /* holds/site_windows.c */
    migrations_t *migrations;         /* holds/migrations.c */
    evaluator_t *evaluator;           /* decide/evaluate.c */
    overflows_t *overflows;           /* decide/overflow.c */
    migration_pass_t *migration_pass; /* migrate/migrate.c */
    intake_t *intake;                 /* requests/submit.c */
    array_command_t *array_commands;  /* requests/array_commands.c; that which waits longest for its turn comes first */
    channel_t *channels;              /* requests/channels.c */
    desired_table_t *desired;         /* requests/desired.c; NULL = none yet */
    char array_tenant[33];            /* whose command on an array had the last turn */
};

#endif
