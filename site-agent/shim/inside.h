/*  inside.h -- an attempt that runs on this machine, as somebody finds it who comes later: how it runs, which shim runs it,
 *  and which processes are its own. */
#ifndef HELIO_SHIM_INSIDE_H
#define HELIO_SHIM_INSIDE_H

#include "site-agent/shim/plan.h"

/*  Exit codes of those who come; 1 to 123 and 126 to 255 are the command's own. */
enum {
    HELIO_INSIDE_REFUSED = 125, /* not started; standard error says why */
    HELIO_INSIDE_NO_PORT = 124, /* no process of the attempt listens on the port */
};
/*  What a connection to a port says on its standard error once it stands, and, below a scheduler that could fail to start
 *  it, a command before it starts. */
#define HELIO_INSIDE_CONNECTED "helio: connected\n"
/*  Why a command is refused that asks for a job with an image. */
#define HELIO_INSIDE_CONTAINED "the job runs in a container, in which channels start no commands; ports work"

typedef struct helio_inside {
    helio_buffer_t plan_text;
    helio_plan_t plan;
    uint32_t node;
    helio_process_t shim;
    char scheduler_id[65]; /* of the job in which the shim runs; "" = none */
    int over;              /* a pidfd: readable once the shim is gone, and the attempt is over */
    char cgroup[4096];     /* "" = none */
    char user[256], workdir[4096];
    char folder[4096];
    int64_t keeper; /* the user who asks: the one whose shims enter attempts */
} helio_inside_t;

/*  folder: absolute path of the attempt's. node: of the attempt, from 0. NOT_FOUND: it has ended, has not started, or
 *  runs elsewhere; INVALID, FORBIDDEN: what its folder says. The text is for the job's owner. */
HELIO_MUST_CHECK helio_rc helio_inside_find(const char *folder, uint32_t node, helio_inside_t *ret_inside,
                                            helio_error_t *err);
void helio_inside_clear(helio_inside_t *self);

/*  Numbers of the attempt's processes: those below its shim and below those that entered it on this machine, those in its
 *  control group, and those of its user that Slurm has started in its job, as steps of the script. In the arena. */
pid_t *helio_inside_processes(const helio_inside_t *self, helio_arena_t *arena, size_t *ret_count);

#endif
