/*  checks.h -- the promises of the federation, one sentence each. The checks subscribe to its moments and inspect its
 *  parts after every step; a broken promise ends the run (sim_violate). A check changes nothing that it inspects.
 *
 *      promise                                                         file                   checked after
 *      a job that was accepted is stored, and is over at the end       whole_run.c            end of the run
 *      a job ends as its program and its dependencies say              whole_run.c            end of the run
 *      a job completes once; a fenced attempt never completes it       database/database_jobs.c    every commit
 *      a job that sites lost twenty times is held, or over             database/database_jobs.c    every commit
 *      an epoch is issued once and never goes back                     database/database_jobs.c    every commit
 *      an older leader writes nothing after a newer one has written    database/writer.c      every commit
 *      a state changes along a listed edge, and not after the end      database/database_jobs.c    every commit
 *      an attempt starts once; no GPU is held by two attempts          running.c              every step
 *      a `strict` or `lease` job runs in one place at a time           running.c              every step
 *      an order leaves after its placement is durable                  placements.c           every order
 *      a lease counts from a time at which its leader led              leases.c               every grant
 *      a job starts after its begin time and its dependencies          placements.c           every placement
 *      a job is placed only where its deadline can be met              placements.c           every placement
 *      a submission is answered after it is durable; one key, one job  workload/submit.c      every reply
 *      an edit is answered after it is durable                         workload/edits.c       every reply
 *      an edit is still true under the next leader                     edits.c                every takeover
 *      a plan or an explanation changes nothing                        checks.c               every effect
 *      a quota or a budget is not exceeded                             limits.c               every commit
 *      only a lower tier is preempted, or what a guarantee reclaims    preemptions.c          every transition
 *      a job is preempted a bounded number of times                    preemptions.c          every state row
 *      a preempted job does not take its place back first,             preemptions.c          every step
 *          nor under the next leader
 *      a job that was cancelled without grace is given none, nor       stops.c                every stop
 *          under the next leader
 *      a new leader starts nothing early at the first sites            restarts.c             every placement
 *      a job migrates only if it asked to, and rarely                  migrations.c           every transition
 *      the ledger has what truly ran, priced as each hour was          database/database_ledger.c  every commit
 *      the ledger's sums are the job's, and all of the site's use      whole_run.c            end of the run
 *      what ran is charged exactly; if killed, to its last sign of life  whole_run.c          end of the run
 *      no estimate stands of a run whose site can tell               whole_run.c             end of the run
 *      an attested run is charged up to its site's last message        attested.c             every attempt's row
 *      everything that was begun comes to its end                      world.c                end of the run
 *
 *  Files of other folders are named from simulator/. The virtual database watches what is stored, and sim_checks_step
 *  asks it; the workload watches what is answered. A new promise is a function in the file of its subject (internal.h),
 *  called from its moment in checks.c, a line of this table, and a mutant that breaks it (tests/mutants/mutants.txt).
 */
#ifndef HELIO_SIMULATOR_CHECKS_CHECKS_H
#define HELIO_SIMULATOR_CHECKS_CHECKS_H

#include "simulator/workload/workload.h"

typedef struct sim_checks sim_checks_t;

/*  How often each case occurred. A promise whose case never occurs is not tested. */
typedef struct sim_seen {
    uint64_t preemptions; /* running jobs that were preempted */
    uint64_t migrations;  /* jobs that were stopped to migrate; arrivals: those that were placed at their target */
    uint64_t arrivals;
    uint64_t curtailed;      /* jobs that were stopped because their site was curtailed */
    uint64_t hastened;       /* stops of jobs whose rows say that they have no grace */
    uint64_t attested;       /* jobs that an operator's attestation freed from their site */
    uint64_t expected_use;   /* placements whose p90 is below their limit */
    uint64_t admitted;       /* of those: placements that the limit alone would have ruled out by the deadline */
    uint64_t quotas_missed;  /* quotas that changed while a new leader missed a site */
    uint64_t windows_missed; /* classes that waited for a start at a site that a new leader missed */
} sim_seen_t;

sim_checks_t *sim_checks_new(const sim_federation_t *federation, const sim_workload_t *workload);
void sim_checks_destroy(sim_checks_t **self_p);

/*  Moments of the federation. */
void sim_checks_decided(sim_checks_t *self, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms);
void sim_checks_committed(sim_checks_t *self);
void sim_checks_order_left(sim_checks_t *self, const helio_order_t *order);
void sim_checks_granted(sim_checks_t *self, uint32_t site, int64_t sent_boot_ms, bool newest);
void sim_checks_taken_over(sim_checks_t *self);

void sim_checks_step(sim_checks_t *self);    /* after every step */
void sim_checks_at_rest(sim_checks_t *self); /* when every job is over */

sim_seen_t sim_checks_seen(const sim_checks_t *self);

#endif
