/*  slurm_internal.h -- what the files of the backend `slurm` share.
 *
 *  The life of one attempt, lowest first; each file calls only those before it:
 *      slurm_table.c          the attempts by key; their states; their events
 *      slurm_ahead.c          which of them will end within moments
 *      slurm_commands.c       queries of the cluster, and scancel
 *      slurm_whose.c          which user a job of an attempt's name belongs to
 *      slurm_charge.c         what Slurm shows of it, for what it is charged
 *      slurm_times.c          Slurm's own times of it, for what it is charged; when its status files are looked at
 *      slurm_status_files.c   the status files in its folder
 *      slurm_options.c        the arguments of sbatch: from the order, and what a job may pass on
 *      slurm_submit.c         the folder, sbatch, and what its result means
 *      slurm_wait.c           what it waits for in Slurm's queue, and when it is withdrawn; suspension
 *      slurm_end.c            how it ended if `done` does not tell
 *      slurm_stop.c           stopping, and cancelling what Slurm still holds
 *      slurm_watch.c          what a list and the clock mean for it
 *      slurm_offer.c          what the site offers by the cluster's figures: capacity and series
 *      slurm_poll.c           squeue for all, nodes, partitions, reservations
 *      slurm_enter.c          processes of channels inside a job, by srun
 *      slurm_survey.c         what Slurm and the folders hold, whatever the journal knows
 *      slurm.c                the functions that the agent calls: start, adopt, stop, …; creation and end
 *
 *  For the site:
 *      slurm_settings.c       keys of the site file
 *      slurm_site.c           what the site file leaves out
 *      slurm_check.c          helio-agent check
 *      slurm_place.c          helio-shim and the batch script in the shared folder
 */
#ifndef HELIO_BACKENDS_SLURM_INTERNAL_H
#define HELIO_BACKENDS_SLURM_INTERNAL_H

#include <string.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/command.h"
#include "site-agent/backends/events.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/folder/lifetime.h"
#include "site-agent/backends/folder/witness.h"
#include "site-agent/backends/slurm/capacity.h"
#include "site-agent/backends/slurm/listing/listing.h"
#include "site-agent/backends/slurm/slurm.h"

enum {
    HELIO_SLURM_ID_SIZE = 32,
    HELIO_SLURM_LIST_BYTES = 64 << 20,
    HELIO_SLURM_ANSWER_BYTES = 256 << 10,
    HELIO_SLURM_NO_STOP = HELIO_STOP_MODE_COUNT,
    HELIO_SLURM_GIVE_UP_MS = 60000, /* of submitting an attempt; meanwhile another site may get room for it */
    HELIO_SLURM_PROLOG_MS = 120000, /* used if the length of prologs is unknown and some may run; ... */
    HELIO_SLURM_LAUNCH_MS = 10000   /* ... and if none do */
};

typedef enum helio_slurm_phase {
#define STATE(name, known, next) HELIO_SLURM_AT_##name,
#include "site-agent/backends/slurm/slurm_state.def"
    HELIO_SLURM_AT_COUNT
} helio_slurm_phase_t;

typedef struct helio_slurm helio_slurm_t;

/*  What the last list that counts shows of an attempt's job. */
typedef struct helio_slurm_seen {
    bool live, over;           /* neither: no list has it */
    helio_slurm_state_t state; /* if live or over */
    char reason[64];
    char partitions[64]; /* "main,urgent"; "" = more than fit */
    char id[HELIO_SLURM_ID_SIZE];
    int64_t start_s, end_s; /* Slurm's; only expected while it waits */
} helio_slurm_seen_t;

/*  Its time in Slurm's queue. */
typedef struct helio_slurm_waits {
    int64_t since_ms; /* 0 = it does not wait */
    char said[64];    /* the reason that was reported last, ... */
    int64_t said_ms;  /* ... and when */
    int64_t ahead_ms; /* since when it waits for what was expected to become free, ... */
    int64_t never_ms; /* ... it can never start, ... */
    int64_t stuck_ms; /* ... or only after an administrator of the site acts; 0 = it can start */
} helio_slurm_waits_t;

/*  How long attempts ran that ended by themselves: the last ones. */
enum { HELIO_SLURM_RUNS_KEPT = 64 };
typedef struct helio_slurm_run {
    uint64_t kin;
    int64_t ran_ms, at_ms;
} helio_slurm_run_t;
typedef struct helio_slurm_left {
    char pool[33];
    helio_slurm_ahead_t what; /* its pool is the one above */
    int64_t at_ms;
    bool shown; /* in use, in the nodes' figures of that time */
} helio_slurm_left_t;
typedef struct helio_slurm_runs { /* rings */
    helio_slurm_run_t items[HELIO_SLURM_RUNS_KEPT];
    uint32_t next;
    helio_slurm_left_t left[HELIO_SLURM_RUNS_KEPT]; /* what attempts left that are over */
    uint32_t left_next;
} helio_slurm_runs_t;

/*  The search for how it ended. */
typedef struct helio_slurm_leaving {
    int64_t since_ms, due_ms;
    bool done_read; /* `done` says that it was told to stop, but not by this agent: Slurm tells why */
    bool signalled; /* `done` says that a signal ended its program, which this agent did not send: perhaps Slurm did */
    uint32_t sacct_asked;  /* times */
    uint32_t unknown;      /* times that a controller that is up did not know the job */
    int64_t unknown_ms;    /* first time */
    uint32_t unknown_list; /* the list after which it was asked last */
} helio_slurm_leaving_t;

/*  One attempt, from its look-up until its end was reported and Slurm holds nothing of it. */
typedef struct helio_slurm_attempt {
    helio_held_t held;
    helio_slurm_t *backend;
    helio_slurm_phase_t phase;
    int64_t since_ms, due_ms;

    /* the order */
    bool to_start;        /* start was called: submit it if it is absent */
    helio_arena_t *arena; /* of `order` and `spec`, while it may have to be submitted; NULL = none */
    helio_order_t order;
    helio_job_spec_t spec;
    char pool[33];
    uint32_t nodes, gpus_per_node, cpus_per_node;
    uint64_t memory_bytes_per_node, limit_ms, grace_ms; /* limit 0: none is known */
    uint64_t kin; /* the same for attempts that may run equally long; 0 = unknown */
    bool ahead;   /* it came for what was not free yet */

    /* its state */
    uint32_t since_list;          /* earlier lists tell nothing of it */
    char id[HELIO_SLURM_ID_SIZE]; /* of the job that counts; "" = unknown */
    bool claimed;
    bool unproven;           /* claimed by a job that is not known to be its own: its status files are not trusted */
    bool closed;             /* claimed for no shim: nothing of it will ever run */
    bool locked;             /* its folder exists, but its user made it unreadable; or it is gone, and `marked` */
    bool surveyed;           /* a survey found it */
    bool marked;             /* a job of its name runs this site's batch script: another site's does not */
    bool known;              /* start, adopt or stop named it: the journal holds it */
    uint32_t holds_list;     /* the first list that showed it with nodes; 0 = none yet */
    int64_t requeued_ms;     /* since when it has been pending although it is claimed; 0 = not */
    int64_t started_wall_ms; /* 0 = not yet */
    bool said_started;
    int64_t said_started_ms;
    helio_witness_t witness;
    int64_t doubted_ms;    /* since when Slurm's report of its end is awaited; 0 = not */
    int64_t noticed_ms;    /* when its `done` was found before Slurm had told its end; 0 = not */
    uint32_t noticed_list; /* lists from this one on were asked for later */
    helio_beat_t beat;
    helio_lifetime_t life;
    helio_slurm_seen_t seen, other; /* other: a second job of its name */
    uint32_t uid;                   /* the user whose jobs count, ... */
    bool uid_known;                 /* ... once known */
    helio_slurm_waits_t waits;
    bool suspended; /* SUSPENDED was reported, and not RESUMED since */
    bool asking;    /* a query about it is under way */

    /* submission */
    int64_t first_ms; /* time of the first sbatch; 0 = none yet */
    uint32_t tries;
    bool sbatch_out;  /* an sbatch of it has not returned yet */
    int64_t again_ms; /* UNSURE: when sbatch can be called again, ... */
    bool absent;      /* ... and whether a later list lacks it */
    char trouble[200];

    helio_slurm_leaving_t leaving;

    /* stopping */
    uint32_t stop_mode; /* HELIO_SLURM_NO_STOP */
    int64_t stop_ms, stop_due_ms;
    bool stop_out;        /* a scancel is under way */
    bool stop_sent;       /* the signal of this mode has been sent */
    uint32_t stop_marked; /* the mode in the file `stop`, + 1; 0 = none */
    bool stop_again;      /* a harder stop was requested while a scancel was under way */
    bool cancel_out;      /* a scancel of a job that is not needed is under way */

    int64_t gone_ms;
    bool gone_killed;
    helio_aev_backend_t end;
    char explanation[256]; /* of the end */
} helio_slurm_attempt_t;

/*  The last result of one of the cluster's lists. */
typedef struct helio_slurm_answer {
    helio_arena_t *arena; /* the text and what was read from it */
    int64_t at_ms;
    bool have;
} helio_slurm_answer_t;

typedef enum helio_slurm_asked {
    HELIO_SLURM_ASK_CONFIG, /* only if it can be had, ... */
    HELIO_SLURM_ASK_QOS,    /* ... and so is this, with associations */
    HELIO_SLURM_ASK_PARTITIONS,
    HELIO_SLURM_ASK_RESERVATIONS,
    HELIO_SLURM_ASK_NODES, /* last, so that what it shows in use is the newest */
    HELIO_SLURM_ASK_COUNT
} helio_slurm_asked_t;

/*  Not every cluster tells it. */
static inline bool helio_slurm_is_optional(helio_slurm_asked_t asked)
{
    return asked == HELIO_SLURM_ASK_CONFIG || asked == HELIO_SLURM_ASK_QOS;
}

typedef struct helio_slurm_poll {
    helio_slurm_t *of; /* the poll is the argument of all queries about the cluster */
    bool out;          /* squeue is under way */
    int64_t due_ms;
    int64_t idle_due_ms;   /* the same while no attempt is under way */
    int64_t took_ms;       /* the last list */
    uint32_t unchanged;    /* lists in a row that differ in nothing from the one before */
    uint32_t failures;     /* in a row */
    uint32_t asked, heard; /* numbers of lists; heard: the last complete one */
    int64_t asked_ms;      /* time of the last request */
    int64_t unanswered_ms; /* time of the first request since the last complete list came; 0 = none */
    uint64_t hash;         /* of the jobs' ids and states */
    helio_slurm_answer_t jobs_answer;
    helio_slurm_jobs_t jobs;
    const helio_slurm_job_t **ours; /* those of `jobs` whose names could be attempts' */
    uint32_t ours_count;

    bool cluster_out; /* a scontrol is under way */
    helio_slurm_asked_t cluster_asked;
    bool cluster_wanted[HELIO_SLURM_ASK_COUNT];
    int64_t cluster_due_ms;
    int64_t cluster_took_ms;   /* the last answer */
    uint32_t cluster_failures; /* in a row */
    uint32_t polls;
    uint32_t nodes_asked_after; /* the list before the nodes were requested, and the one after they came */
    uint32_t nodes_after;
    int64_t nodes_asked_ms, nodes_at_ms; /* when they were requested: now, and those that came */
    helio_slurm_answer_t cluster[HELIO_SLURM_ASK_COUNT];
    helio_slurm_nodes_t nodes;
    int64_t config_ms; /* when it was requested last; 0 = never */
    bool enforced;     /* limits of accounts and QOS */
    const char *users; /* `users=` of the site's rules; NULL = too many, or none */
    helio_slurm_all_qos_t qos;
    helio_slurm_associations_t associations;
    helio_slurm_partitions_t partitions;
    helio_slurm_reservations_t reservations;

    struct {
        uint32_t list; /* the number of the list */
        char partitions[64];
        uint32_t nodes;
    } usable;              /* nodes that can start something */
    uint32_t reasons_list; /* the list that caused reasons_said reports */
    uint32_t reasons_said;

    bool capacity_due;
    uint64_t ahead_hash;     /* what the last capacity offered ahead, ... */
    uint64_t ahead_pools;    /* ... and of which pools of the site: bit by bit */
    helio_silence_t silence; /* nothing is offered meanwhile */
    int64_t series_ms;
    uint64_t series_hash;
} helio_slurm_poll_t;

/*  The survey of an agent's start. */
typedef struct helio_slurm_survey {
    bool open;           /* it was asked for, and is not complete */
    bool folders, marks; /* both have been read */
    bool out;            /* squeue is under way */
    int64_t since_ms, due_ms;
    helio_error_t hindrance;
    bool hindrance_said;
} helio_slurm_survey_t;

struct helio_slurm {
    helio_backend_t base;
    helio_arena_t *arena; /* the options' texts */
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

    helio_held_table_t attempts;
    helio_slurm_runs_t runs;
    helio_slurm_poll_t poll;
    helio_slurm_survey_t survey;
    bool no_accounting; /* sacct says that the cluster keeps no accounting */
    int64_t now_boot_ms, now_wall_ms;
    int64_t next_ms, sweep_ms;
};

static inline helio_slurm_t *helio_slurm_of(helio_backend_t *base)
{
    return (helio_slurm_t *)(void *)base;
}

/*  All attempts, the newest first. NULL: there is none, or no other. */
static inline helio_slurm_attempt_t *helio_slurm_first(const helio_slurm_t *self)
{
    return (helio_slurm_attempt_t *)(void *)self->attempts.first;
}
static inline helio_slurm_attempt_t *helio_slurm_after(const helio_slurm_attempt_t *attempt)
{
    return (helio_slurm_attempt_t *)(void *)attempt->held.after;
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
/*  Records its end and moves it to OVER; a figure that `end` has already (from `done`, from Slurm) stays. */
void helio_slurm_end(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *format, ...)
    HELIO_PRINTF(4, 5);
/*  Reports WAITING, SUSPENDED or RESUMED. */
void helio_slurm_say(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation);
/*  Reports STARTED, once. */
void helio_slurm_say_started(helio_slurm_attempt_t *attempt);
/*  Reports the end; afterwards the attempt is GONE or freed. */
void helio_slurm_say_end(helio_slurm_attempt_t *attempt);
void helio_slurm_leave(helio_slurm_attempt_t *attempt); /* to LEAVING */
/*  It was stopped before a shim came, and the folder is closed. */
void helio_slurm_end_unstarted(helio_slurm_attempt_t *attempt);

/* ---- slurm_ahead.c */
uint64_t helio_slurm_kin(const helio_order_t *order);
/*  Its end. own: by itself, so that it tells how long others of its kind run. */
void helio_slurm_note_run(const helio_slurm_attempt_t *attempt, int64_t ran_ms, bool own);
void helio_slurm_note_freed(const helio_slurm_attempt_t *attempt); /* later than noticed, a list showed its end */
/*  By pool and size; in the arena. */
const helio_slurm_ahead_t *helio_slurm_ahead(const helio_slurm_t *self, helio_arena_t *arena, uint32_t *ret_count);
/*  Jobs that last less than two lists apart end now. */
bool helio_slurm_is_brisk(const helio_slurm_t *self);
uint64_t helio_slurm_ahead_hash(const helio_slurm_ahead_t *ahead, uint32_t count);

/* ---- slurm_commands.c */
/*  A query of the cluster, never an action; the result goes to `done` with `arg`. False: too many wait. urgent: before
 *  those that wait. */
bool helio_slurm_ask(helio_slurm_t *self, const char *const *argv, size_t max_bytes, bool urgent,
                     helio_command_done_fn *done, void *arg);
/*  The output is a list that can be trusted. A controller that is down has been seen to give an empty one with exit
 *  0. */
bool helio_slurm_is_whole(const helio_command_result_t *result);
/*  For that number, and only if it has the attempt's name; two more options, or NULL. False: too many wait. */
bool helio_slurm_scancel(helio_slurm_attempt_t *attempt, const char *first, const char *second, const char *id,
                         helio_command_done_fn *done);
/*  A second, pending job of the attempt's name, which is not needed. */
void helio_slurm_cancel_pending(helio_slurm_attempt_t *attempt, const char *id);
/*  A job that holds nodes although its folder is closed: it has nothing to run. */
void helio_slurm_cancel_held(helio_slurm_attempt_t *attempt, const char *id);
/*  The same without KillWait: nothing that runs now is charged. */
void helio_slurm_cancel_at_once(helio_slurm_attempt_t *attempt, const char *id);

/* ---- slurm_status_files.c */
/*  Reads the status files and does what follows: STARTED, the end. False: they cannot be read now. *ret_folder: the
 *  folder exists. A locked folder tells nothing; then only Slurm does. */
bool helio_slurm_look(helio_slurm_attempt_t *attempt, bool *ret_folder);
/*  Its shim has shown life lately, and can still be alive, so it runs, whatever Slurm reports. */
bool helio_slurm_is_alive(const helio_slurm_attempt_t *attempt);
/*  Claims it for no shim. CONFLICT: a shim has it (attempt->claimed). */
HELIO_MUST_CHECK helio_rc helio_slurm_close(helio_slurm_attempt_t *attempt, helio_error_t *err);

/* ---- slurm_site.c */
/*  Whether programs of the cluster run between a job's start and its own program (Prolog, PrologSlurmctld, nodes that
 *  are powered up), by `scontrol show config`. INVALID: it does not tell. */
HELIO_MUST_CHECK helio_rc helio_slurm_read_prologs(helio_text_t config, bool *ret_some);
HELIO_MUST_CHECK helio_rc helio_slurm_ask_prologs(const helio_slurm_settings_t *settings, helio_arena_t *arena,
                                                  bool *ret_some);

/*  Nodes of a pool. */
typedef struct helio_slurm_pool_nodes {
    bool partition_up;
    uint32_t own;    /* those that it offers, ... */
    uint32_t open;   /* ... of which so many can start something, now or once they are free */
    uint32_t shared; /* those that another pool offers, which has them, too */
    uint32_t with;   /* the index of that pool, of the last one */
} helio_slurm_pool_nodes_t;
/*  Of each pool of the site. */
HELIO_MUST_CHECK helio_rc helio_slurm_ask_nodes(const helio_site_profile_t *site,
                                                const helio_slurm_settings_t *settings, helio_arena_t *arena,
                                                helio_slurm_pool_nodes_t *ret_pools);

/* ---- slurm_settings.c */
void helio_slurm_settings_copy(const helio_slurm_settings_t *from, helio_arena_t *arena, helio_slurm_settings_t *ret);
/*  The mapping of a pool, with partition and GRES type resolved. NULL-safe: a pool that is not mapped has the partition
 *  "". */
void helio_slurm_pool_of(const helio_slurm_settings_t *settings, const helio_site_profile_t *site, helio_text_t pool,
                         helio_arena_t *arena, helio_slurm_pool_t *ret_pool);
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
/*  Makes sbatch's arguments from an order. Failure: BAD_OPTION, explained by the error's text. */
HELIO_MUST_CHECK helio_rc helio_slurm_launch(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt,
                                             const helio_unix_account_t *account, helio_arena_t *arena,
                                             helio_slurm_launch_t *ret_launch, helio_error_t *err);

/* ---- slurm_submit.c */
/*  Makes the folder and calls sbatch. From LOOKING. */
void helio_slurm_submit(helio_slurm_attempt_t *attempt);
/*  LOOKING for too long: closes its folder, and the attempt has failed to start. */
void helio_slurm_never_submitted(helio_slurm_attempt_t *attempt);
/*  UNSURE: calls sbatch again, into the same folder, or gives up. */
void helio_slurm_unsure_serve(helio_slurm_attempt_t *attempt);

/* ---- slurm_offer.c */
void helio_slurm_offer_serve(helio_slurm_t *self); /* reports what is due */
int64_t helio_slurm_offer_next_ms(const helio_slurm_t *self);

/* ---- slurm_poll.c */
void helio_slurm_poll_open(helio_slurm_t *self);
void helio_slurm_poll_serve(helio_slurm_t *self);
int64_t helio_slurm_poll_next_ms(const helio_slurm_t *self);
void helio_slurm_poll_clear(helio_slurm_t *self);

/* ---- slurm_watch.c */
void helio_slurm_note_job(helio_slurm_attempt_t *attempt, const helio_slurm_job_t *job);
/*  A complete list has come (self->poll.heard). */
void helio_slurm_on_list(helio_slurm_attempt_t *attempt);
/*  Does what is due by the clock; can free the attempt. */
void helio_slurm_serve(helio_slurm_attempt_t *attempt);

/* ---- slurm_wait.c */
/*  What a complete list means for an attempt that waits, or is suspended. True: it was withdrawn, and is OVER. */
bool helio_slurm_wait_on_list(helio_slurm_attempt_t *attempt);

/* ---- slurm_whose.c */
void helio_slurm_owned_by(helio_slurm_attempt_t *attempt, uint32_t uid);
void helio_slurm_note_owner(helio_slurm_attempt_t *attempt, int folder); /* of the folder */
/*  Whether a job of the attempt's name can be the attempt's. */
bool helio_slurm_is_ours(helio_slurm_attempt_t *attempt, uint32_t uid);

/* ---- slurm_end.c */
void helio_slurm_leaving_serve(helio_slurm_attempt_t *attempt);
void helio_slurm_leaving_on_list(helio_slurm_attempt_t *attempt);
/*  Claimed, and pending again. */
void helio_slurm_end_requeued(helio_slurm_attempt_t *attempt);

/* ---- slurm_charge.c */
bool helio_slurm_shows_run(const helio_slurm_seen_t *seen); /* on its nodes, and not only waiting for them to boot */
void helio_slurm_witness(helio_slurm_attempt_t *attempt);   /* from a complete list */
/*  Has the journal keep what is new of that. */
void helio_slurm_tell_evidence(helio_slurm_attempt_t *attempt);
/*  A shim had claimed it under an earlier agent, and its folder has no claim: it has begun, and its user hides that. */
bool helio_slurm_is_emptied(const helio_slurm_attempt_t *attempt);
void helio_slurm_witness_end(helio_slurm_attempt_t *attempt, int64_t start_s, int64_t end_s); /* from accounting */
/*  Its `done` omits much of the time for which it was seen running, and Slurm has not yet reported when it ended:
 *  Slurm's report is awaited for a while. */
bool helio_slurm_awaits_slurm(helio_slurm_attempt_t *attempt, const helio_done_t *done);
/*  Its start by its status file, if that is plausible. */
int64_t helio_slurm_begun_wall_ms(const helio_slurm_attempt_t *attempt, int64_t said_ms);
/*  Before its end is reported: replaces implausible times, and explains the difference. */
void helio_slurm_charge(helio_slurm_attempt_t *attempt);

/* ---- slurm_times.c */
/*  Its `done` was found, and Slurm's end of it may still come with a list. What it leaves is offered meanwhile. */
bool helio_slurm_awaits_times(helio_slurm_attempt_t *attempt, const helio_done_t *done);
/*  Slurm reports that the site ended it, however its program took that. */
bool helio_slurm_was_cut_short(const helio_slurm_seen_t *seen);
/*  The controller does not answer: ends that were found are reported without its times. */
void helio_slurm_await_no_times(helio_slurm_t *self);
/*  Replaces its run time by the one that Slurm counts, as far as that is plausible. launch_ms: the longest time from
 *  Slurm's start to the first program. */
void helio_slurm_count(helio_slurm_attempt_t *attempt, int64_t launch_ms);
/*  When its status files are looked at next; boot clock. */
int64_t helio_slurm_look_ms(const helio_slurm_attempt_t *attempt);

/* ---- slurm_stop.c */
void helio_slurm_stop_serve(helio_slurm_attempt_t *attempt);
void helio_slurm_gone_on_list(helio_slurm_attempt_t *attempt);
/*  A pending job has no attempt here, as after a restart: the attempt, GONE, if its folder is closed, so that the job
 *  is cancelled; else NULL: it can belong to another federation. */
helio_slurm_attempt_t *helio_slurm_leftover(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch);

/* ---- slurm_survey.c */
void helio_slurm_survey(helio_slurm_t *self);
void helio_slurm_survey_serve(helio_slurm_t *self);

/* ---- slurm_enter.c */
helio_rc helio_slurm_enter(helio_backend_t *base, const helio_entry_t *entry, helio_arena_t *arena,
                           helio_entry_command_t *ret_command, helio_error_t *err);

#endif
