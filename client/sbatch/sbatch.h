/*  sbatch.h -- converts Slurm batch scripts to job files: reads a script with its #SBATCH and #HELIO lines as sbatch
 *  would, with SBATCH_* variables and a command line, and writes the job as YAML.
 *
 *  Pure: it uses only the files, clock and environment that it is given. Results live in the caller's arena. The rules
 *  for users are in docs/sites/sbatch.md.
 */
#ifndef HELIO_SBATCH_SBATCH_H
#define HELIO_SBATCH_SBATCH_H

#include <time.h>

#include "client/sbatch/options.h"
#include "federation/spec/diagnostic.h"

enum { HELIO_SBATCH_SCRIPT_MAX = 120 << 10 }; /* bytes; a job's `run` has a little more */

/*  A command line: options, then the script and its arguments. "" for a switch; NULL = absent. */
typedef struct helio_sbatch_words {
    const char *values[HELIO_SBATCH_COUNT];
    uint32_t taken; /* number of words that are options: the next word is the script, if any */
} helio_sbatch_words_t;

/*  Options end at the first word that is not an option, or at `--`. */
HELIO_MUST_CHECK helio_rc helio_sbatch_words(const char *const *words, uint32_t count, helio_arena_t *arena,
                                             helio_sbatch_words_t *ret_words, helio_diagnostic_t *ret_diagnostic);

typedef struct helio_sbatch_input {
    helio_text_t script; /* ignored with --wrap */
    const char *name;    /* for messages: "train.sh", "stdin" */
    const char *path;    /* of the script, for the job's name; NULL = standard input */
    const helio_sbatch_words_t *words;
    const char *const *arguments; /* of the script */
    uint32_t argument_count;
    char *const *environment; /* "NAME=value", ends with NULL */
    const char *directory;    /* absolute: the folder of submission */
    const char *earlier;      /* "id, id": the jobs that --dependency=singleton waits for; NULL = not known */
    int64_t wall_ms;
    /* The caller's time zone, for --begin; from_local normalises as mktime does. */
    bool (*to_local)(int64_t wall_ms, struct tm *ret_local);
    bool (*from_local)(const struct tm *local, int64_t *ret_wall_ms);
} helio_sbatch_input_t;

typedef struct helio_sbatch_job {
    helio_text_t yaml;  /* a job file that federation/spec accepts */
    const char **notes; /* notes for the user although nothing is wrong, one per line */
    uint32_t note_count;
    const char *name;
    bool pinned;    /* to Slurm sites */
    bool singleton; /* it waits for `earlier` */
    bool parsable, wait, test_only, quiet;
} helio_sbatch_job_t;

/*  INVALID with a diagnostic: at the line and column of the script, if the cause is there. */
HELIO_MUST_CHECK helio_rc helio_sbatch_convert(const helio_sbatch_input_t *input, helio_arena_t *arena,
                                               helio_sbatch_job_t *ret_job, helio_diagnostic_t *ret_diagnostic);

/*  A time as Slurm writes it, such as 90, 1:30:00, 2-12, rounded up to whole minutes. False: it is none. */
bool helio_sbatch_time(const char *text, uint64_t *ret_ms, bool *ret_endless);

#endif
