/*  check_adapter.c -- `helio-agent check-backend`: an adapter of the backend `exec` on its own, before there is a site. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/agent/check.h"

enum { PROGRAM_WORDS_MOST = 64 };

static void line(void *arg, const char *what, helio_rc rc, const char *detail)
{
    if (rc != HELIO_OK)
        ++*(uint32_t *)arg;
    (void)printf("%s %s: %s\n", rc == HELIO_OK ? "✔" : "✗", what, detail);
    (void)fflush(stdout);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static const char *make_folder(const char *given, char path[PATH_MAX])
{
    char name[] = "/tmp/helio-check-XXXXXX";
    if (!given && mkdtemp(name) && chmod(name, 0755) == 0)
        given = name;
    return given && realpath(given, path) ? path : NULL;
}

uint32_t helio_agent_check_adapter(const char *const *argv, const char *folder, const char *user)
{
    uint32_t failed = 0;
    char path[PATH_MAX];
    const struct passwd *self = getpwuid(geteuid());
    helio_arena_t *arena = helio_arena_new();
    helio_exec_program_t program = {.argv = NULL,
                                    .folder = make_folder(folder, path),
                                    .shim = helio_agent_default_shim(arena).data,
                                    .user = user   ? user
                                            : self ? self->pw_name
                                                   : ""};
    char program_path[PATH_MAX];
    const char *words[PROGRAM_WORDS_MOST + 1] = {NULL};
    for (size_t i = 0; i < PROGRAM_WORDS_MOST && argv[i]; i++)
        words[i] = argv[i];
    if (strchr(argv[0], '/') && realpath(argv[0], program_path)) /* it is run in another folder */
        words[0] = program_path;
    program.argv = words;
    if (!program.folder) {
        char detail[PATH_MAX + 100];
        (void)snprintf(detail, sizeof detail, "%s: %s", folder ? folder : "/tmp", strerror(errno));
        line(&failed, "folder", HELIO_IO, detail);
    } else {
        helio_exec_check_program(&program, line, &failed);
    }
    if (program.folder && !folder && !failed)
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    else if (program.folder && !folder) /* so that what went wrong can be read there */
        (void)printf("the attempts' files are in %s\n", program.folder);
    helio_arena_destroy(&arena);
    return failed;
}
