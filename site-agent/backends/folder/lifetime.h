/*  lifetime.h -- until when the sign of life of a claim counts against its scheduler's word. Pure.
 *
 *  A shim touches its claim every five seconds. While it does, its attempt is not over, although the scheduler says so: a
 *  node that is cut off runs on, and a controller can lose or repeat a job. But the claim belongs to the job's user, who
 *  can touch it for ever, from anywhere. So a sign of life counts only as long as a shim can give one.
 *
 *  Why no job runs twice by that:
 *    - The loop in which a shim touches its claim looks at the time limit before it does, by CLOCK_BOOTTIME, which also
 *      counts suspensions. From the limit on it grants the grace, once, and then kills until no process is left. So a shim
 *      that runs touches its claim at most for limit and grace after the start of the program, and for the time that
 *      killing takes. The program starts within moments of the claim, and the agent sees the claim later than that.
 *    - A process that a KILL has not ended yet (its file system hangs) can keep the shim there, but runs no instruction of
 *      the job any more.
 *    - A shim that is stopped, frozen or on a paused machine does not enforce its limit, but does not touch its claim
 *      either. Meanwhile the scheduler's word ends its attempt after half a minute of silence, with or without this bound:
 *      the scheduler has ended the job. If the scheduler lists it until the shim goes on, the bound is as much later as it
 *      was silent, so that it has its grace, and on a machine whose clock stood still also what is left of its limit.
 *      Shorter silences than a minute are within the slack; where clocks stand still, all of them together.
 *    - What an agent did not see, while it did not run, can have been such a silence. So a shim that a new agent finds has
 *      at least its grace from then on.
 *    - After a stop the same holds: where the touch of a claim reaches the agent, the file `stop` reaches the shim,
 *      which reads it every five seconds. Then there are only the grace and the killing.
 *  The bound ends nothing by itself: an attempt that its scheduler lists, or that the agent cannot ask about, stays open.
 *
 *  A user cannot move the bound by pauses: once the scheduler says that the job is over, half a minute of silence ends it.
 *
 *  Without a limit there is no bound but that of a stop, with the longest grace that a job can have. Only an attempt that
 *  was found without its order (the journal was lost) has none: the limit in its plan is its user's to write.
 */
#ifndef HELIO_BACKENDS_FOLDER_LIFETIME_H
#define HELIO_BACKENDS_FOLDER_LIFETIME_H

#include "site-agent/core/agent_core.h"

/*  Times of the boot clock; 0 = none. Zero-initialised is that of an attempt that was neither claimed nor stopped. */
typedef struct helio_lifetime {
    int64_t claimed_ms; /* when its claim was first seen by an agent, ... */
    int64_t seen_ms;    /* ... and when by this one, ... */
    int64_t stop_ms;    /* ... and when it was told to stop: each as much later as it was silent since */
    uint32_t stop_mode; /* of that stop */
} helio_lifetime_t;

enum {
    HELIO_LIFETIME_SLACK_MS = 300000,
    HELIO_LIFETIME_SILENCE_MS = 60000 /* twice that after which a claim counts as silent: no end is missed before it */
};

/*  It has a claim. former_ms: claimed_ms as the journal has it; 0 = not. After a restart of the machine that is a time of
 *  another run: in this one it is later than the claim was. */
void helio_lifetime_claimed(helio_lifetime_t *self, int64_t former_ms, int64_t now_ms);
/*  Its claim, which helio_lifetime_claimed knows, was touched after so long a silence. */
void helio_lifetime_touched(helio_lifetime_t *self, int64_t silent_ms, int64_t now_ms);
/*  It was told to stop; the same mode again changes nothing. */
void helio_lifetime_stopped(helio_lifetime_t *self, uint32_t stop_mode, int64_t now_ms);

/*  limit_ms: of its program; 0 = not known. grace_ms: between its polite signal and KILL. INT64_MAX: there is no bound. */
int64_t helio_lifetime_until_ms(const helio_lifetime_t *self, uint64_t limit_ms, uint64_t grace_ms);

#endif
