/*  internal.h -- what the files of the backend `exec` share.
 *
 *  The life of one attempt, lowest first; each file calls only those before it:
 *      answer.c, capacity.c   pure: what the adapter prints; what is free
 *      charge.c               what the engine shows of an attempt, for what it is charged
 *      table.c                the attempts by key; their states (exec_state.def); their events
 *      ask.c                  requests to the adapter
 *      look.c                 the status files in an attempt's folder; closing it
 *      submit.c               the folder, `submit`, and what its answer means
 *      stop.c                 stopping, and cancelling what the engine still holds
 *      watch.c                what an inventory and the clock mean for one attempt
 *      poll.c                 inventories; capacity; silence
 *      survey.c               what the engine and the folders hold, whatever the journal knows
 *      exec.c                 the functions that the agent calls; creation and end
 *      settings.c             keys of the site file
 *      once.c                 one request, and the wait for its answer
 *      conform.c, check.c     helio-agent check and check-backend
 */
#ifndef HELIO_BACKENDS_EXEC_INTERNAL_H
#define HELIO_BACKENDS_EXEC_INTERNAL_H

#include <string.h>

#include "federation/base/json.h"
#include "federation/reason/codes.h"
#include "site-agent/backends/command.h"
#include "site-agent/backends/exec/capacity.h"
#include "site-agent/backends/exec/exec.h"
#include "site-agent/backends/events.h"
#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/folder/lifetime.h"
#include "site-agent/backends/folder/witness.h"

enum {
    HELIO_EXEC_LIST_BYTES = 16 << 20,
    HELIO_EXEC_ANSWER_BYTES = 256 << 10,
    HELIO_EXEC_NO_STOP = HELIO_STOP_MODE_COUNT,
    HELIO_EXEC_GIVE_UP_MS = 60000, /* of submitting an attempt; meanwhile another site may get room for it */
    HELIO_EXEC_AGAIN_MS = 2000
};

typedef enum helio_exec_phase {
#define STATE(name, known, next) HELIO_EXEC_AT_##name,
#include "site-agent/backends/exec/exec_state.def"
    HELIO_EXEC_AT_COUNT
} helio_exec_phase_t;

typedef struct helio_exec helio_exec_t;

/*  What the last inventory that counts says of an attempt. */
typedef struct helio_exec_listed {
    bool live, over; /* neither: it does not list it */
    helio_exec_state_t state;
    uint32_t cause;
    int64_t begun_ms, ended_ms;
    char reason[200];
    char node[HELIO_EXEC_NODE_SIZE]; /* where it runs; "" = not said, or a longer name */
} helio_exec_listed_t;

typedef struct helio_exec_attempt {
    helio_held_t held;
    helio_exec_t *backend;
    helio_exec_phase_t phase;
    int64_t since_ms, due_ms;

    /* the order */
    bool to_start;        /* start was called: submit it if it is absent */
    helio_arena_t *arena; /* of `order` and `spec`, while it may have to be submitted; NULL = none */
    helio_order_t order;
    helio_job_spec_t spec;
    char pool[33];
    uint32_t nodes, gpus, cpus;                /* nodes 0: unknown */
    uint64_t memory_bytes, limit_ms, grace_ms; /* limit 0: none is known */

    /* its state */
    uint32_t since_list; /* earlier inventories tell nothing of it */
    char id[HELIO_EXEC_ID_SIZE];
    bool known;     /* start, adopt or stop named it: the journal holds it */
    bool surveyed;  /* a survey found it, ... */
    bool unordered; /* ... running, and no journal knew it: the engine was told to end it */
    bool claimed;
    bool closed;    /* claimed for no shim: nothing of it will ever run */
    bool fence_out; /* the adapter is closing it */
    bool hidden;    /* its folder exists and cannot be read: its user changed it */
    int64_t started_wall_ms;
    bool said_started, suspended;
    int64_t said_started_ms; /* 0 = not said */
    helio_witness_t witness;
    helio_beat_t beat;
    helio_lifetime_t life;
    helio_exec_listed_t listed;
    uint32_t missing;   /* inventories in a row that do not list it, ... */
    int64_t missing_ms; /* ... and since when */
    int64_t waits_ms;   /* since when the engine lists it as waiting; 0 = it does not */
    char said[200];     /* the reason that was reported last, ... */
    int64_t said_ms;    /* ... and when */

    /* submission */
    int64_t first_ms; /* time of the first request; 0 = none yet */
    uint32_t tries;
    bool submit_out;
    int64_t again_ms;   /* UNSURE: when it can be submitted again, ... */
    bool absent;        /* ... and whether a later inventory lacks it */
    uint32_t giving_up; /* the cause; NONE = not */
    char trouble[200];

    /* stopping */
    uint32_t stop_mode;
    int64_t stop_ms, stop_due_ms;
    uint32_t stop_marked; /* the mode in the file `stop`, + 1; 0 = none */
    bool cancel_out;
    int64_t cancel_ms; /* when it was last asked for */

    int64_t gone_ms;
    helio_aev_backend_t end;
    char explanation[HELIO_CHARGE_TEXT_SIZE];
} helio_exec_attempt_t;

typedef struct helio_exec_poll {
    bool out;
    int64_t due_ms;
    uint32_t asked, heard; /* numbers of inventories; heard: the last one that counts */
    int64_t asked_ms;      /* time of the last request */
    uint32_t failures;     /* in a row */
    int64_t unanswered_ms; /* time of the first request since the last one that counts; 0 = none */
    helio_arena_t *arena;  /* of the last one that counts; NULL = none yet */
    helio_exec_answer_t answer;
    bool capacity_due;
    helio_silence_t silence;
    char doubt[300];    /* what was wrong with the last answer, as it was logged */
    uint64_t left_told; /* runs that left processes behind, as it was logged */
    bool lease_out, lease_due;
} helio_exec_poll_t;

typedef struct helio_exec_survey {
    bool open;
    bool folders;    /* they have been read */
    uint32_t listed; /* the first inventory that can count */
    int64_t since_ms, due_ms;
    helio_error_t hindrance;
    bool hindrance_said;
} helio_exec_survey_t;

struct helio_exec {
    helio_backend_t base;
    helio_arena_t *arena;
    helio_site_profile_t site;
    helio_job_rules_t rules;
    helio_exec_settings_t settings;
    uint64_t lease_margin_ms;
    helio_backend_sink_t sink;
    helio_folders_t *folders;
    helio_commands_t *commands;
    const char **argv;  /* the adapter's */
    const char *folder; /* of all attempts */
    const char *shim, *lease_path;

    helio_held_table_t attempts;
    helio_exec_poll_t poll;
    helio_exec_survey_t survey;
    int64_t now_boot_ms, now_wall_ms, next_ms, sweep_ms;
};

static inline helio_exec_t *helio_exec_of(helio_backend_t *base)
{
    return (helio_exec_t *)(void *)base;
}

/*  All attempts, the newest first. NULL: there is none, or no other. */
static inline helio_exec_attempt_t *helio_exec_first(const helio_exec_t *self)
{
    return (helio_exec_attempt_t *)(void *)self->attempts.first;
}
static inline helio_exec_attempt_t *helio_exec_after(const helio_exec_attempt_t *attempt)
{
    return (helio_exec_attempt_t *)(void *)attempt->held.after;
}

/* ---- settings.c */
void helio_exec_settings_copy(const helio_exec_settings_t *from, helio_arena_t *arena, helio_exec_settings_t *ret);
/*  The adapter's argv, and PATH and environment of its runs. */
const char **helio_exec_argv(const helio_exec_settings_t *settings, helio_arena_t *arena);
void helio_exec_environment(helio_arena_t *arena, helio_commands_options_t *ret_options);

/* ---- charge.c */
bool helio_exec_shows_run(const helio_exec_attempt_t *attempt); /* the last inventory that counts: on a node */
void helio_exec_witness(helio_exec_attempt_t *attempt);         /* from an inventory that counts */
/*  A shim had claimed it under an earlier agent, and its folder has no claim: it has begun, and its user hides that. */
bool helio_exec_is_emptied(const helio_exec_attempt_t *attempt);
void helio_exec_tell_evidence(helio_exec_attempt_t *attempt); /* has the journal keep what is new of that */
/*  Its begin by its status file, if that is plausible. */
int64_t helio_exec_begun_wall_ms(const helio_exec_attempt_t *attempt, int64_t said_ms);
/*  Before its end is reported: replaces implausible times, and explains the difference. */
void helio_exec_charge(helio_exec_attempt_t *attempt);

/* ---- table.c */
helio_exec_attempt_t *helio_exec_find(const helio_exec_t *self, helio_job_key_t key, uint32_t epoch);
helio_exec_attempt_t *helio_exec_add(helio_exec_t *self, helio_job_key_t key, uint32_t epoch);
void helio_exec_remove(helio_exec_attempt_t *attempt); /* frees */
void helio_exec_advance(helio_exec_attempt_t *attempt, helio_exec_phase_t phase);
/*  Records its end and moves it to OVER; what `end` has already stays. */
void helio_exec_end(helio_exec_attempt_t *attempt, uint32_t word, uint32_t cause, const char *format, ...)
    HELIO_PRINTF(4, 5);
void helio_exec_end_unstarted(helio_exec_attempt_t *attempt); /* it was stopped before a shim came */
void helio_exec_say(helio_exec_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation);
void helio_exec_say_started(helio_exec_attempt_t *attempt); /* once */
/*  Afterwards the attempt is GONE or freed. */
void helio_exec_say_end(helio_exec_attempt_t *attempt);

/* ---- ask.c: one request each. False: too many wait. */
/*  A request's head: protocol, op, site, folder. The caller adds members and ends the object. */
helio_json_writer_t helio_exec_request(const helio_exec_t *self, const char *op, helio_buffer_t *out);
bool helio_exec_run(helio_exec_t *self, const helio_buffer_t *request, size_t max_bytes, bool urgent,
                    helio_command_done_fn *done, void *arg);
bool helio_exec_ask_inventory(helio_exec_t *self, helio_command_done_fn *done);
bool helio_exec_ask_submit(helio_exec_attempt_t *attempt, const helio_unix_account_t *account,
                           helio_command_done_fn *done);
bool helio_exec_ask_about(helio_exec_attempt_t *attempt, const char *op, const char *mode, helio_command_done_fn *done);
void helio_exec_ask_forget(helio_exec_t *self, const char *name);
bool helio_exec_ask_lease(helio_exec_t *self, helio_command_done_fn *done);
/*  The answer, if the adapter ended well and printed one. The error's text is for the log. */
HELIO_MUST_CHECK helio_rc helio_exec_answer(const helio_command_result_t *result, helio_arena_t *arena,
                                            helio_exec_answer_t *ret_answer, helio_error_t *err);

/* ---- look.c */
/*  Reads the status files and does what follows: STARTED, the end. False: they cannot be read now. *ret_folder: the
 *  folder exists. */
bool helio_exec_look(helio_exec_attempt_t *attempt, bool *ret_folder);
/*  Its shim has shown life lately, and can still be alive, so it runs, whatever the engine says. */
bool helio_exec_is_alive(const helio_exec_attempt_t *attempt);
/*  Claims the folder for no shim. OK; CONFLICT: a shim has it (attempt->claimed); BUSY: the adapter is asked, call it
 *  again; IO. */
HELIO_MUST_CHECK helio_rc helio_exec_close(helio_exec_attempt_t *attempt);

/* ---- submit.c */
void helio_exec_submit(helio_exec_attempt_t *attempt);                       /* from LOOKING */
void helio_exec_unsure_serve(helio_exec_attempt_t *attempt);                 /* submits again, or gives up */
void helio_exec_give_up(helio_exec_attempt_t *attempt, helio_cause_t cause); /* as soon as its folder is closed */

/* ---- stop.c */
void helio_exec_cancel(helio_exec_attempt_t *attempt, bool kill); /* at most once in ten seconds */
void helio_exec_stop_serve(helio_exec_attempt_t *attempt);
void helio_exec_gone_on_list(helio_exec_attempt_t *attempt); /* can free it */

/* ---- watch.c */
void helio_exec_note(helio_exec_attempt_t *attempt, const helio_exec_seen_t *seen);
void helio_exec_on_list(helio_exec_attempt_t *attempt); /* can free it */
void helio_exec_serve(helio_exec_attempt_t *attempt);   /* can free it */

/* ---- poll.c */
void helio_exec_poll_serve(helio_exec_t *self);
int64_t helio_exec_poll_next_ms(const helio_exec_t *self);

/* ---- survey.c */
helio_exec_attempt_t *helio_exec_survey_one(helio_exec_t *self, helio_job_key_t key, uint32_t epoch);
void helio_exec_survey(helio_exec_t *self);
void helio_exec_survey_serve(helio_exec_t *self);

/* ---- once.c */
/*  One request, and the wait for its answer; more: further members of the request, without braces, or "". */
HELIO_MUST_CHECK helio_rc helio_exec_ask_once(const helio_exec_options_t *options, const char *op, const char *more,
                                              helio_arena_t *arena, helio_exec_answer_t *ret_answer,
                                              helio_error_t *err);

/* ---- conform.c */
/*  Holds the adapter to what docs/sites/exec.md asks of it: jobs run, are stopped, adopted, submitted twice. */
void helio_exec_conform(const helio_exec_options_t *options, helio_exec_check_fn *line, void *arg);

#endif
