/*  backend.h -- how a site runs attempts: local processes, or a Slurm cluster.
 *
 *  One table of functions; every backend's struct begins with a helio_backend_t. One thread drives a backend, and the
 *  backend shows no thread of its own: the agent's loop waits until fd is readable or next_ms has come, and then calls
 *  process, which does what is due and emits events. Nothing else calls back: start, adopt, stop, forget and survey
 *  only note their outcome (next_ms becomes 0), so a core can be stepped from a callback without re-entry. A view in an
 *  event lives for the callback only.
 *
 *  Every backend guarantees:
 *    - Names. An attempt is called helio-<job>[-<task>]-<epoch> wherever it appears (helio_attempt_name).
 *    - start is idempotent: it looks the attempt up by that name first, also among those that have ended, and starts it
 *      only if the backend does not know it. A repeated start is answered with the present state (STARTED, ENDED, …).
 *    - adopt never starts anything: it watches an attempt that exists, or answers ABSENT. A look-up that fails
 *      (scheduler unreachable) is repeated until it succeeds: silence never means ABSENT or VANISHED.
 *    - Events of one attempt come as any number of WAITING, [STARTED], pairs of SUSPENDED and RESUMED, then exactly one
 *      of ENDED, FAILED_TO_START, VANISHED, ABSENT, for one start or adopt of one backend object. A new object (the
 *      agent restarted) repeats all events when asked.
 *    - FAILED_TO_START: not one instruction of the job ran. VANISHED: it ran, its end is unknown, and nothing of it
 *      runs any more. Both have a cause (federation/reason/codes.h), and an explanation: what the system or the
 *      scheduler reported.
 *    - VANISHED has the time that it ran, up to the last proof of life, as far as the backend can tell (`estimated`).
 *    - ENDED with `stopped`: it ended because of a stop or of its lease, with any exit code.
 *    - destroy ends no attempt: attempts run on, and a new object can adopt them.
 */
#ifndef HELIO_BACKENDS_BACKEND_H
#define HELIO_BACKENDS_BACKEND_H

#include "site-agent/backends/command.h"
#include "site-agent/core/agent_core.h"

typedef struct helio_backend helio_backend_t;

/*  What start and adopt are given; all of it is borrowed for the call. `spec` is order->source, parsed (the caller has
 *  refused a source that does not parse). The order's resources and limit are the resolved ones and take precedence
 *  over the spec's. slots: one for each node if the backend leaves allocation to the core, else empty. */
typedef struct helio_backend_task {
    const helio_order_t *order;
    const helio_job_spec_t *spec;
    const helio_slot_t *slots;
    uint32_t slot_count;
    const helio_evidence_t *evidence; /* what the journal knows of it; NULL = nothing */
} helio_backend_task_t;

/*  A node on which jobs can start. busy: a job is on it, or may be about to. */
typedef struct helio_backend_node {
    helio_text_t name, pool;
    bool busy;
    uint32_t gpus_free, cpus_free;
    uint64_t memory_free_bytes;
    helio_attempt_ref_t *attempts; /* those that are known to run on it */
    uint32_t attempt_count;
} helio_backend_node_t;

/*  What is to be started inside an attempt that runs, for a channel (site-agent/channels); all of it is borrowed. */
typedef struct helio_entry {
    helio_job_key_t key;
    uint32_t epoch;
    uint32_t node;                   /* of a gang; 0 = the first */
    uint32_t kind;                   /* helio_channel_kind_t */
    const helio_argument_t *command; /* COMMAND: none = the shell of the attempt's user. Without NULs */
    uint32_t command_count;
    uint16_t port; /* PORT */
    bool terminal;
    helio_text_t term; /* TERM of the terminal */
} helio_entry_t;

/*  And by which program of this machine; in the arena that the backend was given. Its exit codes are those of
 *  site-agent/shim/inside.h. */
typedef struct helio_entry_command {
    const char *const *argv; /* NULL-terminated; argv[0] is absolute */
    const char *const *env;  /* all of its environment; NULL-terminated */
    helio_command_user_t as;
    const char *user; /* whom the command runs as in the end */
    bool announced;   /* the command says HELIO_INSIDE_CONNECTED before anything else, once it is in its place; a
                       * connection to a port always does */
} helio_entry_command_t;

/*  Receives a backend's events; given when the backend is made. on_capacity can be NULL, and is not used by a backend
 *  that leaves allocation to the core. The reported capacity must exclude what every attempt needs whose start has been
 *  called: the core considers an order contained in the first figures that come after its start. */
typedef struct helio_backend_sink {
    void *arg;
    void (*on_event)(void *arg, const helio_aev_backend_t *event);
    void (*on_capacity)(void *arg, const helio_aev_capacity_t *capacity);
    /*  Before on_capacity, from a backend that knows its nodes by name: all that jobs can start on. Can be NULL. */
    void (*on_nodes)(void *arg, const helio_backend_node_t *nodes, uint32_t count);
    /*  Before on_nodes: an attempt that has waited there for a node of the pool for a while. Can be NULL. */
    void (*on_waiting)(void *arg, helio_text_t pool, uint32_t gpus);
    /*  Series that the backend itself knows (free GPUs of the next hours), always all of them. Can be NULL. */
    void (*on_series)(void *arg, const helio_aev_series_t *series);
    /*  The cluster's scheduler stopped answering (silent: no GPUs are offered until it answers), or answers again. For
     *  the log; called at each change only. Can be NULL. */
    void (*on_silence)(void *arg, bool silent, uint64_t for_ms);
    /*  What the cluster's scheduler, or a process, says cannot be, and is not believed: what, and what follows. For the
     *  log; called when it begins and when it changes, not for each answer. Can be NULL. */
    void (*on_doubt)(void *arg, const char *text);
    /*  What a backend with a scheduler has seen of an attempt, to be kept in the journal: it gets it back when it is told to
     *  adopt the attempt. Called when something of it is new, not for each list. Can be NULL. */
    void (*on_evidence)(void *arg, const helio_aev_evidence_t *evidence);
    /*  The survey: what hinders it, once and again when that changes; NULL: complete, once. Called by process. */
    void (*on_survey)(void *arg, const char *hindrance);
} helio_backend_sink_t;

/*  In an offset of log_read. */
#define HELIO_LOG_FROM_END (UINT64_C(1) << 63)
static inline uint64_t helio_log_offset(uint64_t asked, uint64_t size)
{
    uint64_t back = asked & ~HELIO_LOG_FROM_END;
    return !(asked & HELIO_LOG_FROM_END) ? asked : back < size ? size - back : 0;
}

typedef struct helio_backend_class {
    const char *name; /* the value of a site file's `backend` */
    bool allocates;   /* the core chooses nodes and GPUs; false: the backend's scheduler does */

    void (*start)(helio_backend_t *self, const helio_backend_task_t *task);
    void (*adopt)(helio_backend_t *self, const helio_backend_task_t *task);

    /*  GRACE: the checkpoint signal or TERM, then KILL after the job's grace (of the spec given to start or adopt).
     *  KILL: at once; it can follow a GRACE. Repeats are harmless. An attempt that was neither started nor adopted here
     *  is looked up by name and stopped if it exists, else ABSENT. The end is reported as ENDED with `stopped`. */
    void (*stop)(helio_backend_t *self, const helio_stop_t *stop);

    /*  Passes a signal on to the processes of an attempt that runs (helio_signal_to_t says to which), within seconds.
     *  Nothing happens if it does not run here. NULL: the backend cannot. */
    void (*signal)(helio_backend_t *self, const helio_attempt_signal_t *signal);

    /*  The broker has acknowledged its end: what is kept of it can be removed after the site's retention time. Never
     *  called while it may still run; harmless for an unknown attempt. */
    void (*forget)(helio_backend_t *self, helio_job_key_t key, uint32_t epoch);

    /*  Reports every attempt of the federation that the backend holds, as if each had been adopted: the journal can
     *  have been lost, or be an older copy. Called once, before anything else. What it can look at at once it has
     *  looked at when it returns. The backend goes on by itself until it could look everywhere and at everything that
     *  it found, and then calls on_survey. Until then an ABSENT proves nothing. NULL: the backend cannot. */
    void (*survey)(helio_backend_t *self);

    /*  The attempts that it names, if they are under `lease` or `eager`, stop by themselves, without the agent, at this
     *  CLOCK_BOOTTIME (of this machine) unless a later deadline that names them comes first. One that was never named
     *  does not start. NULL: the site offers only `strict`. IO: it could not be written; the attempts will stop at the
     *  former deadline, which is safe. */
    helio_rc (*lease)(helio_backend_t *self, const helio_afx_lease_t *lease, helio_error_t *err);

    /*  A piece of an attempt's output (standard output and error of all ranks) from `offset`, which with HELIO_LOG_FROM_END counts
     *  back from what was written so far (then *ret_next tells where the piece ends): appends at most `max`
     *  bytes to *out. *ret_next: the offset to go on with; *ret_end: the attempt is over and nothing follows. A running
     *  attempt yields 0 bytes while it has written no more. NOT_FOUND: unknown here, or tidied away. */
    helio_rc (*log_read)(helio_backend_t *self, helio_job_key_t key, uint32_t epoch, uint64_t offset, size_t max,
                         helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err);

    /*  How a process is started inside an attempt that runs: as its user, with its environment, bounded as it is and
     *  ended with it. Starts nothing. The failure's text is for the job's owner. NULL: the backend cannot. */
    helio_rc (*enter)(helio_backend_t *self, const helio_entry_t *entry, helio_arena_t *arena,
                      helio_entry_command_t *ret_command, helio_error_t *err);

    /*  A descriptor that is readable when process has something to do (an epoll instance, usually); -1: none.
     * Constant. */
    int (*fd)(const helio_backend_t *self);
    /*  CLOCK_BOOTTIME in ms at which process must be called even if fd reports nothing; 0: now; INT64_MAX: never. */
    int64_t (*next_ms)(const helio_backend_t *self);
    /*  Waits for nothing but the disk; remaining work sets next_ms to 0. Early calls are harmless. */
    void (*process)(helio_backend_t *self, int64_t now_boot_ms, int64_t now_wall_ms);

    void (*destroy)(helio_backend_t *self); /* frees; ends no attempt */
} helio_backend_class_t;

/*  The first member of each backend's own struct. */
struct helio_backend {
    const helio_backend_class_t *class;
};

void helio_backend_destroy(helio_backend_t **self_p);

/*  ---- attempts ---- */

/*  Which attempt; compared and hashed byte by byte, as the key of a table (uthash). */
typedef struct helio_attempt_id {
    helio_job_key_t key;
    uint32_t epoch;
} helio_attempt_id_t;
_Static_assert(sizeof(helio_attempt_id_t) == sizeof(helio_job_key_t) + sizeof(uint32_t), "no padding is hashed");

enum { HELIO_ATTEMPT_NAME_SIZE = 6 + HELIO_ID_CHARS + 11 + 11 + 1 };

/*  "helio-<26 characters>[-<task>]-<epoch>": letters, digits and '-' only, safe as the name of a file or of a Slurm
 *  job. */
void helio_attempt_name(helio_job_key_t key, uint32_t epoch, char ret_name[HELIO_ATTEMPT_NAME_SIZE]);
/*  And back; INVALID for anything that helio_attempt_name would not have written. */
HELIO_MUST_CHECK helio_rc helio_attempt_name_parse(helio_text_t name, helio_job_key_t *ret_key, uint32_t *ret_epoch);

#endif
