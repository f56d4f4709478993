/*  inner.h -- what the files of the backend `local` share. */
#ifndef HELIO_BACKENDS_LOCAL_INNER_H
#define HELIO_BACKENDS_LOCAL_INNER_H

#include "site-agent/backends/folder/folder.h"
#include "site-agent/backends/local/local.h"

typedef enum helio_local_state {
    HELIO_LOCAL_SPAWNED, /* a shim exists; the `started` mark does not, as far as we know */
    HELIO_LOCAL_RUNNING, /* STARTED was said */
    HELIO_LOCAL_LEFT,    /* the shim died without an end mark: what is left is being killed */
    HELIO_LOCAL_OVER     /* `end` is to be said */
} helio_local_state_t;

/*  One attempt from its look-up until its end was said; after that the folder alone remembers it. */
typedef struct helio_local_attempt {
    struct helio_local_attempt *next; /* of the same bucket */
    struct helio_local_attempt *before, *after;
    helio_job_key_t key;
    uint32_t epoch;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_local_state_t state;
    int folder; /* -1 = none (never prepared) */
    int pidfd;  /* of the shim; -1 = none: looked after by the clock */
    helio_process_t shim;
    bool ours; /* our child: to be reaped */
    int64_t due_ms;
    bool spawned; /* by this object: that nobody claimed it is a failure then, not absence */
    bool said_started;
    uint32_t looks; /* for the `started` mark */
    helio_aev_backend_t end;
    char explanation[256];
} helio_local_attempt_t;

enum { HELIO_LOCAL_BUCKETS = 1024 };

typedef struct helio_local {
    helio_backend_t base;
    helio_arena_t *arena; /* options' texts */
    helio_local_options_t options;
    helio_job_rules_t rules;
    helio_folders_t *folders;
    const char *lease; /* path of the lease file */
    int epoll;
    char boot_id[HELIO_BOOT_ID_SIZE];
    helio_local_attempt_t *buckets[HELIO_LOCAL_BUCKETS];
    helio_local_attempt_t *first;
    int64_t next_ms;
    int64_t sweep_ms;
} helio_local_t;

/*  inspect.c: what the folder of an attempt and the processes tell together. */
typedef enum helio_local_found {
    HELIO_LOCAL_ABSENT, /* and it will stay so until start is called: an unclaimed folder was closed and put
                           aside */
    HELIO_LOCAL_ALIVE,  /* ret_shim runs it */
    HELIO_LOCAL_DONE,   /* ret_done */
    HELIO_LOCAL_DEAD    /* claimed by a shim that is no more, without an end */
} helio_local_found_t;

typedef struct helio_local_inspect {
    helio_local_found_t found;
    int folder; /* the caller closes it; -1 when absent */
    helio_process_t shim;
    bool other_boot; /* DEAD: the machine was started anew; nothing is left to kill */
    helio_done_t done;
} helio_local_inspect_t;

/*  IO: cannot be told now (disk, descriptors): ask again later. */
HELIO_MUST_CHECK helio_rc helio_local_inspect(helio_local_t *self, const char *name,
                                           helio_local_inspect_t *ret_look, helio_error_t *err);
/*  The `started` mark's time; 0 = there is none. */
int64_t helio_local_started_wall_ms(int folder);
/*  Kills what a dead shim left; true when nothing is left. */
bool helio_local_kill_left(int folder);

/*  watch.c */
helio_local_attempt_t *helio_local_find(const helio_local_t *self, helio_job_key_t key, uint32_t epoch);
helio_local_attempt_t *helio_local_add(helio_local_t *self, helio_job_key_t key, uint32_t epoch);
void helio_local_unlink(helio_local_t *self, helio_local_attempt_t *attempt);
void helio_local_free(helio_local_attempt_t *attempt);
/*  Takes up what was found; look's folder passes to the attempt. */
void helio_local_take(helio_local_t *self, helio_local_attempt_t *attempt, const helio_local_inspect_t *look);
void helio_local_say_end(helio_local_attempt_t *attempt, uint32_t word, uint32_t cause,
                         const char *explanation);
HELIO_MUST_CHECK helio_rc helio_local_spawn(helio_local_t *self, helio_local_attempt_t *attempt,
                                            helio_error_t *err);
void helio_local_signal(helio_local_attempt_t *attempt, uint32_t stop_mode);
/*  What is due of one attempt; may free it (after its end was said). */
void helio_local_serve(helio_local_t *self, helio_local_attempt_t *attempt, int64_t now_boot_ms,
                       int64_t now_wall_ms);

#endif
