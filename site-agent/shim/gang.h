/*  gang.h -- how the ranks of an attempt of several nodes and their head communicate, by files of the attempt's folder:
 *      word           the head's command: '-' none, 's' stop politely, 'k' kill
 *      ranks          one line for each rank: '-' nothing yet, 's' it has started, 'e' it has ended, with its exit code
 *      rank-<n>       status files of that rank's shim: claim, started, done
 *
 *  `word` and `ranks` are created once and then written in place: a client of a shared file system asks its server for
 *  the state of a file that it opens anew, but can believe for a minute that a name which did not exist still does not.
 *  srun cannot be used for this: it answers TERM by having Slurm kill all tasks at once.
 */
#ifndef HELIO_SHIM_GANG_H
#define HELIO_SHIM_GANG_H

#include "site-agent/shim/status_files.h"

/*  How often each side reads the other's file: every rank is a client of the one server. */
int64_t helio_gang_poll_ms(uint32_t nodes);

typedef enum helio_gang_command {
    HELIO_GANG_GO = '-',
    HELIO_GANG_STOP = 's',
    HELIO_GANG_KILL = 'k'
} helio_gang_command_t;

HELIO_MUST_CHECK helio_rc helio_gang_make(int folder, uint32_t nodes, helio_error_t *err);

/*  ---- the head's side ---- */
HELIO_MUST_CHECK helio_rc helio_gang_say(int folder, helio_gang_command_t word, uint64_t grace_ms, helio_error_t *err);

typedef struct helio_gang_count {
    uint32_t begun; /* started or ended */
    uint32_t ended;
    uint32_t failed; /* ended with a code that is not 0 */
} helio_gang_count_t;
/*  What cannot be read counts as nothing. */
void helio_gang_poll(int folder, uint32_t nodes, helio_gang_count_t *ret_count);

typedef struct helio_gang_end {
    uint32_t ran;       /* ranks of which an instruction ran, or may have */
    uint32_t silent;    /* of those: without `done`; they may still run */
    uint32_t refused;   /* ranks that could not start */
    int32_t exit_code;  /* of the first that failed by itself; else of the first that was stopped; 0 = none failed */
    bool lease_expired; /* of a rank */
    uint64_t max_rss_kib;
    uint32_t cause;        /* of the first that could not start, */
    char explanation[200]; /* with its rank */
} helio_gang_end_t;
/*  After srun has ended. Claims what no rank has claimed, so that none can start late. */
void helio_gang_gather(int folder, uint32_t nodes, helio_gang_end_t *ret_end);

/*  ---- a rank's side ---- */
/*  Opens rank-<n>. */
HELIO_MUST_CHECK helio_rc helio_gang_open(int folder, uint32_t rank, int *ret_status_files, helio_error_t *err);
/*  GO if it cannot be read. */
helio_gang_command_t helio_gang_hear(int folder, uint64_t *ret_grace_ms);
HELIO_MUST_CHECK helio_rc helio_gang_tell(int folder, uint32_t rank, bool ended, int32_t exit_code, helio_error_t *err);

#endif
