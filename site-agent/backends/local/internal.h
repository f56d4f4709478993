/*  internal.h -- what the files of the backend `local` share. */
#ifndef HELIO_BACKENDS_LOCAL_INTERNAL_H
#define HELIO_BACKENDS_LOCAL_INTERNAL_H

#include "site-agent/backends/events.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/local/local.h"
#include "site-agent/shim/cgroup.h"

typedef enum helio_local_state {
    HELIO_LOCAL_SPAWNED, /* a shim exists; the file `started` does not, as far as known */
    HELIO_LOCAL_RUNNING, /* STARTED was reported */
    HELIO_LOCAL_STRAY,   /* its folder is gone, and its processes run */
    HELIO_LOCAL_LEFT,    /* the shim died without `done`: what is left is being killed */
    HELIO_LOCAL_OVER     /* `end` is to be reported */
} helio_local_state_t;

/*  One attempt from its look-up until its end was reported; after that only the folder remembers it. */
typedef struct helio_local_attempt {
    helio_held_t held;
    helio_local_state_t state;
    int folder; /* -1 = none (never prepared) */
    int pidfd;  /* of the shim; -1 = none: the attempt is checked by the clock */
    helio_process_t shim;
    bool ours; /* a child of the agent, to be reaped */
    int64_t due_ms;
    bool unseen;  /* found by a survey, and its state could not be looked at yet */
    bool known;   /* start, adopt or stop named it: its caller holds it, whatever it is found to be */
    bool spawned; /* start was called on this object: if no shim claims the folder, that is a failure and not absence */
    bool said_started;
    int64_t alive_boot_ms; /* when the agent last saw anything of it alive; 0 = it did not */
    bool stray_stopping;
    int64_t stray_began_boot_ms; /* when the eldest process of it began; 0 = none was seen */
    uint32_t stray_empty;        /* looks in a row that found nothing of it */
    uint32_t looks;              /* time until `started` must exist */
    int told;                    /* the last signal of a stop; 0 = none */
    int64_t answer_boot_ms;      /* by when the shim must have read it */
    helio_aev_backend_t end;
    char explanation[256];
} helio_local_attempt_t;

typedef struct helio_local {
    helio_backend_t base;
    helio_arena_t *arena; /* the options' texts */
    helio_local_options_t options;
    helio_job_rules_t rules;
    helio_folders_t *folders;
    const char *lease;  /* path of the lease file */
    const char *cgroup; /* the parent of the attempts' control groups; NULL = none */
    helio_cgroup_powers_t powers;
    int epoll;
    char boot_id[HELIO_BOOT_ID_SIZE];
    helio_held_table_t attempts;
    int64_t next_ms;
    int64_t sweep_ms;
    int64_t survey_ms;       /* when the survey goes on; INT64_MAX = it is complete, or was not asked for */
    bool looked_everywhere;  /* the survey: at all folders and processes */
    helio_error_t hindrance; /* why it is not complete */
    bool hindrance_said;
    bool forgery_said; /* that a process has the marks of an attempt that is not its user's */
} helio_local_t;

/*  All attempts, the newest first. NULL: there is none, or no other. */
static inline helio_local_attempt_t *helio_local_first(const helio_local_t *self)
{
    return (helio_local_attempt_t *)(void *)self->attempts.first;
}
static inline helio_local_attempt_t *helio_local_after(const helio_local_attempt_t *attempt)
{
    return (helio_local_attempt_t *)(void *)attempt->held.after;
}

/*  inspect.c: the state of an attempt, from its folder and the processes together. */
typedef enum helio_local_found {
    HELIO_LOCAL_ABSENT, /* it stays so until start is called: an unclaimed folder was closed and moved away */
    HELIO_LOCAL_ALIVE,  /* ret_shim runs it */
    HELIO_LOCAL_DONE,   /* ret_done */
    HELIO_LOCAL_DEAD    /* claimed by a shim that is dead, without a readable `done` */
} helio_local_found_t;

typedef struct helio_local_inspect {
    helio_local_found_t found;
    int folder; /* the caller closes it; -1 when absent */
    helio_process_t shim;
    bool other_boot;   /* DEAD: the machine was started anew; nothing is left to kill */
    bool done_damaged; /* DEAD: it left an end mark that proves nothing */
    helio_done_t done;
} helio_local_inspect_t;

/*  IO: unknown now (disk, descriptors): ask again later. */
HELIO_MUST_CHECK helio_rc helio_local_inspect(helio_local_t *self, const char *name, helio_local_inspect_t *ret_look,
                                              helio_error_t *err);
/*  The time in `started`; 0 = no such file. */
int64_t helio_local_started_wall_ms(int folder);

/*  stray.c: every process on this machine that belongs to an attempt of this state folder, or to that one. Returns
 *  their number. */
typedef void helio_local_stray_fn(void *arg, helio_job_key_t key, uint32_t epoch, helio_process_t process, bool shim);
size_t helio_local_strays(helio_local_t *self, const char *only, helio_local_stray_fn *fn, void *arg);
/*  /proc shows the processes of this machine. */
bool helio_local_sees_processes(void);
/*  A process of it, which began so many ticks after the boot, runs now. */
void helio_local_stray_seen(helio_local_attempt_t *attempt, uint64_t start_ticks);
/*  Nothing of it runs any more. If it is to stop, what runs is killed. */
bool helio_local_stray_is_gone(helio_local_t *self, helio_local_attempt_t *attempt);

/*  survey.c: looks everywhere at once; survey_serve goes on, until nothing that was found is left unseen. */
void helio_local_survey(helio_local_t *self);
void helio_local_survey_serve(helio_local_t *self, int64_t now_boot_ms);

/*  watch.c */
helio_local_attempt_t *helio_local_find(const helio_local_t *self, helio_job_key_t key, uint32_t epoch);
helio_local_attempt_t *helio_local_add(helio_local_t *self, helio_job_key_t key, uint32_t epoch);
void helio_local_unlink(helio_local_t *self, helio_local_attempt_t *attempt);
void helio_local_free(helio_local_attempt_t *attempt);
/*  Looks up what it is, by its name, and starts to watch it. If its state is unknown now, process looks again: the
 *  attempt waits with a shim that does not exist. */
helio_local_attempt_t *helio_local_look_up(helio_local_t *self, helio_job_key_t key, uint32_t epoch,
                                           helio_local_found_t *ret_found);
/*  Starts to watch what was found; the folder in `look` passes to the attempt. */
void helio_local_take_stray(helio_local_t *self, helio_local_attempt_t *attempt, helio_process_t shim);
void helio_local_take(helio_local_t *self, helio_local_attempt_t *attempt, const helio_local_inspect_t *look);
void helio_local_say_end(helio_local_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation);
HELIO_MUST_CHECK helio_rc helio_local_spawn(helio_local_t *self, helio_local_attempt_t *attempt, helio_error_t *err);
/*  Its shim reads the file `signals` now. */
void helio_local_poke(const helio_local_attempt_t *attempt);
void helio_local_signal(helio_local_t *self, helio_local_attempt_t *attempt, uint32_t stop_mode);
/*  Does what is due of one attempt. May free it, after its end was reported. */
void helio_local_serve(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms, int64_t now_wall_ms);

#endif
