/*  field.h -- a broker core alone, with sites that carry out every order: for properties of whole runs in which nothing
 *  fails.
 *
 *  Everything follows from the seed and the options. Sites pack whole nodes by themselves, and the use of quotas is
 *  computed from the rows alone: the core's counters are not trusted. The first broken promise is kept as a sentence,
 *  and later ones are ignored. One owner.
 */
#ifndef HELIO_TESTS_SIM_FIELD_H
#define HELIO_TESTS_SIM_FIELD_H

#include "broker/core/broker_core.h"
#include "federation/base/rng.h"

enum {
    FIELD_SITES_MAX = 30,
    FIELD_POOLS_MAX = 3,
    FIELD_NODES_MAX = 8,
    FIELD_GPUS_MAX = 8,
    FIELD_TENANTS = 5,
    FIELD_QUEUES = 3, /* express, standard, batch: critical, standard, best effort */
    FIELD_JOBS_MAX = 4000,
    FIELD_SECOND = 1000,
    FIELD_MINUTE = 60000,
    FIELD_HOUR = 3600000
};

typedef struct field_site {
    helio_site_profile_t profile;
    char name[16];
    helio_pool_t pools[FIELD_POOLS_MAX];
    char pool_names[FIELD_POOLS_MAX][8];
    uint32_t free[FIELD_POOLS_MAX][FIELD_NODES_MAX]; /* GPUs of each node */
    uint64_t dispatch_seen, summary_seq, report_seq;
} field_site_t;

typedef struct field_job {
    helio_job_spec_t spec; /* texts in the field's arena */
    uint32_t tenant, queue;
    uint64_t run_ms;
    int64_t submit_ms;
    helio_job_key_t key;
    uint32_t state, epoch;
    uint32_t site, pool, gpus; /* of the last placement; site FIELD_SITES_MAX = never placed */
    int64_t placed_ms;         /* first start; -1 = never */
    int64_t planned_ms;        /* the start of that run */
    uint32_t taken[FIELD_NODES_MAX];
    bool at_site;
    bool hopeless; /* it fits nowhere */
    int64_t began_ms, ends_ms, waits_ms;
} field_job_t;

typedef struct field_quota {
    uint32_t burst; /* UINT32_MAX = none */
    uint64_t held;  /* at the last commit */
} field_quota_t;

typedef struct field {
    uint64_t seed;
    helio_rng_t rng;
    helio_arena_t *arena;
    helio_broker_core_t *core;
    helio_effects_t *effects;
    int64_t now_ms;
    uint64_t calls, hash, steps;
    uint64_t submitting; /* the call of the newest job */
    field_site_t sites[FIELD_SITES_MAX];
    uint32_t site_count;
    field_job_t *jobs;
    uint32_t job_count;
    field_quota_t quotas[FIELD_TENANTS][FIELD_QUEUES + 1]; /* the last entry: all queues together */
    helio_event_t *mail;                                   /* reports that wait for the end of the step */
    uint32_t mail_count, mail_capacity;
    uint64_t gpus[FIELD_TENANTS];
    double gpu_ms[FIELD_TENANTS];
    uint64_t placements, preemptions;
    int64_t idle_ms; /* since when no job ran although one waited; -1 = not the case */
    bool trace;
    char violation[320];
} field_t;

extern const char *const field_tenants[FIELD_TENANTS];

/*  A loaded core, without sites. */
field_t *field_new(uint64_t seed, bool trace);
void field_destroy(field_t **self_p);
uint64_t field_below(field_t *self, uint64_t bound);
int64_t field_wall_ms(const field_t *self);
void field_violate(field_t *self, const char *format, ...) HELIO_PRINTF(2, 3);

/*  Sites are created first, and join in any order. */
field_site_t *field_site(field_t *self);
helio_pool_t *field_pool(field_t *self, field_site_t *site, const char *gpu, uint32_t nodes, uint32_t gpus, double usd);
void field_join(field_t *self, uint32_t site);

/*  A job with one GPU request; it runs for run_ms of its limit. Lives in the field; submit it when it is complete. */
field_job_t *field_job(field_t *self, const char *gpu, uint32_t gpus, uint32_t nodes, uint64_t limit_ms,
                       uint64_t run_ms);
void field_submit(field_t *self, field_job_t *job);
void field_quota(field_t *self, uint32_t tenant, uint32_t queue, uint32_t guaranteed, uint32_t burst,
                 uint32_t weight_milli);
/*  Ends the jobs that are due, in order; sites report at least every ten seconds. */
void field_run(field_t *self, int64_t ms);
bool field_is_over(const field_t *self, const field_job_t *job);
bool field_all_over(const field_t *self);

#endif
