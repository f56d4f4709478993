/*  pattern.h -- the file names that sbatch makes of --output and --error: "%x-%A_%a.log". Pure. */
#ifndef HELIO_SHIM_PATTERN_H
#define HELIO_SHIM_PATTERN_H

#include "federation/base/memory.h"

typedef struct helio_pattern {
    const char *job_id;   /* %j %J, and %A unless array_id is given; decimal */
    const char *task_id;  /* %a; NULL or "" = no task of an array */
    const char *name;     /* %x */
    const char *user;     /* %u */
    const char *host;     /* %N */
    const char *array_id; /* %A; NULL = no task of an array */
} helio_pattern_t;

/*  Appends the name. %t and %n are 0, %s is "batch"; a number after the % pads with zeros; "%%" is a percent sign; %
 *  with any other letter stays as it is. If the pattern contains a backslash, only the backslashes change. */
void helio_pattern_fill(const helio_pattern_t *self, helio_text_t pattern, helio_buffer_t *out);

#endif
