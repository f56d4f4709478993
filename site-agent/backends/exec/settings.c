/*  settings.c -- the keys that the backend `exec` adds to a site file. */
#include <stdlib.h>

#include "site-agent/backends/exec/internal.h"

#define AT(member) .offset = offsetof(helio_exec_settings_t, member)

enum { PATH_MOST = 2048, WORDS_MOST = 64 };

static const helio_spec_field_t fields[] = {
    {.key = "command",
     .kind = HELIO_SPEC_STRINGS,
     AT(command),
     .most = WORDS_MOST,
     .example = "[/usr/share/heliostat/adapters/gridengine]",
     .doc = "The adapter and its arguments; no shell reads them. Of the agent's environment it gets PATH "
            "and HOME (`env` in front of it sets more). The backend `exec` needs it."},
    {.key = "folder",
     .kind = HELIO_SPEC_PATH,
     AT(folder),
     .most = PATH_MOST,
     .example = "/shared/heliostat",
     .doc = "Folder of the attempts, which the nodes see under the same path: a shared one, or one that the adapter "
            "carries to each node. The backend `exec` needs it."},
    {.key = "carries",
     .kind = HELIO_SPEC_BOOL,
     AT(carries),
     .fallback = "false",
     .example = "true",
     .doc = "The adapter brings attempts' folders to the nodes and back, so that `folder` need not be shared."},
    {.key = "poll",
     .kind = HELIO_SPEC_DURATION,
     AT(poll_ms),
     .least = 500,
     .most = 60000,
     .fallback = "2s",
     .example = "2s",
     .doc = "How often the adapter is asked for its inventory; less often if it is slow."},
    {.key = "timeout",
     .kind = HELIO_SPEC_DURATION,
     AT(timeout_ms),
     .least = 1000,
     .most = 600000,
     .fallback = "30s",
     .example = "30s",
     .doc = "How long one request may take; then the adapter is killed, and what it did is unknown."},
    {.key = "withdraw",
     .kind = HELIO_SPEC_DURATION,
     AT(withdraw_ms),
     .most = 2592000000,
     .fallback = "10m",
     .example = "10m",
     .doc =
         "How long an attempt may wait in the engine's queue. Then the agent withdraws it, unless it has started, and "
         "the broker places it again. `0s`: never."},
    {.key = "prolog",
     .kind = HELIO_SPEC_DURATION,
     AT(prolog_ms),
     .least = 1000,
     .most = 3600000,
     .fallback = "10s",
     .example = "30s",
     .doc =
         "The longest time between the engine's start of a job and its first program: prologs, slow disks. A job whose "
         "status files leave out more of the time that the engine showed it running is charged by the engine."},
    {.key = "clock_tolerance",
     .kind = HELIO_SPEC_DURATION,
     AT(clock_tolerance_ms),
     .most = 3600000,
     .fallback = "5s",
     .example = "5s",
     .doc = "By how much the clocks of nodes may differ from this host's; leases are shortened by that much."},
    {.key = "shim",
     .kind = HELIO_SPEC_PATH,
     AT(shim),
     .most = PATH_MOST,
     .example = "/usr/libexec/heliostat/helio-shim",
     .doc = "helio-shim on the nodes. Default: a copy that the agent puts into `folder`."},
};
const helio_spec_table_t helio_exec_settings_table = HELIO_SPEC_TABLE("exec", helio_exec_settings_t, fields, NULL);

void helio_exec_settings_copy(const helio_exec_settings_t *from, helio_arena_t *arena, helio_exec_settings_t *ret)
{
    *ret = *from;
    ret->folder = helio_arena_text(arena, from->folder);
    ret->shim = helio_arena_text(arena, from->shim);
    ret->command.items = helio_arena_alloc(arena, from->command.count + 1, sizeof *from->command.items);
    for (uint32_t i = 0; i < from->command.count; i++)
        ret->command.items[i].text = helio_arena_text(arena, from->command.items[i].text);
}

const char **helio_exec_argv(const helio_exec_settings_t *settings, helio_arena_t *arena)
{
    const char **argv = helio_arena_alloc(arena, settings->command.count + 1, sizeof *argv);
    for (uint32_t i = 0; i < settings->command.count; i++)
        argv[i] = helio_arena_string(arena, settings->command.items[i].text);
    return argv;
}

void helio_exec_environment(helio_arena_t *arena, helio_commands_options_t *ret_options)
{
    const char *path = getenv("PATH"), *home = getenv("HOME");
    const char **env = helio_arena_alloc(arena, 4, sizeof *env);
    env[0] = "LC_ALL=C.UTF-8";
    env[1] = "TZ=UTC";
    if (home) /* of the agent's user: keys of ssh lie there */
        env[2] = helio_arena_printf(arena, "HOME=%s", home).data;
    *ret_options = (helio_commands_options_t){
        .path = path && *path ? path : "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        .env = env,
        .at_once = 4,
        .queue_max = 4096};
}
