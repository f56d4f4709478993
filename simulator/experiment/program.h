/*  program.h -- the command line of helio-simulate. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_PROGRAM_H
#define HELIO_SIMULATOR_EXPERIMENT_PROGRAM_H

#include <stdio.h>

/*  The exit code: 0 ok, 1 failure, 2 usage. */
int exp_program(int argc, char **argv, FILE *out, FILE *err);

#endif
