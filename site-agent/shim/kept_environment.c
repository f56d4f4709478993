/*  kept_environment.c -- a sealed file in memory, found by its name among the shim's descriptors. */
#include "site-agent/shim/kept_environment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"

enum { MOST = 32 << 20 };
#define NAME "helio-env"
#define LINK "/memfd:" NAME " (deleted)"

void helio_kept_environment_keep(const helio_environment_t *env)
{
    int file = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool good = file >= 0;
    for (uint32_t i = 0; good && i < env->count; i++)
        good = helio_write_all(file, env->items[i], strlen(env->items[i]) + 1);
    if (!good || fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
        helio_close(&file);
    /* else it stays open until the process ends */
}

static int find(pid_t shim, helio_error_t *err)
{
    char path[64], link[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)shim);
    DIR *folder = opendir(path);
    if (!folder) {
        (void)helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_FORBIDDEN,
                         "cannot look into the shim of the attempt: %s", strerror(errno));
        return -1;
    }
    int found = -1;
    for (const struct dirent *entry; found < 0 && (entry = readdir(folder));) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, link, sizeof link);
        if (size == (ssize_t)strlen(LINK) && memcmp(link, LINK, strlen(LINK)) == 0)
            found = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
    }
    (void)closedir(folder);
    if (found < 0)
        (void)helio_fail(
            err, HELIO_NOT_FOUND,
            "the attempt has not started yet, or its shim keeps no environment for others (a former release)");
    return found;
}

helio_rc helio_kept_environment_read(pid_t shim, helio_environment_t *env, helio_error_t *err)
{
    helio_error_t why = {.code = HELIO_NOT_FOUND};
    HELIO_AUTO(helio_close) int file = find(shim, &why);
    struct stat status;
    if (file < 0) {
        if (err)
            *err = why;
        return why.code;
    }
    if (fstat(file, &status) || status.st_size > MOST)
        return helio_fail(err, HELIO_TOO_BIG, "the environment of the attempt is too large");
    size_t size = (size_t)status.st_size, done = 0;
    char *bytes = helio_arena_alloc(env->arena, size + 1, 1);
    for (ssize_t got = 1; done < size && got > 0; done += got > 0 ? (size_t)got : 0)
        got = pread(file, bytes + done, size - done, (off_t)done);
    if (done < size)
        return helio_fail(err, HELIO_IO, "reading the environment of the attempt: %s", strerror(errno));
    helio_environment_read(env, (helio_text_t){bytes, (uint32_t)size});
    return HELIO_OK;
}
