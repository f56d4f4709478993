/*  format.h -- the constants that identify a file as a journal of this program. */
#ifndef HELIO_JOURNAL_FORMAT_H
#define HELIO_JOURNAL_FORMAT_H

enum { HELIO_JOURNAL_FORMAT = 1, HELIO_JOURNAL_APPLICATION = 0x48454c4a };

#endif
