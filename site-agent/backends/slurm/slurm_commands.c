/*  slurm_commands.c -- the cluster's programs: those that query it, and scancel. */
#include <stdio.h>

#include "site-agent/backends/slurm/slurm_internal.h"

bool helio_slurm_ask(helio_slurm_t *self, const char *const *argv, size_t max_bytes, bool urgent,
                     helio_command_done_fn *done, void *arg)
{
    static const char *const env[] = {"SLURM_TIME_FORMAT=%s", NULL}; /* not for sbatch: jobs would inherit it */
    helio_command_t command = {.argv = argv,
                               .env = env,
                               .timeout_ms = self->settings.timeout_ms,
                               .max_bytes = max_bytes,
                               .done = done,
                               .arg = arg};
    return helio_commands_run(self->commands, &command, urgent, NULL) == HELIO_OK;
}

bool helio_slurm_is_whole(const helio_command_result_t *result)
{
#ifdef HELIO_MUTANT_silence_is_a_list
    return result->spawned;
#endif
    return result->spawned && !result->timed_out && !result->truncated && result->exit_code == 0 &&
           result->complaint.size == 0;
}

bool helio_slurm_scancel(helio_slurm_attempt_t *attempt, const char *first, const char *second, const char *id,
                         helio_command_done_fn *done)
{
    helio_slurm_t *self = attempt->backend;
    char name[HELIO_ATTEMPT_NAME_SIZE + 8];
    (void)snprintf(name, sizeof name, "--name=%s", attempt->held.name);
    const char *argv[6] = {"scancel", name};
    int count = 2;
    if (first)
        argv[count++] = first;
    if (second)
        argv[count++] = second;
    argv[count] = id;
    helio_command_t command = {
        .argv = argv, .timeout_ms = self->settings.timeout_ms, .max_bytes = 4096, .done = done, .arg = attempt};
    return helio_commands_run(self->commands, &command, true, NULL) == HELIO_OK;
}

static void on_cancelled(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    (void)result; /* the next list tells whether it is gone */
    attempt->cancel_out = false;
}

static void cancel(helio_slurm_attempt_t *attempt, const char *first, const char *second, const char *id)
{
    if (!attempt->cancel_out)
        attempt->cancel_out = helio_slurm_scancel(attempt, first, second, id, on_cancelled);
}

/*  Only while it is pending: one that has begun finds the folder claimed, and ends by itself. */
void helio_slurm_cancel_pending(helio_slurm_attempt_t *attempt, const char *id)
{
    cancel(attempt, "--state=PENDING", NULL, id);
}

void helio_slurm_cancel_held(helio_slurm_attempt_t *attempt, const char *id)
{
    cancel(attempt, NULL, NULL, id);
}

void helio_slurm_cancel_at_once(helio_slurm_attempt_t *attempt, const char *id)
{
    cancel(attempt, "--full", "--signal=KILL", id);
}
