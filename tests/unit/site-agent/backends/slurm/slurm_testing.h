/*  slurm_testing.h -- what the tests of the backend `slurm` share. */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SLURM_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SLURM_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/slurm_double.h"

#define WORD(name) HELIO_BACKEND_WORD_##name

#endif
