/*  folder.h -- creates a test's folder, and removes it with its contents. */
#ifndef HELIO_TESTS_FOLDER_H
#define HELIO_TESTS_FOLDER_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*  For tests that write much: in memory, where the machine has such a place. False: it cannot be made. */
static inline bool folder_make(char *ret_path, size_t size, const char *name)
{
    const char *below = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(ret_path, size, "%s/%s-XXXXXX", below, name);
    return mkdtemp(ret_path) != NULL;
}

static inline int folder_remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/*  0 if all of it was removed. */
static inline int folder_remove(const char *path)
{
    return nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
