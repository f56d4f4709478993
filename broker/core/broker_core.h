/*  broker_core.h -- the state machine of the federation: one step function, no I/O, no clock, no randomness of its own.
 *
 *  Thread: one owner. The shells (broker/engine, store, gateway, http) turn the world into events and carry out effects. The
 *  same core runs in production, in the what-if simulator and in the fault tests.
 *
 *  Order of life: LOAD_* … LOADED, then everything else. The core never waits and never fails: bad input from outside
 *  is answered (ANSWER, REFUSAL) or counted; a broken promise of a shell is an assert.
 */
#ifndef HELIO_BROKER_CORE_H
#define HELIO_BROKER_CORE_H

#include "broker/core/rows.h"
#include "federation/base/step.h"
#include "federation/policy/choice.h"
#include "federation/policy/quota.h"
#include "federation/policy/victims.h"

/*  Why a job is being stopped. The order is the stored value: append only. */
typedef enum helio_intent {
    HELIO_INTENT_NONE,
    HELIO_INTENT_CANCEL,
    HELIO_INTENT_REQUEUE,
    HELIO_INTENT_PREEMPT /* evicted: its place in the queue is kept */
} helio_intent_t;

enum { HELIO_DEPENDS_MAX = 3 * HELIO_JOB_LIST_MAX }; /* of one job */

/* ---- events ---------------------------------------------------------------------------------------------- */

/*  A job as it was stored; spec is parsed from row.source by the shell. */
#define HELIO_EV_LOAD_JOB_FIELDS(F, R)                                                                       \
    F(R, RECORD, row, 0, helio_row_job)                                                                      \
    F(R, RECORD, spec, 0, helio_job_spec)
HELIO_RECORD_DECLARE(helio_ev_load_job, HELIO_EV_LOAD_JOB_FIELDS)

#define HELIO_EV_NOTHING_FIELDS(F, R) F(R, U32, unused, 0, _)
HELIO_RECORD_DECLARE(helio_ev_nothing, HELIO_EV_NOTHING_FIELDS)

#define HELIO_EV_SEALED_FIELDS(F, R) F(R, U64, batch, 0, _)
HELIO_RECORD_DECLARE(helio_ev_sealed, HELIO_EV_SEALED_FIELDS)

/*  A job that the document names in `depends`, looked up by the shell, which has what the core has forgotten. */
#define HELIO_DEPENDENCY_FIELDS(F, R)                                                                        \
    F(R, TEXT, word, 64, _) /* as written */                                                                 \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _)                                                               \
    F(R, U32, found, HELIO_FOUND_COUNT - 1, _)                                                               \
    F(R, KEY, on, 0, _) /* unless UNKNOWN or AMBIGUOUS */
HELIO_RECORD_DECLARE(helio_dependency, HELIO_DEPENDENCY_FIELDS)

/*  depends: one entry for each word of spec.after_ok, after_any, after_not_ok, in this order. An OPEN job that ended since
 *  it was looked up is answered with BUSY and reason Gated, released once its end is durable: look up again. */
#define HELIO_SUBMISSION_FIELDS(F, R)                                                                        \
    F(R, BYTES, source, HELIO_JOB_SOURCE_MAX, _)                                                             \
    F(R, BYTES, spec_hash, 32, _)       /* SHA-256 of source; empty without a key */                         \
    F(R, TEXT, idempotency_key, 128, _) /* "" = none */                                                      \
    F(R, RECORD, spec, 0, helio_job_spec)                                                                    \
    F(R, LIST, depends, HELIO_DEPENDS_MAX, helio_dependency)
HELIO_RECORD_DECLARE(helio_submission, HELIO_SUBMISSION_FIELDS)

/*  Who asks: `call` comes back in the ANSWER. role: helio_role_t; a user sees the own tenant only. */
#define HELIO_EV_SUBMIT_FIELDS(F, R)                                                                         \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, LIST, jobs, 10000, helio_submission) /* all or none */
HELIO_RECORD_DECLARE(helio_ev_submit, HELIO_EV_SUBMIT_FIELDS)

#define HELIO_ROLE_TABLE(X) X(USER, "user") X(OPERATOR, "operator") X(ADMIN, "admin")
#define HELIO_ROLE_ENUMERATOR(name, word) HELIO_ROLE_##name,
HELIO_ENUM_DECLARE(helio_role, HELIO_ROLE, HELIO_ROLE_TABLE)

/*  CANCEL, RELEASE: of one job, one task, or (NO_TASK on an array) all tasks. */
#define HELIO_EV_COMMAND_FIELDS(F, R)                                                                        \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, KEY, key, 0, _)
HELIO_RECORD_DECLARE(helio_ev_command, HELIO_EV_COMMAND_FIELDS)

/*  DRAIN, UNDRAIN, ATTEST (the operator swears that nothing of ours runs at the site any more). */
#define HELIO_EV_SITE_COMMAND_FIELDS(F, R)                                                                   \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, reason, 256, _)
HELIO_RECORD_DECLARE(helio_ev_site_command, HELIO_EV_SITE_COMMAND_FIELDS)

#define HELIO_EV_TOKEN_FIELDS(F, R)                                                                          \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, actor, 96, _)                                                                                 \
    F(R, RECORD, token, 0, helio_row_token) /* revoked_ms set = revoke */
HELIO_RECORD_DECLARE(helio_ev_token, HELIO_EV_TOKEN_FIELDS)

#define HELIO_EV_SITE_KEY_FIELDS(F, R)                                                                       \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, actor, 96, _)                                                                                 \
    F(R, RECORD, key, 0, helio_row_site_key)
HELIO_RECORD_DECLARE(helio_ev_site_key, HELIO_EV_SITE_KEY_FIELDS)

/*  Sets a quota. What is not given stays as it is. */
#define HELIO_EV_QUOTA_FIELDS(F, R)                                                                          \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, queue, 32, _) /* "" = all of the tenant's queues together */                                  \
    F(R, BOOL, guaranteed_given, 0, _)                                                                       \
    F(R, U32, guaranteed_gpus, 0, _)                                                                         \
    F(R, BOOL, burst_given, 0, _)                                                                            \
    F(R, U32, burst_gpus, 0, _) /* HELIO_QUOTA_UNLIMITED = no limit */                                       \
    F(R, BOOL, weight_given, 0, _)                                                                           \
    F(R, U32, weight_milli, 0, _) /* of a tenant, not of a queue of it */
HELIO_RECORD_DECLARE(helio_ev_quota, HELIO_EV_QUOTA_FIELDS)

/*  Says where the data under a prefix lies, in place of what was said before; no sites = nowhere any more. */
#define HELIO_EV_DATA_FIELDS(F, R)                                                                           \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, prefix, HELIO_DATA_PREFIX_MAX, _)                                                             \
    F(R, LIST, sites, HELIO_DATA_SITES_MAX, helio_word)                                                      \
    F(R, BOOL, tenant_given, 0, _) /* else as it was */                                                      \
    F(R, TEXT, tenant, 32, _)      /* "*" = everybody's */
HELIO_RECORD_DECLARE(helio_ev_data, HELIO_EV_DATA_FIELDS)

/*  Sets a link, or removes it; "*" = any site. */
#define HELIO_EV_LINK_FIELDS(F, R)                                                                           \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, from, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, TEXT, to, HELIO_SITE_NAME_MAX, _)                                                                   \
    F(R, BOOL, removed, 0, _)                                                                                \
    F(R, U64, mbps, 0, _)                                                                                    \
    F(R, I64, egress_micro_usd_per_gb, 0, _)                                                                 \
    F(R, U32, rtt_ms, 0, _)
HELIO_RECORD_DECLARE(helio_ev_link, HELIO_EV_LINK_FIELDS)

/*  Makes a queue, changes or removes it. What is not given stays as it is. */
#define HELIO_EV_QUEUE_FIELDS(F, R)                                                                          \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, BOOL, priority_given, 0, _)                                                                         \
    F(R, U32, priority, 0, _)                                                                                \
    F(R, BOOL, tier_given, 0, _)                                                                             \
    F(R, U32, tier, HELIO_TIER_COUNT - 1, _)                                                                 \
    F(R, BOOL, time_limit_given, 0, _)                                                                       \
    F(R, U64, time_limit_ms, 0, _)                                                                           \
    F(R, BOOL, remove, 0, _)
HELIO_RECORD_DECLARE(helio_ev_queue, HELIO_EV_QUEUE_FIELDS)

/*  Sets or removes a rule of a queue (helio_row_queue_rule): schedule "" = for for_ms from now. The shell reads the zone's
 *  file: the core has none. */
#define HELIO_EV_QUEUE_RULE_FIELDS(F, R)                                                                     \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, TEXT, region, 32, _)                                                                                \
    F(R, TEXT, schedule, 256, _)                                                                             \
    F(R, TEXT, zone, 64, _)                                                                                  \
    F(R, BYTES, zone_data, HELIO_QUEUE_ZONE_DATA_MAX, _)                                                     \
    F(R, U64, for_ms, 0, _)                                                                                  \
    F(R, U32, priority, 0, _)                                                                                \
    F(R, BOOL, remove, 0, _)
HELIO_RECORD_DECLARE(helio_ev_queue_rule, HELIO_EV_QUEUE_RULE_FIELDS)

/*  Sets the whole of an overflow group, or removes it. */
#define HELIO_EV_OVERFLOW_FIELDS(F, R)                                                                       \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                                 \
    F(R, TEXT, name, 32, _)                                                                                  \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, steps, 1024, _)                                                                               \
    F(R, BOOL, remove, 0, _)
HELIO_RECORD_DECLARE(helio_ev_overflow, HELIO_EV_OVERFLOW_FIELDS)

enum {
    HELIO_QUEUE_PRIORITY_MAX = 1000000,
    HELIO_QUEUE_TIME_MAX_D = 366,
    HELIO_QUEUE_RULE_FOR_MAX_D = 366,
    HELIO_QUEUE_RULES_MAX = 32, /* of one queue */
    HELIO_QUEUES_MAX = 256,
    HELIO_OVERFLOWS_MAX = 256
};

/*  From a site's session. `site` is the authenticated principal, never a field of the message; `peer` names the
 *  connection: a newer HELLO of the same site replaces the older session. */
#define HELIO_EV_SITE_HELLO_FIELDS(F, R)                                                                     \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, TEXT, agent_version, 32, _)                                                                         \
    F(R, UUID, boot_id, 0, _)                                                                                \
    F(R, U64, incarnation_seen, 0, _)                                                                        \
    F(R, BOOL, reconcile_only, 0, _)                                                                         \
    F(R, RECORD, profile, 0, helio_site_profile)
HELIO_RECORD_DECLARE(helio_ev_site_hello, HELIO_EV_SITE_HELLO_FIELDS)

#define HELIO_EV_SITE_INVENTORY_FIELDS(F, R)                                                                 \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, LIST, holdings, 1000, helio_holding)                                                                \
    F(R, BOOL, last, 0, _)
HELIO_RECORD_DECLARE(helio_ev_site_inventory, HELIO_EV_SITE_INVENTORY_FIELDS)

#define HELIO_EV_SITE_SUMMARY_FIELDS(F, R)                                                                   \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, RECORD, summary, 0, helio_site_summary)
HELIO_RECORD_DECLARE(helio_ev_site_summary, HELIO_EV_SITE_SUMMARY_FIELDS)

#define HELIO_EV_SITE_REPORTS_FIELDS(F, R)                                                                   \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, LIST, reports, 1000, helio_report)
HELIO_RECORD_DECLARE(helio_ev_site_reports, HELIO_EV_SITE_REPORTS_FIELDS)

#define HELIO_EV_SITE_RENEW_FIELDS(F, R)                                                                     \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, I64, sent_boot_ms, 0, _)
HELIO_RECORD_DECLARE(helio_ev_site_renew, HELIO_EV_SITE_RENEW_FIELDS)

#define HELIO_EV_SITE_GONE_FIELDS(F, R)                                                                      \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, TEXT, reason, 128, _)
HELIO_RECORD_DECLARE(helio_ev_site_gone, HELIO_EV_SITE_GONE_FIELDS)

/*  A session was refused or ended for what the site sent, before or without the core: for people to see. */
#define HELIO_EV_SITE_REFUSED_FIELDS(F, R)                                                                   \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, U32, rc, HELIO_TIMEOUT, _)                                                                          \
    F(R, TEXT, text, 256, _)
HELIO_RECORD_DECLARE(helio_ev_site_refused, HELIO_EV_SITE_REFUSED_FIELDS)

/*  NAME, record */
#define HELIO_BROKER_EVENT_TABLE(X)                                                                          \
    X(LOAD_FEDERATION, helio_row_federation)                                                                 \
    X(LOAD_TENANT, helio_row_tenant)                                                                         \
    X(LOAD_QUEUE, helio_row_queue)                                                                           \
    X(LOAD_QUEUE_RULE, helio_row_queue_rule) /* after queues */                                              \
    X(LOAD_QUOTA, helio_row_quota) /* after tenants and queues */                                            \
    X(LOAD_OVERFLOW, helio_row_overflow)                                                                     \
    X(LOAD_USAGE, helio_row_usage)                                                                           \
    X(LOAD_DATA, helio_row_data)                                                                             \
    X(LOAD_LINK, helio_row_link)                                                                             \
    X(LOAD_SITE, helio_row_site)                                                                             \
    X(LOAD_POOL, helio_row_pool)                                                                             \
    X(LOAD_KEY, helio_row_key)                                                                               \
    X(LOAD_JOB, helio_ev_load_job)   /* before the states of its tasks */                                    \
    X(LOAD_STATE, helio_row_state)                                                                           \
    X(LOAD_WAITING, helio_row_waiting) /* after the states of all tasks */                                   \
    X(LOAD_LEAST, helio_row_least)     /* the same */                                                        \
    X(LOAD_TRANSFER, helio_row_transfer) /* the same */                                                      \
    X(LOAD_ACTUAL, helio_row_actual)   /* after the pools: hours that a site's series were priced by */      \
    X(LOAD_SERIES, helio_row_series)   /* after the actuals, the newest of each: hours ahead */              \
    X(LOAD_RUN, helio_row_run)         /* in the order of their ends */                                      \
    X(LOADED, helio_ev_nothing)                                                                              \
    X(TICK, helio_ev_nothing)                                                                                \
    X(SEALED, helio_ev_sealed)                                                                               \
    X(SUBMIT, helio_ev_submit)                                                                               \
    X(CANCEL, helio_ev_command)                                                                              \
    X(RELEASE, helio_ev_command)                                                                             \
    X(DRAIN, helio_ev_site_command)                                                                          \
    X(UNDRAIN, helio_ev_site_command)                                                                        \
    X(ATTEST, helio_ev_site_command)                                                                         \
    X(TOKEN, helio_ev_token)                                                                                 \
    X(SITE_KEY, helio_ev_site_key)                                                                           \
    X(SITE_HELLO, helio_ev_site_hello)                                                                       \
    X(SITE_INVENTORY, helio_ev_site_inventory)                                                               \
    X(SITE_SUMMARY, helio_ev_site_summary)                                                                   \
    X(SITE_REPORTS, helio_ev_site_reports)                                                                   \
    X(SITE_RENEW, helio_ev_site_renew)                                                                       \
    X(SITE_GONE, helio_ev_site_gone)                                                                         \
    X(PLAN, helio_ev_submit) /* one job: what would become of it? Changes nothing */ \
    X(QUOTA, helio_ev_quota)                                                                                 \
    X(DATA, helio_ev_data)                                                                                   \
    X(LINK, helio_ev_link)                                                                                   \
    X(QUEUE, helio_ev_queue)                                                                                 \
    X(QUEUE_RULE, helio_ev_queue_rule)                                                                       \
    X(OVERFLOW, helio_ev_overflow)                                                                           \
    X(EXPLAIN, helio_ev_command) /* of a job that has not started: what is ahead of it. Changes nothing */ \
    X(SITE_REFUSED, helio_ev_site_refused)

typedef enum helio_broker_event {
#define X(NAME, record) HELIO_BROKER_EV_##NAME,
    HELIO_BROKER_EVENT_TABLE(X)
#undef X
        HELIO_BROKER_EVENT_COUNT
} helio_broker_event_t;

/* ---- effects --------------------------------------------------------------------------------------------- */

#define HELIO_PLANNED_CANDIDATE_FIELDS(F, R)                                                                 \
    F(R, RECORD, row, 0, helio_row_candidate)                                                                \
    F(R, TEXT, backend, 16, _)
HELIO_RECORD_DECLARE(helio_planned_candidate, HELIO_PLANNED_CANDIDATE_FIELDS)

/*  Of PLAN: as a decision would be written (rows.h), were the job submitted now. */
#define HELIO_PLANNED_FIELDS(F, R)                                                                           \
    F(R, TEXT, name, HELIO_JOB_NAME_MAX, _)                                                                  \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                                                 \
    F(R, BOOL, prices_set, 0, _) /* the document's own instead of a goal's */                                \
    F(R, U64, flexible_ms, 0, _)                                                                             \
    F(R, I64, deadline_wall_ms, 0, _)                                                                        \
    F(R, RECORD, decision, 0, helio_row_decision) /* decision_id and class_id 0; reason "" = it would start now */ \
    F(R, I64, expected_ms, 0, _)                  /* of its start; 0 = not foreseen */                       \
    F(R, U64, run_ms, 0, _) /* expected at the chosen place, else at the best; the time limit where nothing is known */ \
    F(R, U32, gpus, 0, _)                         /* at the chosen place, else as asked for first; all nodes */ \
    F(R, U32, nodes, 0, _)                                                                                   \
    F(R, I64, carbon_price_micro_usd_per_t, 0, _)                                                            \
    F(R, I64, wait_price_micro_usd_per_gpu_h, 0, _)                                                          \
    F(R, LIST, candidates, 65536, helio_planned_candidate)                                                   \
    F(R, U64, run_high_ms, 0, _)                                                                             \
    F(R, U64, time_limit_ms, 0, _)                                                                           \
    F(R, U32, expected_runs, 0, _) /* as of a job's row */                                                   \
    F(R, U32, expected_failed, 0, _)                                                                         \
    F(R, U32, expected_basis, HELIO_DURATION_BASIS_COUNT - 1, _)                                             \
    F(R, TEXT, expected_of, 64, _) /* the name, user or kind whose runs they are */
HELIO_RECORD_DECLARE(helio_planned, HELIO_PLANNED_FIELDS)

/*  Who goes before a job: neighbours in the order of turns, of one tenant and queue. tenant "" = one that the reader may not see. */
#define HELIO_AHEAD_FIELDS(F, R)                                                                             \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, queue, 32, _)                                                                                 \
    F(R, U64, jobs, 0, _)                                                                                    \
    F(R, U64, gpus, 0, _)
HELIO_RECORD_DECLARE(helio_ahead, HELIO_AHEAD_FIELDS)

/*  A change that was tried and lets a job start sooner. */
#define HELIO_HINT_KIND_TABLE(X)                                                                             \
    X(FLEXIBLE, "flexible") X(MAX_COST, "max_cost") X(MAX_CARBON, "max_carbon") X(DEADLINE, "deadline")      \
    X(TIME, "time") X(GPU, "gpu") X(SITES, "sites") X(REGIONS, "regions") X(QUEUE, "queue") X(QUOTA, "quota")
#define HELIO_HINT_KIND_ENUMERATOR(name, word) HELIO_HINT_KIND_##name,
typedef enum helio_hint_kind { HELIO_HINT_KIND_TABLE(HELIO_HINT_KIND_ENUMERATOR) HELIO_HINT_KIND_COUNT } helio_hint_kind_t;
const char *helio_hint_kind_word(uint32_t value);
#define HELIO_HINT_FIELDS(F, R)                                                                              \
    F(R, U32, kind, HELIO_HINT_KIND_COUNT - 1, _)                                                            \
    F(R, TEXT, change, 160, _)                                                                               \
    F(R, TEXT, effect, 240, _)
HELIO_RECORD_DECLARE(helio_hint, HELIO_HINT_FIELDS)

/*  Of a job that has not started. Times are wall clock, 0 = not known; basis: what they rest on. */
#define HELIO_PROSPECT_FIELDS(F, R)                                                                          \
    F(R, I64, earliest_ms, 0, _)                                                                             \
    F(R, I64, latest_ms, 0, _)                                                                               \
    F(R, TEXT, basis, 256, _)                                                                                \
    F(R, U64, ahead_jobs, 0, _)                                                                              \
    F(R, U64, ahead_gpus, 0, _) /* by the first alternative of each */                                       \
    F(R, LIST, ahead, 16, helio_ahead) /* the first three lines */                                           \
    F(R, LIST, hints, 16, helio_hint)                                                                        \
    F(R, I64, at_ms, 0, _) /* when it was foreseen */
HELIO_RECORD_DECLARE(helio_prospect, HELIO_PROSPECT_FIELDS)

/*  To the caller of SUBMIT, CANCEL, … One per call. jobs: ids of SUBMIT, in order. `reason` is a closed word
 *  (helio_reason_t, or "" when ok), text says what, where and how to mend it. */
#define HELIO_ACCEPTED_JOB_FIELDS(F, R)                                                                      \
    F(R, UUID, job, 0, _)                                                                                    \
    F(R, BOOL, existed, 0, _) /* the idempotency key was known with the same document */
HELIO_RECORD_DECLARE(helio_accepted_job, HELIO_ACCEPTED_JOB_FIELDS)

#define HELIO_FX_ANSWER_FIELDS(F, R)                                                                         \
    F(R, U64, call, 0, _)                                                                                    \
    F(R, U32, rc, 0, _) /* helio_rc */                                                                       \
    F(R, TEXT, reason, 64, _)                                                                                \
    F(R, TEXT, text, 512, _)                                                                                 \
    F(R, LIST, jobs, 10000, helio_accepted_job)                                                              \
    F(R, RECORD, plan, 0, helio_planned)                                                                     \
    F(R, RECORD, prospect, 0, helio_prospect) /* of EXPLAIN and PLAN */
HELIO_RECORD_DECLARE(helio_fx_answer, HELIO_FX_ANSWER_FIELDS)

#define HELIO_FX_WELCOME_FIELDS(F, R)                                                                        \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, U64, incarnation, 0, _)                                                                             \
    F(R, U64, broker_epoch, 0, _)                                                                            \
    F(R, U64, lease_ms, 0, _)                                                                                \
    F(R, U64, renew_ms, 0, _)                                                                                \
    F(R, U64, summary_ms, 0, _)
HELIO_RECORD_DECLARE(helio_fx_welcome, HELIO_FX_WELCOME_FIELDS)

#define HELIO_FX_RULING_FIELDS(F, R)                                                                         \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, RECORD, ruling, 0, helio_ruling)
HELIO_RECORD_DECLARE(helio_fx_ruling, HELIO_FX_RULING_FIELDS)

#define HELIO_FX_PEER_FIELDS(F, R)                                                                           \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, U32, rc, 0, _)                                                                                      \
    F(R, TEXT, text, 512, _)
HELIO_RECORD_DECLARE(helio_fx_peer, HELIO_FX_PEER_FIELDS)

#define HELIO_FX_ORDER_FIELDS(F, R)                                                                          \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, U64, incarnation, 0, _)                                                                             \
    F(R, RECORD, order, 0, helio_order)
HELIO_RECORD_DECLARE(helio_fx_order, HELIO_FX_ORDER_FIELDS)

#define HELIO_FX_STOP_FIELDS(F, R)                                                                           \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, RECORD, stop, 0, helio_stop)
HELIO_RECORD_DECLARE(helio_fx_stop, HELIO_FX_STOP_FIELDS)

#define HELIO_FX_REPORTS_ACK_FIELDS(F, R)                                                                    \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, U64, seq, 0, _)
HELIO_RECORD_DECLARE(helio_fx_reports_ack, HELIO_FX_REPORTS_ACK_FIELDS)

#define HELIO_FX_RENEWED_FIELDS(F, R)                                                                        \
    F(R, U64, peer, 0, _)                                                                                    \
    F(R, I64, sent_boot_ms, 0, _)                                                                            \
    F(R, U64, lease_ms, 0, _)
HELIO_RECORD_DECLARE(helio_fx_renewed, HELIO_FX_RENEWED_FIELDS)

/*  NAME, record, release. ROW kinds first. */
#define HELIO_BROKER_EFFECT_TABLE(X)                                                                         \
    X(ROW_JOB, helio_row_job, ROW)                                                                           \
    X(ROW_STATE, helio_row_state, ROW)                                                                       \
    X(ROW_PLACEMENT, helio_row_placement, ROW)                                                               \
    X(ROW_ATTEMPT, helio_row_attempt, ROW)                                                                   \
    X(ROW_LEDGER, helio_row_ledger, ROW)                                                                     \
    X(ROW_TRANSITION, helio_row_transition, ROW) /* also what the event stream shows, once committed */      \
    X(ROW_DECISION, helio_row_decision, ROW)                                                                 \
    X(ROW_CANDIDATE, helio_row_candidate, ROW)                                                               \
    X(ROW_CLASS, helio_row_class, ROW)                                                                       \
    X(ROW_SITE, helio_row_site, ROW)                                                                         \
    X(ROW_POOL, helio_row_pool, ROW)                                                                         \
    X(ROW_CAPACITY, helio_row_capacity, ROW)                                                                 \
    X(ROW_SERIES, helio_row_series, ROW)                                                                     \
    X(ROW_AUDIT, helio_row_audit, ROW)                                                                       \
    X(ROW_TOKEN, helio_row_token, ROW)       /* the http shell's table follows, once committed */            \
    X(ROW_SITE_KEY, helio_row_site_key, ROW) /* the gateway's table follows, once committed */               \
    X(ROW_DEPENDENCY, helio_row_dependency, ROW)                                                             \
    X(ROW_GATE, helio_row_gate, ROW)                                                                         \
    X(ROW_QUOTA, helio_row_quota, ROW)                                                                       \
    X(ROW_RATES, helio_row_rates, ROW)                                                                       \
    X(ROW_ACTUAL, helio_row_actual, ROW)                                                                     \
    X(ROW_BASELINE, helio_row_baseline, ROW)                                                                 \
    X(ROW_DATA, helio_row_data, ROW)                                                                         \
    X(ROW_LINK, helio_row_link, ROW)                                                                         \
    X(ROW_QUEUE, helio_row_queue, ROW)                                                                       \
    X(ROW_QUEUE_RULE, helio_row_queue_rule, ROW)                                                             \
    X(ROW_OVERFLOW, helio_row_overflow, ROW)                                                                 \
    X(ROW_SITE_ENERGY, helio_row_site_energy, ROW)                                                           \
    X(ANSWER, helio_fx_answer, HELD)                                                                         \
    X(ORDER, helio_fx_order, HELD)                                                                           \
    X(STOP, helio_fx_stop, HELD)                                                                             \
    X(RULING, helio_fx_ruling, HELD)                                                                         \
    X(RULINGS_DONE, helio_fx_peer, HELD)                                                                     \
    X(REPORTS_ACK, helio_fx_reports_ack, HELD)                                                               \
    X(WELCOME, helio_fx_welcome, FREE)                                                                       \
    X(RENEWED, helio_fx_renewed, FREE)                                                                       \
    X(RESYNC, helio_fx_peer, FREE)                                                                           \
    X(REFUSAL, helio_fx_peer, FREE)

typedef enum helio_broker_effect {
#define X(NAME, record, release) HELIO_BROKER_FX_##NAME,
    HELIO_BROKER_EFFECT_TABLE(X)
#undef X
        HELIO_BROKER_EFFECT_COUNT
} helio_broker_effect_t;

extern const helio_step_kind_t helio_broker_events[HELIO_BROKER_EVENT_COUNT];
extern const helio_step_kind_t helio_broker_effects[HELIO_BROKER_EFFECT_COUNT];

/* ---- the core -------------------------------------------------------------------------------------------- */

typedef struct helio_broker_options {
    uint64_t lease_ms;         /* 15 min; granted to a site at each renewal */
    uint64_t renew_ms;         /* lease / 10 */
    uint64_t summary_ms;       /* 1 s */
    uint64_t silent_after_ms;  /* no word from a site for so long: its jobs are suspect; 60 s */
    uint32_t queued_max;       /* jobs not terminal, over all tenants: more is BUSY (429) */
    uint32_t queued_per_tenant_max;
    uint32_t offers_unanswered_max; /* per site: no more offers until some are accepted or refused */
} helio_broker_options_t;

/*  The defaults, each as written above (bounds: 2,000,000 jobs, 1,000,000 a tenant, 20,000 offers). */
helio_broker_options_t helio_broker_options_default(void);

typedef struct helio_broker_core helio_broker_core_t;

helio_broker_core_t *helio_broker_core_new(helio_broker_options_t options);
void helio_broker_core_destroy(helio_broker_core_t **self_p);
void helio_broker_core_step(helio_broker_core_t *self, const helio_event_t *event, helio_effects_t *effects);

/*  The mark: no open job has a smaller id, and none ever will. Read between steps by the owner, when a batch
 *  is sealed, and committed with that batch; a new leader reads the jobs from the mark on.
 *
 *  Why nothing is lost below it. After a step the core's jobs are exactly those that are open by the rows of
 *  all batches up to the open one: a job enters with its row and leaves with the row that says it is over. So
 *  a job that falls below the mark of batch n is over in batch n or before, and if n is lost its mark is lost
 *  with it. A job that is not stored yet has no id yet: the core gives ids in the order of the rows, each
 *  larger than every one before it, whatever the clock does and whoever led before (LOAD_FEDERATION brings
 *  the largest there is). */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self);

/*  Figures for /metrics and tests; cheap, read between steps by the owner. */
typedef struct helio_broker_figures {
    uint64_t jobs[HELIO_JOB_STATE_COUNT]; /* not terminal: now; terminal: since start */
    uint64_t classes;
    uint64_t sites_ready;
    uint64_t sites;
    uint64_t placements_total;
    uint64_t refusals_total;
    uint64_t stale_reports_total;   /* of an epoch that is not current */
    uint64_t illegal_reports_total; /* would be a transition that is not listed */
    uint64_t preemptions_total[HELIO_EVICT_WHY_COUNT];
    uint64_t reserve_shortfall_gpu_ms; /* kept by a window of a site, and still held by work that it is not kept for */
    uint64_t open_batch;
} helio_broker_figures_t;
void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);

/*  Walks all jobs that are not terminal, for invariant checks. */
typedef struct helio_broker_job_view {
    helio_job_key_t key;
    uint32_t state;
    uint32_t epoch;
    const char *site; /* "" = none */
} helio_broker_job_view_t;
void helio_broker_core_each(const helio_broker_core_t *self,
                            void (*visit)(void *arg, const helio_broker_job_view_t *job), void *arg);

#endif
