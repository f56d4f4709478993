/*  slurm_double.h -- the backend `slurm` in a temporary folder, with programs in place of Slurm's (slurm_double.sh) and
 *  a clock that a test moves: nothing sleeps. The test writes what a shim would write. */
#ifndef HELIO_TESTS_SLURM_DOUBLE_H
#define HELIO_TESTS_SLURM_DOUBLE_H

#include "federation/reason/codes.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/slurm/slurm.h"

enum { LAB_EVENTS_MAX = 64 };

typedef struct lab_event {
    helio_aev_backend_t event; /* its texts are below */
    char explanation[257];
    char local_id[65];
} lab_event_t;

typedef struct lab {
    char dir[64]; /* bin/, jobs/, shared/ */
    char self_name[64];
    char shared[80], commands[80], shim[80];
    helio_backend_t *backend;
    helio_user_rule_t users[2];
    helio_job_rules_t rules;
    helio_pool_t pool;
    helio_site_profile_t site;
    helio_slurm_settings_t settings;
    int64_t boot_ms, wall_ms; /* as the backend gets it */
    lab_event_t heard[LAB_EVENTS_MAX];
    uint32_t heard_count, capacities, series;
    uint32_t waitings; /* how often WAITING was reported; it is not among the collected events */
    char waits[257];   /* the explanation of the last WAITING */
    uint32_t silences, returns;
    uint64_t silent_ms; /* as the last of them said */
    uint32_t surveys, hindrances;
    char hindrance[512];    /* of the survey, the last one */
    uint32_t free_nodes[9]; /* of the last capacity */
    uint32_t gpus_total;
    helio_evidence_t evidence; /* of the attempt that was started last, as the journal has it */
} lab_t;

typedef struct lab_job {
    uint32_t epoch;   /* 0 = 1 */
    const char *name; /* of the attempt; filled in */
    helio_order_t order;
    helio_job_spec_t spec;
    char text[HELIO_ATTEMPT_NAME_SIZE];
} lab_job_t;

void lab_open(lab_t *lab);
void lab_reopen(lab_t *lab); /* the agent is restarted */
void lab_close(lab_t *lab);

helio_job_key_t lab_key(void);
void lab_start(lab_t *lab, lab_job_t *job); /* two GPUs of one node, unless the order says otherwise */
void lab_adopt(lab_t *lab, lab_job_t *job);
/*  The agent is restarted with its journal; lab_adopt is that of an older agent. */
void lab_restart(lab_t *lab, lab_job_t *job);
void lab_stop(lab_t *lab, const lab_job_t *job, uint32_t mode);

/*  Until nothing is due and no command is running (a hung one is not waited for). */
void lab_settle(lab_t *lab);
/*  Advances the clock; what becomes due is done at its time. */
void lab_pass(lab_t *lab, int64_t ms);

/*  Files that control the programs. format NULL: removes the file. */
void lab_put(const lab_t *lab, const char *file, const char *format, ...) HELIO_PRINTF(3, 4);
/*  Replaces the output and exit code of a program; out NULL: restores the program. */
void lab_answer(const lab_t *lab, const char *program, const char *out, const char *err, int rc);
/*  Sets one assignment of jobs/<id>. */
void lab_set(const lab_t *lab, const char *id, const char *what, const char *value);
void lab_drop(const lab_t *lab, const char *id); /* Slurm no longer knows the job */
bool lab_has(const lab_t *lab, const char *format, ...) HELIO_PRINTF(2, 3);
/*  Calls whose line contains the text. */
uint32_t lab_calls(const lab_t *lab, const char *text);
void lab_read(const lab_t *lab, const char *file, helio_buffer_t *out);

/*  What a shim does. */
void lab_claim(const lab_t *lab, const lab_job_t *job, const char *id);
void lab_started(const lab_t *lab, const lab_job_t *job);
void lab_done(const lab_t *lab, const lab_job_t *job, helio_done_t done);
/*  What the job wrote to HELIO_REPORT, and when. */
void lab_report(const lab_t *lab, const lab_job_t *job, const char *text, int64_t wall_ms);
/*  claim, started, and the job is RUNNING in the queue. */
void lab_run(lab_t *lab, const lab_job_t *job, const char *id);
/*  One row of accounting. */
void lab_account(const lab_t *lab, const lab_job_t *job, const char *id, const char *state, const char *exit,
                 int64_t start_s, int64_t end_s);

const lab_event_t *lab_last(const lab_t *lab); /* NULL = no event has come */
/*  The n-th event is this report, whatever its cause. */
void lab_expect_word(const lab_t *lab, uint32_t n, uint32_t word);
/*  The n-th event is this report with this cause, and its explanation begins so. */
void lab_expect(const lab_t *lab, uint32_t n, uint32_t word, uint32_t cause, const char *explanation);

#endif
