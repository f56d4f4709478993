/*  file.h -- descriptors of files. For shells only: a core opens none. */
#ifndef HELIO_BASE_FILE_H
#define HELIO_BASE_FILE_H

#include <unistd.h>

/*  Closes what is open (>= 0) and makes it -1: for HELIO_AUTO too. */
static inline void helio_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

#endif
