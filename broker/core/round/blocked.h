/*  blocked.h -- classes that only room can help stand in lines (state/lines.h) until a pool has room for them.
 *
 *  A class that waits may wait for much: an hour, a quota, a budget, a reservation, jobs that leave. Most classes of a
 *  full federation wait for none of these. Judged again, such a class would find what it found before, unless
 *
 *      what changes                                  what is done
 *      a pool that it fits has room                  the round takes its line into the scheduling order
 *      verdicts: facts, pools, the scoring step      all lines are dissolved: their classes are judged by the next round
 *      its account: quota, guarantee, budget, queue  its line is dissolved
 *      a job joins it                                it leaves the line
 *      its first job goes                            it finds its new place in the line */
#ifndef HELIO_BROKER_CORE_ROUND_BLOCKED_H
#define HELIO_BROKER_CORE_ROUND_BLOCKED_H

#include "broker/core/decide/evaluate.h"

/*  The class of the evaluation was judged, and jobs of it are left: it enters a line if it waits for nothing but
 *  room. */
void core_blocked_note(helio_broker_core_t *self, const evaluation_t *e);
/*  Dissolves the lines whose classes something else than room can help now. True if there was one. */
bool core_blocked_review(helio_broker_core_t *self);

#endif
