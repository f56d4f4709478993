/*  folder.h -- the folders of attempts below one root: what every backend that runs jobs under helio-shim keeps on disk
 *  (`local` below its state_dir, `slurm` below the folder that submit host and nodes share).
 *      attempts/<attempt name>/     status files of one attempt (site-agent/shim/status_files.h); kept for the
 *                                   retention time
 *      output/<attempt name>/       HELIO_OUTPUT_DIR and working directory; the user's, never removed here
 *      checkpoints/<job name>/      HELIO_CHECKPOINT_DIR; the user's, never removed here
 *      forgotten/<attempt name>     when the broker acknowledged its end, if attempts/ holds users' folders
 *      leases                       the deadline that the shims of `lease` and `eager` attempts obey, and which
 *                                   attempts it is for
 *      lease                        the same without names, for shims of an agent before this form; only where it was
 *                                   left
 *
 *  Names are made of ids alone, never of a tenant's text. What an attempt's folder holds is trusted no further than its
 *  writer: where the shim runs as the job's user (users_own), the status files are the user's too. Every file is opened
 *  without following links, and reads are bounded. Thread: one owner.
 */
#ifndef HELIO_BACKENDS_FOLDER_H
#define HELIO_BACKENDS_FOLDER_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/devices.h"
#include "site-agent/backends/rules.h"
#include "site-agent/shim/plan.h"

typedef struct helio_folders helio_folders_t;

typedef struct helio_folders_options {
    const char *root; /* absolute; exists. All members are copied */
    helio_text_t site;
    const helio_job_rules_t *rules;
    /* a scheduler starts the shim as the job's user: an attempt's folder is the user's (mode 0700); else it is the
     * agent's (0711), and only `run` and `report` are the user's */
    bool users_own;
} helio_folders_options_t;

/*  Creates attempts/, output/ and checkpoints/. IO, FORBIDDEN with the remedy. */
HELIO_MUST_CHECK helio_rc helio_folders_new(const helio_folders_options_t *options, helio_folders_t **ret_folders,
                                            helio_error_t *err);
void helio_folders_destroy(helio_folders_t **self_p);

/*  The account that an order runs as. The texts are arrays of the struct. */
typedef struct helio_unix_account {
    char name[64];
    char home[4096];
    uid_t uid;
    gid_t gid;
    helio_text_t slurm_account; /* of the rule; a view into the rules; "" = none */
} helio_unix_account_t;

/*  By the site's table of users. Failure: NO_USER_MAPPING, explained by the error's text. */
HELIO_MUST_CHECK helio_rc helio_folders_account(const helio_folders_t *self, const helio_order_t *order,
                                                helio_unix_account_t *ret_account, helio_error_t *err);

/*  Whether a process of that user can be one of the attempt: root, the owner of an output folder of its job, or, if none
 *  is left, any user of the table. */
bool helio_folders_may_run_as(const helio_folders_t *self, const char *name, uid_t uid);

/*  How the attempt is run: the part of the plan (site-agent/shim/plan.h) that depends on the backend. */
typedef struct helio_folder_how {
    helio_launcher_t launcher;
    const char *lease;         /* path of the lease file, for attempts that obey one; NULL = none */
    const char *cgroup;        /* LOCAL: the control group that the ranks enter; NULL = none */
    const helio_slot_t *slots; /* LOCAL: one for each rank, or none */
    uint32_t slot_count;
    const helio_pool_devices_t *devices; /* LOCAL: of the pool; NULL = the slots are the GPUs' numbers */
    helio_text_t stdout_path,
        stderr_path;      /* a copy of the output for the user, with a name as sbatch makes it; "" = none */
    helio_text_t workdir; /* "" = HELIO_OUTPUT_DIR */
    bool truncate;        /* those two files are truncated; else they are appended to */
    helio_text_t srun;    /* SLURM, several nodes: path of srun on the nodes; "" = found by the PATH that Slurm gives */
    /* `run` is a script for a batch system: it runs once, on the first node, and gets SLURM_* variables; see
     * helio_job_is_batch_script */
    bool batch_script;
    uint64_t clock_tolerance_ms; /* largest difference between the nodes' clocks and the agent's; for leases */
} helio_folder_how_t;

/*  Makes the attempt's folder, ready for a shim and durable. On failure no folder exists, *ret_cause is why
 *  (helio_cause_t), and the error's text explains it. */
HELIO_MUST_CHECK helio_rc helio_folders_prepare(helio_folders_t *self, const helio_backend_task_t *task,
                                                const char *name, const helio_folder_how_t *how, uint32_t *ret_cause,
                                                helio_error_t *err);

/*  True: the job's part `slurm` has launch=batch, since the job came through `helio sbatch`. */
bool helio_job_is_batch_script(const helio_job_spec_t *spec);

/*  *ret_folder: -1 when none exists; the caller closes it. IO: unknown now, ask again later. FORBIDDEN: it exists but
 *  cannot be opened, or is not a folder: its owner changed it. */
HELIO_MUST_CHECK helio_rc helio_folders_open(const helio_folders_t *self, const char *name, int *ret_folder,
                                             helio_error_t *err);
/*  Claims an unclaimed attempt for no shim: a shim that comes later finds it claimed and exits. CONFLICT: a shim was
 *  faster. */
HELIO_MUST_CHECK helio_rc helio_folder_close_unclaimed(int folder, helio_error_t *err);
/*  Who has claimed it. */
typedef enum helio_folder_taken {
    HELIO_FOLDER_OPEN,   /* nobody: a shim can still begin */
    HELIO_FOLDER_TAKEN,  /* a shim; *ret_claim is all zero if the claim is damaged */
    HELIO_FOLDER_CLOSED, /* no shim, and none ever will */
} helio_folder_taken_t;
helio_folder_taken_t helio_folder_taken(int folder, helio_claim_t *ret_claim);
/*  The same as close_unclaimed for the folder of that name; one that does not exist is closed, since no shim can run it.
 *  CONFLICT: a shim was faster (TAKEN), or its claim cannot be read now (OPEN). */
HELIO_MUST_CHECK helio_rc helio_folders_close(const helio_folders_t *self, const char *name,
                                              helio_folder_taken_t *ret_taken, helio_claim_t *ret_claim,
                                              helio_error_t *err);
/*  What its status files say. NOT_FOUND: that status file does not exist (yet). INVALID: it is damaged. */
HELIO_MUST_CHECK helio_rc helio_folder_claim(int folder, helio_claim_t *ret_claim, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_folder_started(int folder, helio_started_t *ret_started, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_folder_done(int folder, helio_done_t *ret_done, helio_error_t *err);

typedef struct helio_progress {
    uint64_t units;        /* done by the attempt */
    uint64_t saved_run_ms; /* of its run; 0 = not known */
} helio_progress_t;
/*  What HELIO_REPORT says of an attempt that ended with `done`. If its last line names a checkpoint, the run is saved
 *  up to the time of that write: by the file system's time, not the job's, and never more than it ran. */
helio_progress_t helio_folder_progress(int folder, const helio_done_t *done);
/*  The end that `done` and HELIO_REPORT tell, without word, cause and explanation. */
helio_aev_backend_t helio_folder_end(int folder, const helio_done_t *done);
/*  When its shim last showed life, in the file system's own time: only a change of it has a meaning. NOT_FOUND: no
 *  claim. */
HELIO_MUST_CHECK helio_rc helio_folder_beat(int folder, int64_t *ret_ns);
/*  The shim's last sign of life, and when it changed (boot clock; 0 = never). */
typedef struct helio_beat {
    int64_t ns, seen_ms;
} helio_beat_t;
/*  Returns how long it had been silent, if it shows life now; else 0. */
int64_t helio_beat_note(helio_beat_t *self, int folder, int64_t now_boot_ms);
/*  It changed lately, so the shim runs, whatever its scheduler says. */
bool helio_beat_is_fresh(const helio_beat_t *self, int64_t now_boot_ms);
/*  Tells its shim to stop, even if the scheduler does not know it. The shim obeys within seconds. */
HELIO_MUST_CHECK helio_rc helio_folder_stop(int folder, uint32_t stop_mode, helio_error_t *err);
/*  The same by name, unless *marked has that mode already: the mode + 1; 0 = none. */
void helio_folders_mark_stop(const helio_folders_t *self, const char *name, uint32_t stop_mode, uint32_t *marked);

/*  Adds a signal to the file `signals`, which its shim obeys. NOT_FOUND: it has no folder. */
HELIO_MUST_CHECK helio_rc helio_folders_signal(const helio_folders_t *self, const char *name,
                                               const helio_attempt_signal_t *signal, helio_error_t *err);

/*  As in helio_backend_class_t, as far as the folder tells: *ret_end needs a `done` file. If an attempt is over without
 *  one, a read of fewer than `max` bytes is the last. */
HELIO_MUST_CHECK helio_rc helio_folders_log_read(const helio_folders_t *self, const char *name, uint64_t offset,
                                                 size_t max, helio_buffer_t *out, uint64_t *ret_next, bool *ret_end,
                                                 helio_error_t *err);
/*  The same for an attempt of which its backend knows whether it is over. It must know that before it calls: otherwise
 *  what is written in between would be missed. */
HELIO_MUST_CHECK helio_rc helio_folders_log_of(const helio_folders_t *self, const char *name, bool over,
                                               uint64_t offset, size_t max, helio_buffer_t *out, uint64_t *ret_next,
                                               bool *ret_end, helio_error_t *err);
/*  The attempt name of every folder but the acknowledged ones, for a survey. IO, TOO_BIG: not all were listed. */
typedef void helio_folders_fn(void *arg, const char *name, helio_job_key_t key, uint32_t epoch);
HELIO_MUST_CHECK helio_rc helio_folders_each(const helio_folders_t *self, helio_folders_fn *fn, void *arg,
                                             helio_error_t *err);
/*  Writes the lease file; see helio_lease_t. A non-zero `number` is raised above that of the last file, which may be a
 *  former agent's. */
HELIO_MUST_CHECK helio_rc helio_folders_lease(helio_folders_t *self, const helio_lease_t *lease,
                                              const helio_afx_lease_t *granted, helio_error_t *err);
/*  The same in the form for shims on other machines: the time that is left, from now. */
HELIO_MUST_CHECK helio_rc helio_folders_lease_left(helio_folders_t *self, uint64_t margin_ms,
                                                   const helio_afx_lease_t *granted, helio_error_t *err);
/*  How long after its deadline a shim kills; margin_ms: the agent's lease margin. The core's deadline is its lease's end
 *  minus min (margin, lease / 4), and it kills a quarter of that before the end. Computed from the time that is left, the
 *  margin can only be underestimated: a shim alone kills early rather than late. */
int64_t helio_lease_kill_after_ms(int64_t left_ms, uint64_t margin_ms);

/*  ---- tidying ---- */
void helio_folders_remove(helio_folders_t *self, const char *name);
/*  Records that its end was acknowledged; sweep removes it after the retention time. */
void helio_folders_forget(helio_folders_t *self, const char *name, int64_t now_wall_ms);
/*  Bounded work. Returns the delay in ms after which it is to be called again. */
int64_t helio_folders_sweep(helio_folders_t *self, int64_t now_wall_ms);

/*  The number of work units in HELIO_REPORT's text: `units` is the attempt's running total, so the largest counts.
 *  Lines that are not JSON objects are skipped. */
uint64_t helio_report_units(helio_text_t report);
/*  Whether its last line names a checkpoint: `checkpoint` is a non-empty string. */
bool helio_report_saves(helio_text_t report);

#endif
