/*  slurm_inner.h -- what the files of the backend `slurm` share.
 *
 *  One attempt's way, lowest first; each calls only those before it:
 *      slurm_table.c    the attempts by key; their states; what is said of them
 *      slurm_commands.c asking the cluster, and scancel
 *      slurm_whose.c    whose a job of an attempt's name is
 *      slurm_charge.c    what it is charged: its status files, checked against what their writer cannot write
 *      slurm_status_files.c    what the status files in its folder say
 *      slurm_options.c  the arguments of sbatch: what the order says, and what a job may pass on
 *      slurm_submit.c   the folder, sbatch, and what its answer means
 *      slurm_wait.c     what it waits for in Slurm's queue, and when it is taken back; suspension
 *      slurm_end.c      how it ended when `done` does not say so
 *      slurm_stop.c     stopping, and tidying what Slurm still holds
 *      slurm_watch.c    what a list and the clock mean for it
 *      slurm_poll.c     squeue for everybody, nodes, partitions, reservations; capacity and series
 *      slurm.c          the door: start, adopt, stop, …; the loop's side; life
 *  The site's:
 *      slurm_settings.c keys of the site file; slurm_site.c: what it leaves out; slurm_check.c: helio-agent check
 *      slurm_place.c    helio-shim and the batch script in the shared folder
 */
#ifndef HELIO_BACKENDS_SLURM_INNER_H
#define HELIO_BACKENDS_SLURM_INNER_H

#include <string.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/command.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/slurm/capacity.h"
#include "site-agent/backends/slurm/listing/listing.h"
#include "site-agent/backends/slurm/slurm.h"

enum {
    HELIO_SLURM_BUCKETS = 1024,
    HELIO_SLURM_ID_SIZE = 32,
    HELIO_SLURM_LIST_BYTES = 64 << 20,
    HELIO_SLURM_ANSWER_BYTES = 256 << 10,
    HELIO_SLURM_NO_STOP = HELIO_STOP_MODE_COUNT,
    HELIO_SLURM_GIVE_UP_MS =
        60000, /* of handing an attempt in: another site may have room for it meanwhile */
    HELIO_SLURM_PROLOG_MS = 120000, /* where nobody says how long prologs may take, and some may run; */
    HELIO_SLURM_LAUNCH_MS = 10000   /* and where none do */
};

typedef enum helio_slurm_phase {
#define STATE(name, known, next) HELIO_SLURM_AT_##name,
#include "site-agent/backends/slurm/slurm_state.def"
    HELIO_SLURM_AT_COUNT
} helio_slurm_phase_t;

typedef struct helio_slurm helio_slurm_t;

/*  What the last list that counts said of an attempt's job. */
typedef struct helio_slurm_seen {
    bool live, over;           /* neither: it is in no list */
    helio_slurm_state_t state; /* when live or over */
    char reason[64];
    char partitions[64]; /* "main,urgent"; "" = more than fit */
    char id[HELIO_SLURM_ID_SIZE];
    int64_t start_s, end_s; /* Slurm's; of one that waits only expected */
} helio_slurm_seen_t;

/*  What the job's user cannot write: when Slurm showed the job on its nodes. 0 = not. */
typedef struct helio_slurm_witness {
    int64_t first_ms, last_ms; /* boot clock: the lists of ours that did */
    int64_t start_s, end_s;    /* Slurm's own, UTC */
} helio_slurm_witness_t;

/*  Its time in Slurm's queue. */
typedef struct helio_slurm_waits {
    int64_t since_ms; /* 0 = it does not wait */
    char said[64];    /* the reason that was said last, */
    int64_t said_ms;  /* and when */
    int64_t never_ms; /* since when it can never start, */
    int64_t stuck_ms; /* or only if somebody at the site does something; 0 = it can */
} helio_slurm_waits_t;

/*  How its end is being found out. */
typedef struct helio_slurm_leaving {
    int64_t since_ms, due_ms;
    bool done_read; /* `done` says that it was told to stop, and we had not: Slurm says why */
    bool signalled; /* `done` says that a signal ended its program, and we sent none: it may have been Slurm's
                     */
    uint32_t sacct_asked;  /* times */
    uint32_t unknown;      /* times that a controller that is up did not know the job */
    int64_t unknown_ms;    /* first time */
    uint32_t unknown_list; /* the list after which it was asked last */
} helio_slurm_leaving_t;

/*  One attempt from its look-up until its end was said, and Slurm holds nothing of it. */
typedef struct helio_slurm_attempt {
    struct helio_slurm_attempt *next; /* of the same bucket */
    struct helio_slurm_attempt *before, *after;
    helio_slurm_t *backend;
    helio_job_key_t key;
    uint32_t epoch;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_slurm_phase_t phase;
    int64_t since_ms, due_ms;

    /* what it is */
    bool to_start;        /* start was called: submit it if it is absent */
    helio_arena_t *arena; /* of `order` and `spec`, while it may have to be submitted; NULL = none */
    helio_order_t order;
    helio_job_spec_t spec;
    char pool[33];
    uint32_t nodes, gpus_per_node, cpus_per_node;
    uint64_t memory_bytes_per_node, grace_ms;

    /* what is known */
    uint32_t since_list;          /* lists asked for before this one say nothing of it */
    char id[HELIO_SLURM_ID_SIZE]; /* of the job that counts; "" = not known */
    bool claimed;
    bool unproven;           /* claimed, by a job that is not known to be ours: its status files are not believed */
    bool closed;             /* claimed for nobody: nothing of it will ever run */
    bool locked;             /* its folder is there, and cannot be opened: its user's doing */
    uint32_t holds_list;     /* the first list that showed it with nodes; 0 = none yet */
    int64_t requeued_ms;     /* since when it has been pending although it is claimed; 0 = it is not */
    int64_t started_wall_ms; /* 0 = not yet */
    bool said_started;
    int64_t said_started_ms;
    helio_slurm_witness_t witness;
    int64_t doubted_ms;             /* since when Slurm's word of its end is waited for; 0 = it is not */
    int64_t beat_ns, beat_ms;       /* its shim's last sign of life, and when we saw it change (0 = never) */
    helio_slurm_seen_t seen, other; /* other: a second job of its name */
    uint32_t uid;                   /* whose jobs count, */
    bool uid_known;                 /* once that is known */
    helio_slurm_waits_t waits;
    bool suspended; /* SUSPENDED was said, and not RESUMED since */
    bool asking;    /* a command that asks about it is on its way */

    /* handing it in */
    int64_t first_ms; /* when sbatch was called first; 0 = not yet */
    uint32_t tries;
    bool sbatch_out;  /* an sbatch of it has not answered yet */
    int64_t again_ms; /* UNSURE: when sbatch may be called again, */
    bool absent;      /* and whether a list has been seen that does not have it */
    char trouble[200];

    helio_slurm_leaving_t leaving;

    /* stopping it */
    uint32_t stop_mode; /* HELIO_SLURM_NO_STOP */
    int64_t stop_ms, stop_due_ms;
    bool stop_out;        /* a scancel is on its way */
    bool stop_sent;       /* the signal of this mode has been sent */
    uint32_t stop_marked; /* the mode that its folder says, + 1; 0 = none */
    bool stop_again;      /* a harder stop was asked for while it was */
    bool cancel_out;      /* a scancel of what nobody needs is on its way */

    int64_t gone_ms;
    bool gone_killed;
    helio_aev_backend_t end;
    char explanation[256]; /* of the end */
} helio_slurm_attempt_t;

/*  One of the cluster's lists, as last had. */
typedef struct helio_slurm_answer {
    helio_arena_t *arena; /* the text and what was read of it */
    int64_t at_ms;
    bool have;
} helio_slurm_answer_t;

typedef enum helio_slurm_asked {
    HELIO_SLURM_ASK_PARTITIONS,
    HELIO_SLURM_ASK_RESERVATIONS,
    HELIO_SLURM_ASK_NODES, /* last, so that what it shows in use is the newest */
    HELIO_SLURM_ASK_COUNT
} helio_slurm_asked_t;

typedef struct helio_slurm_poll {
    helio_slurm_t *of; /* the poll is what an answer about the cluster is addressed to */
    bool out;          /* squeue is on its way */
    int64_t due_ms;
    uint32_t failures;     /* in a row */
    uint32_t asked, heard; /* numbers of lists; heard: the last whole one */
    int64_t asked_ms;      /* when the last one was */
    int64_t unanswered_ms; /* when a list was first asked for since the last whole one came; 0 = not yet */
    uint64_t hash;         /* of the jobs' ids and states */
    helio_slurm_answer_t jobs_answer;
    helio_slurm_jobs_t jobs;
    const helio_slurm_job_t **ours; /* of those, whose names could be attempts' */
    uint32_t ours_count;

    bool cluster_out; /* a scontrol is on its way */
    helio_slurm_asked_t cluster_asked;
    bool cluster_wanted[HELIO_SLURM_ASK_COUNT];
    int64_t cluster_due_ms;
    uint32_t cluster_failures; /* in a row */
    uint32_t polls;
    uint32_t
        nodes_asked_after; /* the list that came before the nodes were asked for, and after they had come */
    uint32_t nodes_after;
    helio_slurm_answer_t cluster[HELIO_SLURM_ASK_COUNT];
    helio_slurm_nodes_t nodes;
    helio_slurm_partitions_t partitions;
    helio_slurm_reservations_t reservations;

    struct {
        uint32_t list; /* of which list it is */
        char partitions[64];
        uint32_t nodes;
    } usable;              /* nodes that may start something */
    uint32_t reasons_list; /* the list by which so many reasons were said */
    uint32_t reasons_said;

    bool capacity_due;
    bool said_nothing_free;
    int64_t silent_ms; /* since when it has been; 0 = it was not */
    int64_t series_ms;
    uint64_t series_hash;
} helio_slurm_poll_t;

struct helio_slurm {
    helio_backend_t base;
    helio_arena_t *arena; /* options' texts */
    helio_site_profile_t site;
    helio_job_rules_t rules;
    helio_slurm_settings_t settings;
    uint64_t lease_margin_ms;
    helio_backend_sink_t sink;
    helio_folders_t *folders;
    helio_commands_t *commands;
    const char *shim;   /* path on the nodes */
    const char *script; /* the batch script */
    const char *shared;
    const char *lease_path;

    helio_slurm_attempt_t *buckets[HELIO_SLURM_BUCKETS];
    helio_slurm_attempt_t *first;
    uint32_t count;
    helio_slurm_poll_t poll;
    bool no_accounting; /* sacct said that nobody keeps any */
    int64_t now_boot_ms, now_wall_ms;
    int64_t next_ms, sweep_ms;
};

static inline helio_slurm_t *helio_slurm_of(helio_backend_t *base)
{
    return (helio_slurm_t *)(void *)base;
}

static inline bool helio_slurm_begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

/* ---- slurm_table.c */
helio_slurm_attempt_t *helio_slurm_find(const helio_slurm_t *self, helio_job_key_t key, uint32_t epoch);
helio_slurm_attempt_t *helio_slurm_add(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch);
void helio_slurm_remove(helio_slurm_attempt_t *attempt); /* frees */
/*  Along an edge of slurm_state.def. */
void helio_slurm_advance(helio_slurm_attempt_t *attempt, helio_slurm_phase_t phase);
/*  Notes its end, OVER; a figure that `end` has already (from `done`, from Slurm) stays. */
void helio_slurm_end(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *format, ...)
    HELIO_PRINTF(4, 5);
/*  Says WAITING, SUSPENDED or RESUMED. */
void helio_slurm_say(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation);
/*  Says STARTED, once. */
void helio_slurm_say_started(helio_slurm_attempt_t *attempt);
/*  Says the end; the attempt is GONE or freed then. */
void helio_slurm_say_end(helio_slurm_attempt_t *attempt);
void helio_slurm_leave(helio_slurm_attempt_t *attempt); /* to LEAVING */
/*  Stopped before a shim came, and the folder is closed. */
void helio_slurm_end_unstarted(helio_slurm_attempt_t *attempt);

/* ---- slurm_commands.c */
/*  A command of the cluster: asks, never acts; answers come to `done` with `arg`. False: too many wait.
 * urgent: before those that wait. */
bool helio_slurm_ask(helio_slurm_t *self, const char *const *argv, size_t max_bytes, bool urgent,
                     helio_command_done_fn *done, void *arg);
/*  Of the attempt's name and that number alone; two more options, or NULL. False: too many wait. */
bool helio_slurm_scancel(helio_slurm_attempt_t *attempt, const char *first, const char *second, const char *id,
                         helio_command_done_fn *done);
/*  A second job of the attempt's name that waits: nobody needs it. */
void helio_slurm_cancel_pending(helio_slurm_attempt_t *attempt, const char *id);
/*  A job that holds nodes although its folder is closed: it has nothing to run. */
void helio_slurm_cancel_held(helio_slurm_attempt_t *attempt, const char *id);
/*  The same without KillWait: nobody pays for what runs by now. */
void helio_slurm_cancel_at_once(helio_slurm_attempt_t *attempt, const char *id);

/* ---- slurm_status_files.c */
/*  Reads the status files and does what they say: STARTED, the end. False: they cannot be read now. *ret_folder:
 * there is one. One that is locked says nothing: then Slurm alone does. */
bool helio_slurm_look(helio_slurm_attempt_t *attempt, bool *ret_folder);
/*  Its shim has shown life lately: whatever Slurm says, it runs. */
bool helio_slurm_is_alive(const helio_slurm_attempt_t *attempt);
/*  Claims it for nobody. CONFLICT: a shim has it (attempt->claimed). */
HELIO_MUST_CHECK helio_rc helio_slurm_close(helio_slurm_attempt_t *attempt, helio_error_t *err);

/* ---- slurm_site.c */
/*  Whether programs of the cluster's run between a job's start and its own (Prolog, PrologSlurmctld, nodes
 * that are powered up), of `scontrol show config`. INVALID: it does not say. */
HELIO_MUST_CHECK helio_rc helio_slurm_read_prologs(helio_text_t config, bool *ret_some);
HELIO_MUST_CHECK helio_rc helio_slurm_ask_prologs(const helio_slurm_settings_t *settings,
                                                  helio_arena_t *arena, bool *ret_some);

/*  Nodes of each pool of the site that may start something, now or once they are free; ret_counts: one a
 * pool. */
HELIO_MUST_CHECK helio_rc helio_slurm_ask_open(const helio_site_profile_t *site,
                                               const helio_slurm_settings_t *settings, helio_arena_t *arena,
                                               uint32_t *ret_counts);

/* ---- slurm_settings.c */
void helio_slurm_settings_copy(const helio_slurm_settings_t *from, helio_arena_t *arena,
                               helio_slurm_settings_t *ret);
/*  The mapping of a pool; partition and GRES type resolved. NULL-safe: a pool that is not mapped has the
 * partition "". */
void helio_slurm_pool_of(const helio_slurm_settings_t *settings, const helio_site_profile_t *site,
                         helio_text_t pool, helio_arena_t *arena, helio_slurm_pool_t *ret_pool);
/*  PATH and the environment of every command. */
void helio_slurm_environment(const helio_slurm_settings_t *settings, helio_arena_t *arena,
                             helio_commands_options_t *ret_options);

/* ---- slurm_place.c */
HELIO_MUST_CHECK helio_rc helio_slurm_place(helio_slurm_t *self, const char *shim, helio_error_t *err);

/* ---- slurm_options.c */
typedef struct helio_slurm_launch {
    helio_folder_how_t how;
    const char **argv; /* in the arena */
} helio_slurm_launch_t;
/*  From an order to sbatch's arguments. Failure: BAD_OPTION, explained by the error's text. */
HELIO_MUST_CHECK helio_rc helio_slurm_launch(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt,
                                             const helio_unix_account_t *account, helio_arena_t *arena,
                                             helio_slurm_launch_t *ret_launch, helio_error_t *err);

/* ---- slurm_submit.c */
/*  Makes the folder and calls sbatch. From LOOKING. */
void helio_slurm_submit(helio_slurm_attempt_t *attempt);
/*  LOOKING for too long: its folder is closed, and it failed to start. */
void helio_slurm_never_submitted(helio_slurm_attempt_t *attempt);
/*  UNSURE: sbatch again, into the same folder, or the end of all trying. */
void helio_slurm_unsure_serve(helio_slurm_attempt_t *attempt);

/* ---- slurm_poll.c */
void helio_slurm_poll_serve(helio_slurm_t *self);
int64_t helio_slurm_poll_next_ms(const helio_slurm_t *self);
void helio_slurm_poll_clear(helio_slurm_t *self);

/* ---- slurm_watch.c */
void helio_slurm_note_job(helio_slurm_attempt_t *attempt, const helio_slurm_job_t *job);
/*  A whole list is there (self->poll.heard). */
void helio_slurm_on_list(helio_slurm_attempt_t *attempt);
/*  What is due by the clock; may free the attempt. */
void helio_slurm_serve(helio_slurm_attempt_t *attempt);

/* ---- slurm_wait.c */
/*  What a whole list means for one that waits, or is suspended. True: it was taken back, and is OVER. */
bool helio_slurm_wait_on_list(helio_slurm_attempt_t *attempt);

/* ---- slurm_whose.c */
void helio_slurm_owned_by(helio_slurm_attempt_t *attempt, uint32_t uid);
void helio_slurm_note_owner(helio_slurm_attempt_t *attempt, int folder); /* the folder's */
/*  Whether a job of the attempt's name may be the attempt's. */
bool helio_slurm_is_ours(helio_slurm_attempt_t *attempt, uint32_t uid);

/* ---- slurm_end.c */
void helio_slurm_leaving_serve(helio_slurm_attempt_t *attempt);
void helio_slurm_leaving_on_list(helio_slurm_attempt_t *attempt);
/*  Claimed, and pending again. */
void helio_slurm_end_requeued(helio_slurm_attempt_t *attempt);

/* ---- slurm_charge.c */
void helio_slurm_witness(helio_slurm_attempt_t *attempt); /* of a whole list */
void helio_slurm_witness_end(helio_slurm_attempt_t *attempt, int64_t start_s,
                             int64_t end_s); /* accounting's */
/*  Its `done` leaves out much of the time for which we saw it run, while Slurm has not yet said when it
 * ended: Slurm is waited for, for a while. */
bool helio_slurm_awaits_slurm(helio_slurm_attempt_t *attempt, const helio_done_t *done);
/*  Its start as a mark says it, if it can be. */
int64_t helio_slurm_begun_wall_ms(const helio_slurm_attempt_t *attempt, int64_t said_ms);
/*  Before its end is said: the times that can be, and the difference in its explanation. */
void helio_slurm_charge(helio_slurm_attempt_t *attempt);

/* ---- slurm_stop.c */
void helio_slurm_stop_serve(helio_slurm_attempt_t *attempt);
void helio_slurm_gone_on_list(helio_slurm_attempt_t *attempt);
/*  A job waits that nobody asks for, as after a restart: its attempt, GONE, if its folder is closed, so that
 * it is cancelled; else NULL: another federation's, maybe. */
helio_slurm_attempt_t *helio_slurm_leftover(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch);

#endif
