/*  slurm_enter.c -- how a process is started inside a job of Slurm, for a channel: as a step of its own, on the node of
 *  the rank, which shares what the job has (srun --overlap). */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "site-agent/backends/folder/entry.h"
#include "site-agent/backends/slurm/slurm_internal.h"
#include "site-agent/shim/inside.h"

enum { PATH_SIZE = 4096, ENTRY_SIZE = 1 << 16, ENV_MAX = 8 };

static helio_rc find_srun(const char *path, char ret_file[PATH_SIZE], helio_error_t *err)
{
    for (const char *at = path; *at;) {
        size_t size = strcspn(at, ":");
        int length = snprintf(ret_file, PATH_SIZE, "%.*s/srun", (int)size, at);
        if (size && length < PATH_SIZE && ret_file[0] == '/' && access(ret_file, X_OK) == 0)
            return HELIO_OK;
        at += size + (at[size] == ':');
    }
    return helio_fail(err, HELIO_UNAVAILABLE, "the site's agent finds no srun");
}

/*  By the user whose job it is in Slurm, never by what is in the folder, which is the user's. */
static helio_rc find_user(const helio_slurm_attempt_t *attempt, helio_arena_t *arena, helio_command_user_t *ret_as,
                          helio_error_t *err)
{
    struct passwd entry, *found = NULL;
    if (!attempt->uid_known)
        return helio_fail(err, HELIO_UNAVAILABLE, "it is not known yet as which user the attempt runs");
    char *text = helio_new(ENTRY_SIZE, 1);
    bool known = getpwuid_r(attempt->uid, &entry, text, ENTRY_SIZE, &found) == 0 && found;
    if (known)
        *ret_as = (helio_command_user_t){helio_arena_string(arena, helio_text_of(found->pw_name)), found->pw_uid,
                                         found->pw_gid};
    free(text);
    if (!known)
        return helio_fail(err, HELIO_FORBIDDEN, "the agent's machine does not know the user %u of the attempt",
                          attempt->uid);
    return attempt->uid == geteuid() || geteuid() == 0
               ? HELIO_OK
               : helio_fail(err, HELIO_FORBIDDEN, "the agent cannot act as the user '%s' of the attempt", ret_as->name);
}

/*  What the node would refuse after a step was made for it. */
static helio_rc look_at_plan(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt,
                             const helio_entry_t *entry, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_plan_t plan = {0};
    int folder = -1;
    if (helio_folders_open(self->folders, attempt->held.name, &folder, NULL) || folder < 0)
        return helio_fail(err, HELIO_UNAVAILABLE, "the attempt's folder is gone, or cannot be read");
    helio_rc rc = helio_status_file_read(folder, "plan", HELIO_STATUS_FILE_MAX, &text, NULL);
    (void)close(folder);
    if (!rc)
        rc = helio_plan_parse(helio_buffer_view(&text), &plan, NULL);
    if (rc)
        return helio_fail(err, HELIO_UNAVAILABLE, "the attempt's plan cannot be read");
    uint32_t nodes = plan.batch_script ? 1 : plan.nodes;
    if (entry->node >= (nodes ? nodes : 1))
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has processes on %u node%s, and no node %u", nodes,
                          nodes == 1 ? "" : "s", entry->node);
    return plan.image.size && entry->kind == HELIO_CHANNEL_KIND_COMMAND
               ? helio_fail(err, HELIO_INVALID, "%s", HELIO_INSIDE_CONTAINED)
               : HELIO_OK;
}

/*  Errors of srun itself are not shown: it counts the exit code of every command as one. */
static const char *const *words_of(const helio_slurm_attempt_t *attempt, const helio_entry_t *entry, const char *srun,
                                   helio_arena_t *arena)
{
    const helio_slurm_t *self = attempt->backend;
    const char *const words[] = {srun,
                                 helio_arena_printf(arena, "--jobid=%s", attempt->id).data,
                                 "--overlap",
                                 "--nodes=1",
                                 "--ntasks=1",
                                 helio_arena_printf(arena, "--relative=%u", entry->node).data,
                                 "--export=ALL", /* of srun's own environment */
                                 "--mpi=none",
                                 "--chdir=/",
                                 "--quiet",
                                 "--quiet",
                                 entry->terminal ? "--pty" : "--unbuffered"};
    const char *folder = helio_arena_printf(arena, "%s/attempts/%s", self->shared, attempt->held.name).data;
    return helio_entry_argv(entry, words, sizeof words / sizeof words[0], self->shim, folder, arena);
}

helio_rc helio_slurm_enter(helio_backend_t *base, const helio_entry_t *entry, helio_arena_t *arena,
                           helio_entry_command_t *ret_command, helio_error_t *err)
{
    const helio_slurm_t *self = helio_slurm_of(base);
    const helio_slurm_attempt_t *attempt = helio_slurm_find(self, entry->key, entry->epoch);
    helio_commands_options_t commands;
    helio_command_user_t as = {0};
    char srun[PATH_SIZE];
    if (!attempt || attempt->phase >= HELIO_SLURM_AT_LEAVING)
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt has ended");
    if (!attempt->id[0] || !attempt->said_started)
        return helio_fail(err, HELIO_UNAVAILABLE, "the attempt has not started yet");
    helio_slurm_environment(&self->settings, arena, &commands);
    helio_rc rc = find_srun(commands.path, srun, err);
    if (!rc)
        rc = find_user(attempt, arena, &as, err);
    if (!rc)
        rc = look_at_plan(self, attempt, entry, err);
    if (rc)
        return rc;
    const char **env = helio_arena_alloc(arena, ENV_MAX, sizeof *env);
    uint32_t count = 0;
    env[count++] = helio_arena_printf(arena, "PATH=%s", commands.path).data;
    for (uint32_t i = 0; commands.env[i] && count < ENV_MAX - 1; i++)
        env[count++] = commands.env[i];
    *ret_command =
        (helio_entry_command_t){.argv = words_of(attempt, entry, helio_arena_string(arena, helio_text_of(srun)), arena),
                                .env = env,
                                .as = as,
                                .user = as.name,
                                .announced = true};
    return HELIO_OK;
}
