/*  events.h -- what the shells tell the core. Each kind of event is one record.
 *
 *  Names that end in _wall_ms are Unix time; plain _ms is a duration or, where the comment says so, a time. Texts,
 *  lists and bytes are borrowed: the core copies what it keeps. */
#ifndef HELIO_BROKER_MODEL_EVENTS_H
#define HELIO_BROKER_MODEL_EVENTS_H

#include "broker/model/rows.h"
#include "federation/base/step.h"

enum { HELIO_CHANNEL_WORD_MAX = 64 }; /* of a channel's command, as the audit has it */
enum { HELIO_DEPENDS_MAX = 4 * HELIO_JOB_LIST_MAX + HELIO_JOB_AFTER_TASK_MAX * HELIO_JOB_ARRAY_MAX }; /* of one job */

/*  A job as it was stored. The shell has parsed spec from row.source. */
#define HELIO_EV_LOAD_JOB_FIELDS(F, R)  \
    F(R, RECORD, row, 0, helio_row_job) \
    F(R, RECORD, spec, 0, helio_job_spec)
HELIO_RECORD_DECLARE(helio_ev_load_job, HELIO_EV_LOAD_JOB_FIELDS)

#define HELIO_EV_NOTHING_FIELDS(F, R) F(R, U32, unused, 0, _)
HELIO_RECORD_DECLARE(helio_ev_nothing, HELIO_EV_NOTHING_FIELDS)

#define HELIO_EV_SEALED_FIELDS(F, R) F(R, U64, batch, 0, _)
HELIO_RECORD_DECLARE(helio_ev_sealed, HELIO_EV_SEALED_FIELDS)

/*  A job that the document names in `depends`. The shell has looked it up in the database, which also has the jobs that
 *  the core has forgotten. */
#define HELIO_DEPENDENCY_FIELDS(F, R)          \
    F(R, TEXT, word, 64, _) /* as written */   \
    F(R, U32, after, HELIO_AFTER_COUNT - 1, _) \
    F(R, U32, found, HELIO_FOUND_COUNT - 1, _) \
    F(R, KEY, on, 0, _) /* not set for UNKNOWN and AMBIGUOUS */
HELIO_RECORD_DECLARE(helio_dependency, HELIO_DEPENDENCY_FIELDS)

/*  depends: one entry for each name in spec.after_ok, after_any, after_not_ok and after_start, in this order; then for each name
 *  in spec.after_task one for each task of the job, of that task of the named array. If an OPEN job has ended since the look-up, the reply is BUSY with reason Gated. It is sent after that end is durable: then the shell
 *  looks the job up again. */
#define HELIO_SUBMISSION_FIELDS(F, R)                                                \
    F(R, BYTES, source, HELIO_JOB_SOURCE_MAX, _)                                     \
    F(R, BYTES, spec_hash, 32, _)       /* SHA-256 of source; empty without a key */ \
    F(R, TEXT, idempotency_key, 128, _) /* "" = none */                              \
    F(R, RECORD, spec, 0, helio_job_spec)                                            \
    F(R, LIST, depends, HELIO_DEPENDS_MAX, helio_dependency)
HELIO_RECORD_DECLARE(helio_submission, HELIO_SUBMISSION_FIELDS)

enum { HELIO_SUPPOSED_PRICE_MAX = 1000000 }; /* thousandths */

/*  Every request begins with `call`, which comes back in its REPLY. role: helio_role_t. A request of a user concerns
 *  the tenant of that user only. actor: the principal that asks, "user:TENANT/NAME", since names of users belong to
 *  their tenants. */
#define HELIO_EV_SUBMIT_FIELDS(F, R)                                                 \
    F(R, U64, call, 0, _)                                                            \
    F(R, TEXT, tenant, 32, _)                                                        \
    F(R, TEXT, user, 64, _)                                                          \
    F(R, LIST, jobs, 10000, helio_submission) /* all or none */                      \
    /* PLAN: what is supposed of one site; "" = nothing is */                        \
    F(R, TEXT, supposed_site, 32, _)                                                 \
    F(R, BOOL, supposed_drain, 0, _)                                 /* it drains */ \
    F(R, U32, supposed_price_per_mille, HELIO_SUPPOSED_PRICE_MAX, _) /* its prices, of what they are; without a drain */
HELIO_RECORD_DECLARE(helio_ev_submit, HELIO_EV_SUBMIT_FIELDS)

#define HELIO_ROLE_TABLE(X) X(USER, "user") X(OPERATOR, "operator") X(ADMIN, "admin")
#define HELIO_ROLE_ENUMERATOR(name, word) HELIO_ROLE_##name,
HELIO_ENUM_DECLARE(helio_role, HELIO_ROLE, HELIO_ROLE_TABLE)

/*  CANCEL, HOLD, RELEASE, REQUEUE: of one job, of one task, or of all tasks (NO_TASK on an array). */
#define HELIO_EV_COMMAND_FIELDS(F, R)        \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, tenant, 32, _)                \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)    \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _) \
    F(R, KEY, key, 0, _)                     \
    F(R, BOOL, now, 0, _) /* CANCEL: without grace */
HELIO_RECORD_DECLARE(helio_ev_command, HELIO_EV_COMMAND_FIELDS)

/*  How an edit changes a time limit. */
typedef enum helio_time_change {
    HELIO_TIME_CHANGE_SET,
    HELIO_TIME_CHANGE_ADD,
    HELIO_TIME_CHANGE_SUBTRACT,
    HELIO_TIME_CHANGE_COUNT
} helio_time_change_t;

/*  Changes what a job that is not placed yet asks for; on an array, for all tasks. Fields that are not given keep their
 *  values. The first fields are those of a command. */
#define HELIO_EV_EDIT_FIELDS(F, R)                                                \
    F(R, U64, call, 0, _)                                                         \
    F(R, TEXT, tenant, 32, _)                                                     \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                                         \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                      \
    F(R, KEY, key, 0, _)                                                          \
    F(R, BOOL, priority_given, 0, _)                                              \
    F(R, I32, priority, 0, _)                                                     \
    F(R, BOOL, goal_given, 0, _)                                                  \
    F(R, U32, goal, HELIO_GOAL_COUNT - 1, _)                                      \
    F(R, BOOL, deadline_given, 0, _)                                              \
    F(R, I64, deadline_wall_ms, 0, _) /* 0 removes it; so in the next three */    \
    F(R, BOOL, flexible_given, 0, _)                                              \
    F(R, U64, flexible_ms, 0, _) /* from the submission on, as in the document */ \
    F(R, BOOL, max_cost_given, 0, _)                                              \
    F(R, U64, max_cost_micro_usd, 0, _)                                           \
    F(R, BOOL, max_carbon_given, 0, _)                                            \
    F(R, U64, max_carbon_mg_per_kwh, 0, _)                                        \
    F(R, BOOL, queue_given, 0, _)                                                 \
    F(R, TEXT, queue, 32, _)                                                      \
    F(R, BOOL, time_given, 0, _)                                                  \
    F(R, U32, time_change, HELIO_TIME_CHANGE_COUNT - 1, _)                        \
    F(R, U64, time_limit_ms, 0, _) /* SET: 0 is the queue's time limit */
HELIO_RECORD_DECLARE(helio_ev_edit, HELIO_EV_EDIT_FIELDS)

/*  A signal for a running job, or for the running tasks of an array. */
#define HELIO_EV_SIGNAL_FIELDS(F, R)                 \
    F(R, RECORD, command, 0, helio_ev_command)       \
    F(R, U32, signal, HELIO_JOB_SIGNAL_COUNT - 1, _) \
    F(R, U32, to, HELIO_SIGNAL_TO_COUNT - 1, _)
HELIO_RECORD_DECLARE(helio_ev_signal, HELIO_EV_SIGNAL_FIELDS)

/*  Opens a channel to a running job. Its command's arguments can hold secrets: they stay with the gateway, which knows the
 *  channel by this number. */
#define HELIO_EV_CHANNEL_FIELDS(F, R)                \
    F(R, RECORD, command, 0, helio_ev_command)       \
    F(R, U64, channel, 0, _)                         \
    F(R, U32, kind, HELIO_CHANNEL_KIND_COUNT - 1, _) \
    F(R, U32, port, 65535, _)                        \
    F(R, TEXT, word, HELIO_CHANNEL_WORD_MAX, _) /* the first of its command; "" = the login shell */
HELIO_RECORD_DECLARE(helio_ev_channel, HELIO_EV_CHANNEL_FIELDS)

/*  A channel that the core has opened is over. */
#define HELIO_EV_CHANNEL_ENDED_FIELDS(F, R) \
    F(R, U64, channel, 0, _)                \
    F(R, U32, rc, HELIO_TIMEOUT, _)         \
    F(R, U32, exit_code, 255, _)            \
    F(R, U64, bytes_in, 0, _)               \
    F(R, U64, bytes_out, 0, _)              \
    F(R, TEXT, text, 128, _) /* why, unless it ended by itself */
HELIO_RECORD_DECLARE(helio_ev_channel_ended, HELIO_EV_CHANNEL_ENDED_FIELDS)

/*  DRAIN, UNDRAIN, ATTEST (glossary: attest). */
#define HELIO_EV_SITE_COMMAND_FIELDS(F, R)   \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)    \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _) \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, reason, 256, _)
HELIO_RECORD_DECLARE(helio_ev_site_command, HELIO_EV_SITE_COMMAND_FIELDS)

/*  Limits the GPU power of a site for a time, or ends all its limits (`end`; then only the reason is read). */
enum {
    HELIO_CURTAIL_LEAST_MS = 60000,
    HELIO_CURTAIL_MOST_MS = 7 * 86400000,
    HELIO_CURTAIL_AHEAD_D = 30, /* from_wall_ms is at most so far ahead */
    HELIO_CURTAILMENTS_MAX = 16 /* of one site, those that are over not counted */
};
#define HELIO_EV_CURTAIL_FIELDS(F, R)                                   \
    F(R, U64, call, 0, _)                                               \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                               \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                            \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                            \
    F(R, BOOL, end, 0, _)                                               \
    F(R, U32, percent, 0, _)      /* 0 to 100, which the core checks */ \
    F(R, I64, from_wall_ms, 0, _) /* 0 = now */                         \
    F(R, U64, for_ms, 0, _)                                             \
    F(R, TEXT, reason, 256, _)
HELIO_RECORD_DECLARE(helio_ev_curtail, HELIO_EV_CURTAIL_FIELDS)

#define HELIO_EV_TOKEN_FIELDS(F, R)       \
    F(R, U64, call, 0, _)                 \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _) \
    F(R, RECORD, token, 0, helio_row_token) /* revoked_ms set = revoke */
HELIO_RECORD_DECLARE(helio_ev_token, HELIO_EV_TOKEN_FIELDS)

#define HELIO_EV_PRINCIPAL_FIELDS(F, R)   \
    F(R, U64, call, 0, _)                 \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _) \
    F(R, RECORD, principal, 0, helio_row_principal)
HELIO_RECORD_DECLARE(helio_ev_principal, HELIO_EV_PRINCIPAL_FIELDS)

#define HELIO_EV_SITE_KEY_FIELDS(F, R)    \
    F(R, U64, call, 0, _)                 \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _) \
    F(R, RECORD, key, 0, helio_row_site_key)
HELIO_RECORD_DECLARE(helio_ev_site_key, HELIO_EV_SITE_KEY_FIELDS)

/*  Creates or changes a tenant. Fields that are not given keep their values. */
#define HELIO_EV_TENANT_FIELDS(F, R)             \
    F(R, U64, call, 0, _)                        \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)        \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)     \
    F(R, TEXT, tenant, 32, _)                    \
    F(R, BOOL, home_given, 0, _)                 \
    F(R, TEXT, home_site, 32, _) /* "" = none */ \
    F(R, BOOL, weight_given, 0, _)               \
    F(R, U32, weight_milli, 0, _)
HELIO_RECORD_DECLARE(helio_ev_tenant, HELIO_EV_TENANT_FIELDS)

/*  Sets a quota. Fields that are not given keep their values. */
#define HELIO_EV_QUOTA_FIELDS(F, R)                                                                      \
    F(R, U64, call, 0, _)                                                                                \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                                                                \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                                                             \
    F(R, TEXT, tenant, 32, _)                                                                            \
    F(R, TEXT, queue, 32, _) /* "" = all queues of the tenant together */                                \
    F(R, BOOL, guaranteed_given, 0, _)                                                                   \
    F(R, U32, guaranteed_gpus, 0, _)                                                                     \
    F(R, BOOL, burst_given, 0, _)                                                                        \
    F(R, U32, burst_gpus, 0, _) /* HELIO_QUOTA_UNLIMITED = no limit */                                   \
    F(R, BOOL, weight_given, 0, _)                                                                       \
    F(R, U32, weight_milli, 0, _)                              /* of the tenant; INVALID with a queue */ \
    F(R, LIST, budgets, HELIO_BUDGETS_GIVEN_MAX, helio_string) /* in the form that federation/policy/budget.h reads */
HELIO_RECORD_DECLARE(helio_ev_quota, HELIO_EV_QUOTA_FIELDS)

/*  Replaces the sites that hold the data under a prefix. No sites: the entry is removed. */
#define HELIO_EV_DATA_FIELDS(F, R)                              \
    F(R, U64, call, 0, _)                                       \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                       \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)                    \
    F(R, TEXT, prefix, HELIO_DATA_PREFIX_MAX, _)                \
    F(R, LIST, sites, HELIO_DATA_SITES_MAX, helio_string)       \
    F(R, BOOL, tenant_given, 0, _) /* else it stays as it is */ \
    F(R, TEXT, tenant, 32, _)      /* "*" = for all tenants */
HELIO_RECORD_DECLARE(helio_ev_data, HELIO_EV_DATA_FIELDS)

/*  Sets or removes a link. "*" = any site. */
#define HELIO_EV_LINK_FIELDS(F, R)           \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)    \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _) \
    F(R, TEXT, from, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, to, HELIO_SITE_NAME_MAX, _)   \
    F(R, BOOL, removed, 0, _)                \
    F(R, U64, mbps, 0, _)                    \
    F(R, I64, egress_micro_usd_per_gb, 0, _) \
    F(R, U32, rtt_ms, 0, _)
HELIO_RECORD_DECLARE(helio_ev_link, HELIO_EV_LINK_FIELDS)

/*  Creates, changes or removes a queue. Fields that are not given keep their values. */
#define HELIO_EV_QUEUE_FIELDS(F, R)          \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)    \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _) \
    F(R, TEXT, queue, 32, _)                 \
    F(R, BOOL, priority_given, 0, _)         \
    F(R, U32, priority, 0, _)                \
    F(R, BOOL, tier_given, 0, _)             \
    F(R, U32, tier, HELIO_TIER_COUNT - 1, _) \
    F(R, BOOL, time_limit_given, 0, _)       \
    F(R, U64, time_limit_ms, 0, _)           \
    F(R, BOOL, remove, 0, _)
HELIO_RECORD_DECLARE(helio_ev_queue, HELIO_EV_QUEUE_FIELDS)

/*  Sets or removes a rule of a queue (helio_row_queue_rule). schedule "": the rule applies for for_ms from now on. The
 *  shell reads the time zone's file, because the core does no I/O. */
#define HELIO_EV_QUEUE_RULE_FIELDS(F, R)                 \
    F(R, U64, call, 0, _)                                \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)                \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _)             \
    F(R, TEXT, queue, 32, _)                             \
    F(R, TEXT, region, 32, _)                            \
    F(R, TEXT, schedule, 256, _)                         \
    F(R, TEXT, zone, 64, _)                              \
    F(R, BYTES, zone_data, HELIO_QUEUE_ZONE_DATA_MAX, _) \
    F(R, U64, for_ms, 0, _)                              \
    F(R, U32, priority, 0, _)                            \
    F(R, BOOL, remove, 0, _)
HELIO_RECORD_DECLARE(helio_ev_queue_rule, HELIO_EV_QUEUE_RULE_FIELDS)

/*  Replaces all steps of an overflow group, or removes the group. */
#define HELIO_EV_OVERFLOW_FIELDS(F, R)       \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)    \
    F(R, U32, role, HELIO_ROLE_COUNT - 1, _) \
    F(R, TEXT, name, 32, _)                  \
    F(R, TEXT, queue, 32, _)                 \
    F(R, TEXT, tenant, 32, _)                \
    F(R, TEXT, steps, 1024, _)               \
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

/*  How many GPUs are wanted where, now and in the hours ahead; "" = of all sites, of all pools. */
#define HELIO_EV_DESIRED_FIELDS(F, R)        \
    F(R, U64, call, 0, _)                    \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, TEXT, pool, 32, _)
HELIO_RECORD_DECLARE(helio_ev_desired, HELIO_EV_DESIRED_FIELDS)

/*  Events of a site's session. `site` is the authenticated principal, never a field of the message. `peer` identifies
 *  the connection: a newer HELLO of the same site replaces the older session. */
#define HELIO_EV_SITE_HELLO_FIELDS(F, R)                                                             \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                         \
    F(R, U64, peer, 0, _)                                                                            \
    F(R, TEXT, agent_version, 32, _)                                                                 \
    F(R, UUID, boot_id, 0, _)                                                                        \
    F(R, U64, incarnation_seen, 0, _)                                                                \
    F(R, BOOL, reconcile_only, 0, _)                                                                 \
    F(R, RECORD, profile, 0, helio_site_profile)                                                     \
    F(R, U64, broker_epoch_seen, 0, _) /* of that incarnation */                                     \
    F(R, I64, memory_since_ms, 0, _)   /* which journal the agent has; 0 = not reported */           \
    F(R, U64, memory_mark, 0, _)       /* how far that journal goes */                               \
    F(R, UUID, former_boot_id, 0, _)   /* the process that is proved to have ended; nil = none is */ \
    F(R, U32, protocol, 0, _)          /* the version that broker and agent speak */
HELIO_RECORD_DECLARE(helio_ev_site_hello, HELIO_EV_SITE_HELLO_FIELDS)

#define HELIO_EV_SITE_INVENTORY_FIELDS(F, R)  \
    F(R, U64, peer, 0, _)                     \
    F(R, LIST, holdings, 1000, helio_holding) \
    F(R, BOOL, last, 0, _)
HELIO_RECORD_DECLARE(helio_ev_site_inventory, HELIO_EV_SITE_INVENTORY_FIELDS)

#define HELIO_EV_SITE_SUMMARY_FIELDS(F, R) \
    F(R, U64, peer, 0, _)                  \
    F(R, RECORD, summary, 0, helio_site_summary)
HELIO_RECORD_DECLARE(helio_ev_site_summary, HELIO_EV_SITE_SUMMARY_FIELDS)

#define HELIO_EV_SITE_REPORTS_FIELDS(F, R) \
    F(R, U64, peer, 0, _)                  \
    F(R, LIST, reports, 1000, helio_report)
HELIO_RECORD_DECLARE(helio_ev_site_reports, HELIO_EV_SITE_REPORTS_FIELDS)

#define HELIO_EV_SITE_RENEW_FIELDS(F, R) \
    F(R, U64, peer, 0, _)                \
    F(R, I64, sent_boot_ms, 0, _)
HELIO_RECORD_DECLARE(helio_ev_site_renew, HELIO_EV_SITE_RENEW_FIELDS)

#define HELIO_EV_SITE_GONE_FIELDS(F, R) \
    F(R, U64, peer, 0, _)               \
    F(R, TEXT, reason, 128, _)          \
    F(R, BOOL, bye, 0, _) /* its process said that it ends, or its key is revoked */
HELIO_RECORD_DECLARE(helio_ev_site_gone, HELIO_EV_SITE_GONE_FIELDS)

/*  The gateway refused or ended a session for what the site sent. The core keeps it for operators. */
#define HELIO_EV_SITE_REFUSED_FIELDS(F, R)   \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, U32, rc, HELIO_TIMEOUT, _)          \
    F(R, TEXT, text, 256, _)
HELIO_RECORD_DECLARE(helio_ev_site_refused, HELIO_EV_SITE_REFUSED_FIELDS)

#define HELIO_EV_SITE_ALIVE_FIELDS(F, R) F(R, U64, peer, 0, _)
HELIO_RECORD_DECLARE(helio_ev_site_alive, HELIO_EV_SITE_ALIVE_FIELDS)

#define HELIO_EV_DATABASE_FIELDS(F, R) F(R, BOOL, connected, 0, _)
HELIO_RECORD_DECLARE(helio_ev_database, HELIO_EV_DATABASE_FIELDS)

/*  NAME, record. Values are written to recordings: append only. The LOAD_* events come in the order that the comments
 *  state, and LOADED ends them. */
#define HELIO_BROKER_EVENT_TABLE(X)                                                                           \
    X(LOAD_FEDERATION, helio_row_federation)                                                                  \
    X(LOAD_TENANT, helio_row_tenant)                                                                          \
    X(LOAD_QUEUE, helio_row_queue)                                                                            \
    X(LOAD_QUEUE_RULE, helio_row_queue_rule) /* after the queues */                                           \
    X(LOAD_QUOTA, helio_row_quota)           /* after tenants and queues */                                   \
    X(LOAD_BUDGET, helio_row_budget)         /* after tenants and queues */                                   \
    X(LOAD_SPENT, helio_row_spent)           /* after tenants and queues */                                   \
    X(LOAD_OVERFLOW, helio_row_overflow)                                                                      \
    X(LOAD_USAGE, helio_row_usage)                                                                            \
    X(LOAD_DATA, helio_row_data)                                                                              \
    X(LOAD_LINK, helio_row_link)                                                                              \
    X(LOAD_SITE, helio_row_site)                                                                              \
    X(LOAD_POOL, helio_row_pool)                                                                              \
    X(LOAD_CURTAILMENT, helio_row_curtailment) /* after the sites: those that are not over */                 \
    X(LOAD_KEY, helio_row_key)                                                                                \
    X(LOAD_JOB, helio_ev_load_job) /* before the states of its tasks */                                       \
    X(LOAD_EDIT, helio_row_edit)   /* after its job, before the states */                                     \
    X(LOAD_STATE, helio_row_state)                                                                            \
    X(LOAD_WAITING, helio_row_waiting)               /* after the states of all tasks */                      \
    X(LOAD_ENDED_HOLD, helio_row_ended_hold)         /* after all that jobs wait for */                       \
    X(LOAD_EARLIEST_START, helio_row_earliest_start) /* after the states of all tasks */                      \
    X(LOAD_TRANSFER, helio_row_transfer)             /* after the states of all tasks */                      \
    X(LOAD_EXPECTED_USE, helio_row_expected_use)     /* after the states of all tasks */                      \
    X(LOAD_GIVEN_UP, helio_row_given_up)                                                                      \
    X(LOAD_ACTUAL, helio_row_actual)   /* after the pools: past hours by which a site's series were priced */ \
    X(LOAD_SERIES, helio_row_series)   /* after the actuals, the newest of each: hours ahead */               \
    X(LOAD_RUN, helio_row_run)         /* in the order in which the runs ended */                             \
    X(LOAD_CLASS, helio_row_class)     /* after the jobs: those that wait for a later start */                \
    X(LOAD_ESTIMATE, helio_row_ledger) /* of each attempt that was given up, the oldest first: its hours */   \
    X(LOADED, helio_ev_nothing)                                                                               \
    X(TICK, helio_ev_nothing)                                                                                 \
    X(SEALED, helio_ev_sealed)                                                                                \
    X(SUBMIT, helio_ev_submit)                                                                                \
    X(CANCEL, helio_ev_command)                                                                               \
    X(RELEASE, helio_ev_command)                                                                              \
    X(DRAIN, helio_ev_site_command)                                                                           \
    X(UNDRAIN, helio_ev_site_command)                                                                         \
    X(ATTEST, helio_ev_site_command)                                                                          \
    X(TOKEN, helio_ev_token)                                                                                  \
    X(SITE_KEY, helio_ev_site_key)                                                                            \
    X(SITE_HELLO, helio_ev_site_hello)                                                                        \
    X(SITE_INVENTORY, helio_ev_site_inventory)                                                                \
    X(SITE_SUMMARY, helio_ev_site_summary)                                                                    \
    X(SITE_REPORTS, helio_ev_site_reports)                                                                    \
    X(SITE_RENEW, helio_ev_site_renew)                                                                        \
    X(SITE_GONE, helio_ev_site_gone)                                                                          \
    X(PLAN, helio_ev_submit) /* one job: a dry run, which changes nothing */                                  \
    X(QUOTA, helio_ev_quota)                                                                                  \
    X(DATA, helio_ev_data)                                                                                    \
    X(LINK, helio_ev_link)                                                                                    \
    X(QUEUE, helio_ev_queue)                                                                                  \
    X(QUEUE_RULE, helio_ev_queue_rule)                                                                        \
    X(OVERFLOW, helio_ev_overflow)                                                                            \
    X(EXPLAIN, helio_ev_command) /* of a job that has not started: its start estimate. Changes nothing */     \
    X(SITE_REFUSED, helio_ev_site_refused)                                                                    \
    X(EDIT, helio_ev_edit)                                                                                    \
    X(TENANT, helio_ev_tenant)                                                                                \
    X(PRINCIPAL, helio_ev_principal)                                                                          \
    X(DATABASE, helio_ev_database)     /* the store lost its connection, or has it again and still leads */   \
    X(SITE_ALIVE, helio_ev_site_alive) /* it sent something that was dropped under overload */                \
    X(HOLD, helio_ev_command)                                                                                 \
    X(REQUEUE, helio_ev_command) /* it stops, and returns to its queue */                                     \
    X(SIGNAL, helio_ev_signal)                                                                                \
    X(CURTAIL, helio_ev_curtail)                                                                              \
    X(DESIRED, helio_ev_desired) /* its ANSWER is not held: nothing is stored. Changes nothing */             \
    X(CHANNEL, helio_ev_channel)                                                                              \
    X(CHANNEL_ENDED, helio_ev_channel_ended)

typedef enum helio_broker_event {
#define X(NAME, record) HELIO_BROKER_EV_##NAME,
    HELIO_BROKER_EVENT_TABLE(X)
#undef X
        HELIO_BROKER_EVENT_COUNT
} helio_broker_event_t;

extern const helio_step_kind_t helio_broker_events[HELIO_BROKER_EVENT_COUNT];

#endif
