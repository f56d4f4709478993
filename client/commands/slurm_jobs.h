/*  slurm_jobs.h -- jobs as Slurm's commands choose them: by ids, users, names, states and the like. */
#ifndef HELIO_CLIENT_SLURM_JOBS_H
#define HELIO_CLIENT_SLURM_JOBS_H

#include "client/invocation/client.h"

/*  Lists separated by commas; NULL = any. */
typedef struct helio_slurm_choice {
    const char *ids, *users, *names, *accounts, *qos, *partitions, *clusters;
    const char *states; /* Slurm's; NULL = all that are not over */
    bool me;            /* only those of the token's user */
    bool over;          /* states NULL: also those that are over, ... */
    int64_t from_ms;    /* ... submitted from then on (0 = ever), ... */
    int64_t to_ms;      /* ... and before then */
} helio_slurm_choice_t;

/*  Reads the words of the command by Slurm's own options. Prints the error and returns the exit code. */
HELIO_MUST_CHECK int helio_slurm_words(helio_client_t *client, helio_command_line_t *ret_line);
/*  Appends the ids of a word: "ID", "ID_3", "ID_[1-3,7]"; tasks as the broker writes them. */
HELIO_MUST_CHECK int helio_slurm_ids(const helio_client_t *client, const char *word, json_t *ids);
/*  The same of a list: words that are separated by commas outside of brackets. */
HELIO_MUST_CHECK int helio_slurm_id_list(const helio_client_t *client, const char *list, json_t *ids);
/*  Appends the jobs, one for each task of an array, newest first. Unknown ids are reported, and the others shown. Returns
 *  the exit code. */
HELIO_MUST_CHECK int helio_slurm_jobs(const helio_client_t *client, const helio_slurm_choice_t *choice, json_t *jobs);

#endif
