/*  backend.h -- what runs attempts at a site: local processes, Slurm, Kubernetes, a command.
 *
 *  One table of functions; every backend's struct begins with a helio_backend_t. A backend is driven by one
 * thread and has no thread of its own that it shows: the agent's loop waits until fd is readable or next_ms
 * has come and then calls process, which does what is due and hands out events. Nothing else calls back:
 * start, adopt, stop, forget and survey only note their outcome (next_ms becomes 0), so that a core may be
 * stepped from a callback without re-entry. A view in an event lives for the callback only.
 *
 *  Guarantees that every backend gives:
 *   - Names. An attempt is called helio-<job>[-<task>]-<epoch> wherever it shows (helio_attempt_name).
 *   - start is idempotent: it looks the attempt up by that name first, also among those that have ended, and
 * starts it only if the backend does not know it. A repeated start is answered with the present state
 * (STARTED, ENDED, …).
 *   - adopt never starts anything: it watches an attempt that exists, or answers ABSENT. A look-up that fails
 * (scheduler unreachable) is repeated until it succeeds: silence is never ABSENT, nor VANISHED.
 *   - Events of one attempt come as any number of WAITING, [STARTED], pairs of SUSPENDED and RESUMED, then exactly
 *     one of ENDED, FAILED_TO_START, VANISHED, ABSENT, for one start or adopt of one backend object. A new object
 *     (the agent restarted) says all that again when asked.
 *   - FAILED_TO_START: not one instruction of the job ran. VANISHED: it ran, its end is unknown, and nothing
 * of it runs any more. Both have a cause (federation/reason/codes.h), and an explanation of what the system or
 * the scheduler said.
 *   - ENDED with `stopped`: it ended because of a stop or of its lease, whatever its exit code then was.
 *   - destroy ends no attempt: they run on and can be adopted by a new object.
 */
#ifndef HELIO_BACKENDS_BACKEND_H
#define HELIO_BACKENDS_BACKEND_H

#include "site-agent/core/agent_core.h"

typedef struct helio_backend helio_backend_t;

/*  What start and adopt are given; all of it borrowed for the call. `spec` is order->source, parsed (the
 * caller has refused what does not parse); the order's resources and limit are the resolved ones and go
 * before the spec's. slots: one a node for backends that leave placing to the core (allocates), else empty.
 */
typedef struct helio_backend_task {
    const helio_order_t *order;
    const helio_job_spec_t *spec;
    const helio_slot_t *slots;
    uint32_t slot_count;
} helio_backend_task_t;

/*  Where a backend's news go, given at its creation. on_capacity may be NULL (and is not used by one that
 * allocates). Its figures must leave out what every attempt needs that start has been called for: the core counts
 * an order as contained in the first figures that come after its start. */
typedef struct helio_backend_sink {
    void *arg;
    void (*on_event)(void *arg, const helio_aev_backend_t *event);
    void (*on_capacity)(void *arg, const helio_aev_capacity_t *capacity);
    /*  Series that the backend itself knows (free GPUs of the next hours): all of them, each time. May be NULL. */
    void (*on_series)(void *arg, const helio_aev_series_t *series);
    /*  The scheduler below answers nothing (silent: no GPUs are offered until it does), or again. For the log; said
     *  at each change, not repeated. May be NULL. */
    void (*on_silence)(void *arg, bool silent, uint64_t for_ms);
} helio_backend_sink_t;

typedef struct helio_backend_class {
    const char *name; /* the word of a site file's `backend` */
    bool allocates;   /* the core chooses nodes and GPUs; false: a scheduler of its own does */

    void (*start)(helio_backend_t *self, const helio_backend_task_t *task);
    void (*adopt)(helio_backend_t *self, const helio_backend_task_t *task);

    /*  GRACE: checkpoint signal or TERM, the job's grace (of the spec given to start or adopt), KILL. KILL:
     * at once; it may follow a GRACE. Repeats are harmless. Of an attempt that was neither started nor
     * adopted here: looked up by name, stopped if it is there, else ABSENT. The end comes as ENDED with
     * `stopped`. */
    void (*stop)(helio_backend_t *self, const helio_stop_t *stop);

    /*  Its end is acknowledged by the broker: what is kept of it may go, after the site's retention time.
     * Never called while it may still run; harmless for what is unknown. */
    void (*forget)(helio_backend_t *self, helio_job_key_t key, uint32_t epoch);

    /*  Reports every attempt of the federation that the backend holds, asked for or not, as if each had been
     * adopted: for an agent whose journal was damaged. NULL: cannot. */
    void (*survey)(helio_backend_t *self);

    /*  Attempts under `lease` and `eager` stop by themselves, without the agent, when this CLOCK_BOOTTIME (of
     * this machine) comes before a later deadline does. NULL: the site offers only `strict`. IO: it could not
     * be written; they will stop at the former deadline, which is the safe side. */
    helio_rc (*lease)(helio_backend_t *self, int64_t deadline_boot_ms, helio_error_t *err);

    /*  A piece of an attempt's output (standard output and error of all ranks) from `offset`: appends at most
     * `max` bytes to *out. *ret_next is where to go on; *ret_end: the attempt is over and nothing follows. A
     * running attempt yields 0 bytes when there is no more yet. NOT_FOUND: unknown here, or tidied away. */
    helio_rc (*log_read)(helio_backend_t *self, helio_job_key_t key, uint32_t epoch, uint64_t offset,
                         size_t max, helio_buffer_t *out, uint64_t *ret_next, bool *ret_end,
                         helio_error_t *err);

    /*  For `helio-agent check`: can this backend work as configured? Says what is wrong and how to mend it.
     */
    helio_rc (*check)(helio_backend_t *self, helio_error_t *err);

    /*  A descriptor that is readable when process has something to do (an epoll instance, usually); -1: none.
     * Constant. */
    int (*fd)(const helio_backend_t *self);
    /*  CLOCK_BOOTTIME in ms when process wants to be called whatever fd says; 0: now; INT64_MAX: no wish. */
    int64_t (*next_ms)(const helio_backend_t *self);
    /*  Never waits for anything but the disk; what is left to do makes next_ms 0. Early calls are
     * harmless. */
    void (*process)(helio_backend_t *self, int64_t now_boot_ms, int64_t now_wall_ms);

    void (*destroy)(helio_backend_t *self); /* frees; ends no attempt */
} helio_backend_class_t;

/*  First member of each backend's own struct. */
struct helio_backend {
    const helio_backend_class_t *class;
};

void helio_backend_destroy(helio_backend_t **self_p);

/*  ---- names ---- */

enum { HELIO_ATTEMPT_NAME_SIZE = 6 + HELIO_ID_CHARS + 11 + 11 + 1 };

/*  "helio-<26 characters>[-<task>]-<epoch>": letters, digits and '-' only, safe as a file, Slurm or
 * Kubernetes name. */
void helio_attempt_name(helio_job_key_t key, uint32_t epoch, char ret_name[HELIO_ATTEMPT_NAME_SIZE]);
uint64_t helio_attempt_hash(helio_job_key_t key, uint32_t epoch); /* for tables of attempts */
/*  And back; INVALID for anything that helio_attempt_name would not have written. */
HELIO_MUST_CHECK helio_rc helio_attempt_name_parse(helio_text_t name, helio_job_key_t *ret_key,
                                                   uint32_t *ret_epoch);

#endif
