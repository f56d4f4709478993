/*  simulate.c -- `simulate`: another program does it, so that a client has no broker's core in it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/commands/simulator.h"

/*  The program of this release, which is installed beside this one; "" = cannot be told. */
static void beside(char ret_path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(self, '/');
    int length = slash ? snprintf(ret_path, PATH_MAX, "%.*s/" HELIO_SIMULATOR, (int)(slash - self), self) : -1;
    if (length < 0 || length >= PATH_MAX)
        ret_path[0] = '\0';
}

int helio_simulator_execute(const helio_client_t *client, const char *const *argv)
{
    char path[PATH_MAX];
    beside(path);
    (void)fflush(NULL);
    (void)execv(path, (char *const *)(uintptr_t)argv);
    (void)execvp(HELIO_SIMULATOR, (char *const *)(uintptr_t)argv);
    return helio_client_fail(client, HELIO_EXIT_OWN,
                             "cannot run " HELIO_SIMULATOR ": %s\nhelp: install it beside helio, or in "
                             "a folder of PATH",
                             strerror(errno));
}

int helio_cmd_simulate(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    const char **argv = helio_arena_alloc(client->arena, (size_t)arguments->word_count + 2, sizeof *argv);
    argv[0] = HELIO_SIMULATOR;
    for (uint32_t i = 0; i < arguments->word_count; i++)
        argv[i + 1] = arguments->words[i];
    return helio_simulator_execute(client, argv);
}
