/*  witness.h -- what an attempt is charged: the times of its status files, as far as they are plausible. Pure.
 *
 *  The folder belongs to the job's user, who can write false times into it to pay less, or for another reason. So the
 *  times of the status files are compared with what users cannot write: when the scheduler was asked to run the job, in
 *  which lists it showed the job on its nodes, and its own start and end of it. A figure outside these bounds is replaced
 *  by the nearest one inside, and the attempt's explanation says so.
 *
 *  A restart of the agent forgets nothing of that: the journal has when the attempt was submitted, and for how long lists
 *  showed it (helio_evidence_t). So no run is longer than the time since its submission, whatever the scheduler's own times
 *  say, and none is shorter than what earlier lists showed. Where the scheduler's times contradict its lists, the lists
 *  count: they have the agent's clock. What a shim had claimed by the journal has begun, also if its folder is empty now.
 *
 *  Clocks. Within one run of the machine CLOCK_BOOTTIME is exact, however the wall clock is set meanwhile. After a
 *  restart of the machine it is only shorter than the truth. So a lower bound follows from CLOCK_BOOTTIME, unless that is
 *  negative, and an upper bound from the longer of both.
 */
#ifndef HELIO_BACKENDS_FOLDER_WITNESS_H
#define HELIO_BACKENDS_FOLDER_WITNESS_H

#include "site-agent/backends/backend.h"

/*  Evidence that the job's user cannot write. 0 = none. */
typedef struct helio_witness {
    int64_t first_ms, last_ms; /* boot clock: of this agent's lists that showed the job on its nodes */
    int64_t start_ms, end_ms;  /* the scheduler's own, UTC */
    helio_evidence_t former;   /* of the journal */
    helio_evidence_t told;     /* what the journal has by now */
} helio_witness_t;

/*  The journal's, when the attempt is started or adopted; NULL = it has none. */
void helio_witness_recall(helio_witness_t *self, const helio_evidence_t *evidence);
/*  A list that was asked for at that time shows it on its nodes. */
void helio_witness_shown(helio_witness_t *self, int64_t asked_ms);
/*  No end is later than now: a list can have an expected one. */
void helio_witness_ended(helio_witness_t *self, int64_t end_ms, int64_t now_wall_ms);
/*  Lists of an earlier agent showed it on its nodes: it may have run. */
bool helio_witness_was_shown(const helio_witness_t *self);
/*  A shim had claimed it under an earlier agent. If its folder has no claim now, its user has removed it: it may have run. */
bool helio_witness_was_claimed(const helio_witness_t *self);
/*  What the journal is to have, if that is new: it was claimed or shown for the first time, or the time for which it was
 *  shown has grown by a quarter, and by 15 s, or, from a minute on, by a minute. claimed_ms: of its lifetime.h; 0 = not claimed. */
bool helio_witness_news(helio_witness_t *self, int64_t claimed_ms, int64_t now_boot_ms, int64_t now_wall_ms,
                        helio_evidence_t *ret_evidence);

/*  An attempt, and what its bounds follow from. Times are of the boot clock unless they say otherwise; 0 = none. */
typedef struct helio_charged {
    const helio_witness_t *witness;
    helio_job_key_t key;
    bool claimed;
    int64_t asked_ms;      /* when the scheduler was asked first to run it; 0: by another agent */
    int64_t started_ms;    /* when STARTED was reported */
    int64_t launch_ms;     /* the longest time from the scheduler's start to the first program: prologs */
    const char *scheduler; /* "Slurm": for the explanation */
    int64_t now_boot_ms, now_wall_ms;
} helio_charged_t;

enum { HELIO_CHARGE_TEXT_SIZE = 256 };

/*  A time at which it is said to have begun, if that is plausible; else the nearest one that is. */
int64_t helio_charged_begun_wall_ms(const helio_charged_t *self, int64_t said_ms);
/*  Before the end is reported: replaces implausible figures, and explains the difference. */
void helio_charge(const helio_charged_t *self, helio_aev_backend_t *end, char explanation[HELIO_CHARGE_TEXT_SIZE]);

#endif
