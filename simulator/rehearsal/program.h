/*  program.h -- the command line of `helio-simulate rehearse`. */
#ifndef HELIO_SIMULATOR_REHEARSAL_PROGRAM_H
#define HELIO_SIMULATOR_REHEARSAL_PROGRAM_H

#include <stdio.h>

/*  argv[0] is skipped. The exit code: 0 ok, 1 failure, 2 usage. */
int reh_program(int argc, char **argv, FILE *out, FILE *err);

#endif
