/*  losses.h -- attempts that their site lost, refused, or stopped without an order: how often a job is placed
 *  again after them, and how soon.
 *
 *      what ended                                   what it counts as                   until
 *      lost within a minute, but for nodes of a     a failure of the site; with the     it makes progress, or is released
 *      spot pool that are gone                      second, the job is held
 *      lost, or stopped unasked, after any time     a loss; with the twentieth, the     the same
 *                                                   job is held
 *      either, within a minute, again and again     a pause, which doubles              an attempt runs for a minute
 *      refused, more than twenty times              the same pause                      the same
 *
 *  An attempt that was withdrawn before it began lost nothing and cost nothing: the job pauses, and is never held for it.
 *  A stop that the broker asked for counts as none of these, unless it asked because the site no longer listed what it
 *  had accepted: then the site has lost it.
 *
 *  A site's word is not enough for any of it: a run lasted no longer than since its placement by the broker's own clock,
 *  and progress takes at least a minute by that clock. Progress is run time that the site reports as saved, which is at
 *  most the time limit of the job in total. A node that failed cannot report it, so an attempt of a job that declares
 *  `checkpoint.every` also made progress if the broker saw it run for longer than that, and for half an hour. Units are no
 *  progress: a job that begins anew does the same ones again.
 *
 *  The losses are in the job's row, so the bound holds across leaders. A new leader forgets pauses: it begins with the
 *  shortest. */
#ifndef HELIO_BROKER_CORE_SITES_LOSSES_H
#define HELIO_BROKER_CORE_SITES_LOSSES_H

#include "broker/core/state/nouns.h"
#include "federation/model/attempt.h"
#include "federation/reason/detail.h"

/*  As many as a bad week of an honest site has between two checkpoints, and few enough for an operator to read. With it
 *  a job is held, or LOST if its site itself was lost. */
enum { CORE_LOSSES_MAX = 20 };

/*  The current attempt is over, and its use is added to the job's. saved_ms: the job's before that. Takes losses and
 *  pauses back if the attempt allows it. */
void core_losses_progress(const helio_broker_core_t *self, job_t *job, const helio_report_t *report, uint64_t saved_ms);
/*  The site lost the current attempt, or stopped it unasked. Returns whether the job must be held: then *why says so. */
bool core_loss_holds(helio_broker_core_t *self, job_t *job, const helio_report_t *report, helio_details_t *why);
/*  The site refused the current attempt. */
void core_losses_refused(const helio_broker_core_t *self, job_t *job);

#endif
