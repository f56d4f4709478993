/*  core_harness.h -- a broker core under a test's control: a clock that the test moves, sites and callers that send
 *  what the test wants, and all effects of the core.
 *
 *  Every step is checked against the promises of the tables, whatever the test checks: transitions are listed, follow
 *  on from one another and are numbered without gaps; no epoch of a job is placed twice; a job completes once; a state
 *  row is written only after a transition to that state; dispatch numbers ascend within their session; no placement
 *  takes a tenant beyond its burst limit.
 *
 *  One owner. Results of the harness live until harness_end. Failures fail the running cmocka test.
 */
#ifndef HELIO_TEST_CORE_HARNESS_H
#define HELIO_TEST_CORE_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "broker/core/broker_core.h"

typedef struct harness harness_t;

/*  A loaded core: tenants "acme" (home site "north") and "other" (no home), queues "express" (tier critical, priority
 *  1000), "standard" (standard, 500) and "batch" (best-effort, 100), each with a default limit of one hour. NULL
 *  options = the defaults. The time is 2026-03-01T00:00:00Z. */
harness_t *harness_begin(const helio_broker_options_t *options);
void harness_end(harness_t **self_p);

/*  A new core, loaded from the rows that this one has written (as a new leader would be), under the next broker epoch.
 *  The clocks continue. Texts and profiles of this one live as long as the new one. */
harness_t *harness_rebuild(const harness_t *self);
harness_t *harness_rebuild_with(const harness_t *self, const helio_broker_options_t *options);

helio_arena_t *harness_arena(harness_t *self);
/*  The detail of that code; fails if it is missing. */
const helio_detail_t *harness_detail(helio_details_t details, helio_detail_code_t code);
void harness_assert_value(const helio_detail_t *detail, const char *param, const char *shown); /* as in a sentence */
/*  Codes and parameters: "QuotaInUse tenant=acme used_gpus=12; QuotaRemedy tenant=acme". Values as in sentences;
 *  empty texts and times that are not set are left out. */
const char *harness_facts(harness_t *self, helio_details_t details);
int64_t harness_wall_ms(const harness_t *self);
void harness_advance(harness_t *self, int64_t ms);     /* only the clocks */
void harness_set_wall(harness_t *self, int64_t ms);    /* the wall clock is set by this much, either way */
helio_uuid_t harness_mark(const harness_t *self);      /* helio_broker_core_open_from */
void harness_restore(harness_t *self);                 /* the next harness_rebuild uses another copy of the database */
void harness_seed(harness_t *self, uint64_t seed);     /* of the federation, as harness_rebuild will load it */
void harness_newest(harness_t *self, helio_uuid_t id); /* the largest id that harness_rebuild will load */
void harness_step(harness_t *self, uint32_t kind, const void *payload);
void harness_tick(harness_t *self);             /* a TICK now */
void harness_wait(harness_t *self, int64_t ms); /* advance, with the TICKs that the core requests on the way */

/*  ---- effects of the core ------------------------------------------------------------------------------------ */

/*  The next effect of the kind that was not taken yet, in order of emission; NULL if none is left. */
const void *harness_take(harness_t *self, uint32_t effect);
uint32_t harness_count(const harness_t *self, uint32_t effect); /* not taken yet */
void harness_clear(harness_t *self);                            /* no effect was emitted */
helio_broker_figures_t harness_figures(const harness_t *self);
uint32_t harness_state(const harness_t *self, helio_job_key_t key); /* as written; QUEUED if never written */
const helio_row_state_t *harness_row(const harness_t *self, helio_job_key_t key); /* the last; NULL = none */
bool harness_is_open(const harness_t *self, helio_job_key_t key);                 /* the core still knows it */

/*  ---- callers ------------------------------------------------------------------------------------------------ */

/*  A job of one node; model "" = any GPU, gpus 0 = a CPU job. In the arena, so that a test can change it. */
helio_job_spec_t harness_spec(harness_t *self, const char *model, uint32_t gpus);
/*  Another alternative for its `gpu`. */
void harness_or(harness_t *self, helio_job_spec_t *spec, const char *model, uint32_t gpus);
void harness_strings(harness_t *self, void *ret_list,
                     const char *const *words); /* NULL-terminated; into spec.sites, … */
/*  Submits the document; its hash follows from `document`, "" = from the spec. */
helio_submission_t harness_submission(harness_t *self, const helio_job_spec_t *spec, const char *key,
                                      const char *document);
/*  Submits a job with dependencies, which are looked up in the written rows. */
typedef struct harness_after {
    helio_after_t after;
    helio_job_key_t on;
} harness_after_t;
helio_submission_t harness_dependent(harness_t *self, const helio_job_spec_t *spec, const harness_after_t *after,
                                     uint32_t count);
/*  For acme; it must be accepted. */
helio_job_key_t harness_job_after(harness_t *self, const helio_job_spec_t *spec, helio_after_t after,
                                  helio_job_key_t on);
const helio_row_dependency_hold_t *harness_dependency_hold(const harness_t *self,
                                                           helio_job_key_t key); /* as written; NULL = none */
/*  Details as JSON: codes and parameters, as programs read them. Lives as long as the harness' arena. */
const char *harness_details(harness_t *self, const helio_details_t *details);
bool harness_says(harness_t *self, const helio_details_t *details, const char *part); /* of that JSON */
const helio_fx_reply_t *harness_submit_all(harness_t *self, const char *tenant, helio_submission_t *jobs,
                                           uint32_t count);
const helio_fx_reply_t *harness_submit(harness_t *self, const char *tenant, const helio_job_spec_t *spec);
/*  For acme; it must be accepted. */
helio_job_key_t harness_job(harness_t *self, const helio_job_spec_t *spec);
helio_job_key_t harness_task(helio_job_key_t array, uint32_t task);
/*  The signal KILL, and a cancel without grace, by a user of the tenant. */
const helio_fx_reply_t *harness_kill(harness_t *self, const char *tenant, helio_job_key_t key);
const helio_fx_reply_t *harness_cancel_now(harness_t *self, const char *tenant, helio_job_key_t key);
/*  CANCEL or RELEASE, as user "ada" of the tenant. */
/*  USR1, for the script. */
const helio_fx_reply_t *harness_signal(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key);
/*  CHANNEL, as user "ada" of the tenant; fills in the command. */
const helio_fx_reply_t *harness_channel(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key,
                                        helio_ev_channel_t event);
const helio_fx_reply_t *harness_command(harness_t *self, uint32_t kind, const char *tenant, helio_role_t role,
                                        helio_job_key_t key);
/*  TENANT, as user "ada"; fills in call. */
const helio_fx_reply_t *harness_tenant(harness_t *self, helio_role_t role, helio_ev_tenant_t tenant);
/*  EDIT, as user "ada" of the tenant; fills in call. */
const helio_fx_reply_t *harness_edit(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key,
                                     helio_ev_edit_t edit);
const helio_fx_reply_t *harness_site_command(harness_t *self, uint32_t kind, helio_role_t role, const char *site);

/*  QUOTA, for all queues ("") or one; HARNESS_AS_IS = not given. As operator "ada". */
enum { HARNESS_AS_IS = -1 };
const helio_fx_reply_t *harness_quota(harness_t *self, const char *tenant, const char *queue, int64_t guaranteed,
                                      int64_t burst, int64_t weight_milli);
/*  QUOTA with one budget, as "100 USD/month". As operator "ada". */
const helio_fx_reply_t *harness_budget(harness_t *self, const char *tenant, const char *queue, const char *budget);
/*  The ledger's sum for a tenant and a kind (helio_budget_kind_t) in [begin, end). */
int64_t harness_charged(const harness_t *self, const char *tenant, uint32_t kind, int64_t begin_ms, int64_t end_ms);
/*  DATA, as operator "ada": NULL-terminated; none = removed. */
const helio_fx_reply_t *harness_data(harness_t *self, const char *prefix, const char *const *sites);
/*  LINK, likewise; mbps 0 = removed. */
const helio_fx_reply_t *harness_link(harness_t *self, const char *from, const char *to, uint64_t mbps,
                                     int64_t egress_micro_usd_per_gb);
/*  Adds an entry to spec.data. */
void harness_reads(harness_t *self, helio_job_spec_t *spec, const char *uri, uint64_t bytes);
/*  QUEUE, as operator "ada": HARNESS_AS_IS = not given; if neither is given, the queue is removed. */
const helio_fx_reply_t *harness_queue(harness_t *self, const char *queue, int64_t priority, int64_t tier);
/*  QUEUE_RULE in UTC, as operator "ada": schedule "" = for for_ms; priority < 0 = removes it. */
const helio_fx_reply_t *harness_rule(harness_t *self, const char *queue, const char *region, const char *schedule,
                                     uint64_t for_ms, int64_t priority);
/*  OVERFLOW, as operator "ada"; steps NULL = removes it. */
const helio_fx_reply_t *harness_overflow(harness_t *self, const char *name, const char *queue, const char *tenant,
                                         const char *steps);
/*  GPUs of the tenant's jobs that are at a site, by their rows; queue "" = in all queues. */
uint64_t harness_gpus(const harness_t *self, const char *tenant, const char *queue);

/*  ---- sites -------------------------------------------------------------------------------------------------- */

/*  A site without pools: region "EU-XX", containers and leases, PUE 1, known carbon intensity. In the arena. */
helio_site_profile_t *harness_site(harness_t *self, const char *name);
/*  Pool of `nodes` x `gpus` at a price; 64 CPUs and 512 GiB a node. gpu "" = a CPU pool. */
helio_pool_t *harness_pool(harness_t *self, helio_site_profile_t *site, const char *name, const char *gpu,
                           uint32_t nodes, uint32_t gpus, double price_usd_per_gpu_h);
void harness_hello(harness_t *self, uint64_t peer, const helio_site_profile_t *site);
void harness_inventory(harness_t *self, uint64_t peer, helio_holding_t *holdings, uint32_t count);
/*  A full summary: all nodes of every pool are free, except that the first `taken` nodes of the first pool are full. */
void harness_summary(harness_t *self, uint64_t peer, const helio_site_profile_t *site, uint64_t dispatch_seen,
                     uint32_t taken);
/*  A summary with only these series. */
void harness_series(harness_t *self, uint64_t peer, helio_series_t *series, uint32_t count);
/*  HELLO, an empty inventory, a summary of an empty site. */
void harness_join(harness_t *self, uint64_t peer, const helio_site_profile_t *site);
void harness_renew(harness_t *self, uint64_t peer);
void harness_gone(harness_t *self, uint64_t peer);
/*  A report with plausible times: an ended attempt ran for a minute on one GPU. */
helio_report_t harness_report_of(const harness_t *self, helio_job_key_t key, uint32_t epoch, uint32_t kind);
void harness_report(harness_t *self, uint64_t peer, const helio_report_t *report);
void harness_say(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t kind);
/*  Reports ACCEPTED, STARTING and RUNNING, as far as `state`. */
void harness_run_up_to(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t state);

#endif
