/*  container.h -- the command that runs a job's program in a container, from the site's template. Pure.
 *
 *  An argument of the template is used as it is, except that
 *    {image} {workdir} {gpus} {renumbered}  are replaced in it; gpus: "2,5"; renumbered: "0,1", as the devices are called
 *                                           where only those are visible
 *    {mount} {env} {gpu}                    repeat the whole argument: for each path that the job needs under its own name,
 *                                           for each variable's name, for each GPU
 *    {value}                                beside {env}: the variable's value
 *    {env_file}                             is the path of a file with a line NAME=VALUE for each variable; {env} then
 *                                           repeats for those alone that do not fit into one line
 *    {any_gpu}                              is taken out of it; without GPUs the argument is left out
 *    {program}                              alone, is how `run` is executed in the container: one argument or two
 */
#ifndef HELIO_SHIM_CONTAINER_H
#define HELIO_SHIM_CONTAINER_H

#include "site-agent/shim/environment.h"
#include "site-agent/shim/plan.h"

typedef struct helio_container_job {
    const helio_plan_t *plan; /* image, container, mounts, workdir */
    const char *folder;       /* of the attempt */
    const char *env_file;     /* NULL: words with {env_file} are left out */
    const helio_environment_t *env;
    bool own; /* `run` has a #! line */
} helio_container_job_t;

/*  The environment of the runtime itself: nothing that the job chose, because the runtime runs outside of the container
 *  and may gain rights. With a prefix the job's variables are in it, under names that mean nothing to programs there. */
helio_environment_t helio_container_environment(const helio_container_job_t *job);
/*  What {env_file} is to hold; nothing if no word names it. */
void helio_container_variables(const helio_container_job_t *job, helio_buffer_t *out);
/*  NULL-terminated; argv[0] is absolute. Everything lives in the arena. NOT_FOUND: no such program in `path`; TOO_BIG. */
HELIO_MUST_CHECK helio_rc helio_container_argv(const helio_container_job_t *job, const char *path, helio_arena_t *arena,
                                               char ***ret_argv, helio_error_t *err);

#endif
