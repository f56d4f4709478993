/*  console_files.h -- the files of the console, which are part of the program (console/dist, cmake/embed_console.cmake). */
#ifndef HELIO_BROKER_HTTP_ROUTES_CONSOLE_FILES_H
#define HELIO_BROKER_HTTP_ROUTES_CONSOLE_FILES_H

#include "federation/base/memory.h"

typedef struct helio_console_file {
    const char *name;
    const char *type;
    const char *etag; /* of its content, without quotes */
    helio_text_t plain;
    helio_text_t gzip;
} helio_console_file_t;

extern const helio_console_file_t helio_console_files[]; /* ends with a row without a name */

#endif
