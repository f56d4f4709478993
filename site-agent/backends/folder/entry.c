/*  entry.c -- the words of helio-shim --enter and --port. */
#include "site-agent/backends/folder/entry.h"

enum { OWN_WORDS = 8 };

const char *const *helio_entry_argv(const helio_entry_t *entry, const char *const *before, uint32_t before_count,
                                    const char *shim, const char *folder, helio_arena_t *arena)
{
    const char **argv = helio_arena_alloc(arena, before_count + OWN_WORDS + entry->command_count + 1, sizeof *argv);
    uint32_t count = 0;
    for (; count < before_count; count++)
        argv[count] = before[count];
    argv[count++] = shim;
    bool enters = entry->kind == HELIO_CHANNEL_KIND_COMMAND;
    argv[count++] = enters ? "--enter" : "--port";
    argv[count++] = folder;
    argv[count++] = helio_arena_printf(arena, "%u", entry->node).data;
    if (!enters) {
        argv[count++] = helio_arena_printf(arena, "%u", entry->port).data;
        return argv;
    }
    if (entry->terminal) {
        argv[count++] = "--term";
        argv[count++] = helio_arena_string(arena, entry->term.size ? entry->term : HELIO_TEXT("dumb"));
    }
    argv[count++] = "--";
    for (uint32_t i = 0; i < entry->command_count; i++)
        argv[count++] = helio_arena_string(arena, entry->command[i].text);
    return argv;
}
