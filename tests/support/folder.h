/*  folder.h -- takes away a test's folder with all that is in it. */
#ifndef HELIO_TESTS_FOLDER_H
#define HELIO_TESTS_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/*  0 when all of it is gone. */
static inline int folder_remove(const char *path)
{
    return nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
