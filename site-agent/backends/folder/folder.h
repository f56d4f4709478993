/*  folder.h -- the folders of attempts below one root: what every backend that runs jobs under helio-shim
 * keeps on disk (`local` below its state_dir, `slurm` below the folder that submit host and nodes share).
 *
 *      attempts/<attempt name>/     status files of one attempt (site-agent/shim/status_files.h); kept for the retention
 * time output/<attempt name>/       HELIO_OUTPUT_DIR and working directory; the user's, never removed here
 *      checkpoints/<job name>/      HELIO_CHECKPOINT_DIR; the user's, never removed here
 *      forgotten/<attempt name>     when the broker acknowledged its end, where attempts/ holds users' folders
 *      lease                        what the shims of `lease` and `eager` attempts obey
 *
 *  Names are made of ids alone, never of a tenant's text. Nothing in an attempt's folder is trusted beyond
 * what its writer may do: where the shim runs as the job's user (users_own), so do its status files; everything is
 * opened without following links, and bounded. Thread: one owner.
 */
#ifndef HELIO_BACKENDS_FOLDER_H
#define HELIO_BACKENDS_FOLDER_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/rules.h"
#include "site-agent/shim/plan.h"

typedef struct helio_folders helio_folders_t;

typedef struct helio_folders_options {
    const char *root; /* absolute; exists. Copied, as all of this */
    helio_text_t site;
    const helio_job_rules_t *rules;
    bool users_own; /* the shim runs as the job's user, started by a scheduler: an attempt's folder is the
                     * user's (mode 0700); else the agent's (0711), and only `run` and `report` the user's */
} helio_folders_options_t;

/*  Makes attempts/, output/ and checkpoints/. IO, FORBIDDEN with the remedy. */
HELIO_MUST_CHECK helio_rc helio_folders_new(const helio_folders_options_t *options,
                                            helio_folders_t **ret_folders, helio_error_t *err);
void helio_folders_destroy(helio_folders_t **self_p);

/*  The account that an order runs as. Texts are the folder's own arrays. */
typedef struct helio_unix_account {
    char name[64];
    char home[4096];
    uid_t uid;
    gid_t gid;
    helio_text_t slurm_account; /* of the rules' line; view into the rules; "" = none */
} helio_unix_account_t;

/*  By the rules' table of users. Failure: NO_USER_MAPPING, explained by the error's text. */
HELIO_MUST_CHECK helio_rc helio_folders_account(const helio_folders_t *self, const helio_order_t *order,
                                                helio_unix_account_t *ret_account, helio_error_t *err);

/*  How the attempt is to be run: what differs between backends of the plan (site-agent/shim/plan.h). */
typedef struct helio_folder_how {
    helio_launcher_t launcher;
    const char *lease;         /* path of the lease file, for attempts that heed one; NULL = none */
    const helio_slot_t *slots; /* LOCAL: one a rank, or none */
    uint32_t slot_count;
    helio_text_t stdout_path,
        stderr_path;      /* a copy of the output for the user, as sbatch would name it; "" = none */
    helio_text_t workdir; /* "" = HELIO_OUTPUT_DIR */
    bool truncate;        /* those two files begin anew; else they are appended to */
    helio_text_t
        srun; /* SLURM, several nodes: path of srun on the nodes; "" = found by the PATH that Slurm gives */
    bool batch_script; /* `run` is a script for a batch system: it runs once, on the first node, and finds
                          SLURM_* names; see helio_job_is_batch_script */
    uint64_t clock_tolerance_ms; /* by which the clocks of nodes may differ from ours; for leases */
} helio_folder_how_t;

/*  Makes the attempt's folder, ready for a shim, durable before it returns. On failure there is no folder,
 * *ret_cause is why (helio_cause_t), and the error's text explains it. */
HELIO_MUST_CHECK helio_rc helio_folders_prepare(helio_folders_t *self, const helio_backend_task_t *task,
                                                const char *name, const helio_folder_how_t *how,
                                                uint32_t *ret_cause, helio_error_t *err);

/*  The job's part `slurm` says launch=batch: it came through `helio sbatch`. */
bool helio_job_is_batch_script(const helio_job_spec_t *spec);

/*  -1 in *ret_folder when there is none; the caller closes it. IO: cannot be told now, ask again later. FORBIDDEN:
 * there is one that cannot be opened, or something else in its place: its owner's doing. */
HELIO_MUST_CHECK helio_rc helio_folders_open(const helio_folders_t *self, const char *name, int *ret_folder,
                                             helio_error_t *err);
/*  Claims an attempt that no shim has claimed for nobody: a shim still on its way finds it taken and goes.
 *  CONFLICT: a shim was faster. */
HELIO_MUST_CHECK helio_rc helio_folder_close_unclaimed(int folder, helio_error_t *err);
/*  What its status files say. NOT_FOUND: that mark is not there (yet). INVALID: damaged. */
HELIO_MUST_CHECK helio_rc helio_folder_claim(int folder, helio_claim_t *ret_claim, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_folder_started(int folder, helio_started_t *ret_started, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_folder_done(int folder, helio_done_t *ret_done, helio_error_t *err);

typedef struct helio_progress {
    uint64_t units;        /* done by the attempt */
    uint64_t saved_run_ms; /* of its run; 0 = not known */
} helio_progress_t;
/*  What HELIO_REPORT tells of an attempt that has ended so. Where its last line names a checkpoint, the run is saved
 *  up to the time of that write: as the file system has it, not as the job says, and never more than it ran. */
helio_progress_t helio_folder_progress(int folder, const helio_done_t *done);
/*  When its shim last showed life, in the file system's own time: only a change of it says anything.
 * NOT_FOUND: no claim. */
HELIO_MUST_CHECK helio_rc helio_folder_beat(int folder, int64_t *ret_ns);
/*  Tells its shim to stop, whatever its scheduler knows of it: heeded within seconds. */
HELIO_MUST_CHECK helio_rc helio_folder_stop(int folder, uint32_t stop_mode, helio_error_t *err);

/*  As helio_backend_class_t has it, as far as the folder tells: *ret_end needs a `done` mark. Of an attempt
 * that is over without one, fewer than `max` bytes are its last ones. */
HELIO_MUST_CHECK helio_rc helio_folders_log_read(const helio_folders_t *self, const char *name,
                                                 uint64_t offset, size_t max, helio_buffer_t *out,
                                                 uint64_t *ret_next, bool *ret_end, helio_error_t *err);
/*  Every folder's attempt name but the acknowledged ones', bounded; for a survey. */
typedef void helio_folders_fn(void *arg, const char *name, helio_job_key_t key, uint32_t epoch);
HELIO_MUST_CHECK helio_rc helio_folders_each(const helio_folders_t *self, helio_folders_fn *fn, void *arg,
                                             helio_error_t *err);
/*  Writes the lease file; see helio_lease_t. A `number` that is given is raised above that of the last file,
 * also that of a former agent. */
HELIO_MUST_CHECK helio_rc helio_folders_lease(helio_folders_t *self, const helio_lease_t *lease,
                                              helio_error_t *err);

/*  ---- tidying ---- */
void helio_folders_remove(helio_folders_t *self, const char *name);
/*  Status files it as acknowledged; sweep removes it when the retention time is over. */
void helio_folders_forget(helio_folders_t *self, const char *name, int64_t now_wall_ms);
/*  Bounded work; returns the CLOCK_BOOTTIME-independent delay in ms after which it wants to be called again.
 */
int64_t helio_folders_sweep(helio_folders_t *self, int64_t now_wall_ms);

/*  The number of work in HELIO_REPORT's text: `units` is the attempt's running total, so the largest counts.
 *  Lines that are not JSON objects are passed over. */
uint64_t helio_report_units(helio_text_t report);
/*  Whether its last line names a checkpoint: `checkpoint` is a text that is not empty. */
bool helio_report_saves(helio_text_t report);

#endif
