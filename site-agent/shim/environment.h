/*  environment.h -- the "NAME=value" entries that a rank is given. One owner; everything lives in the arena. */
#ifndef HELIO_SHIM_ENVIRONMENT_H
#define HELIO_SHIM_ENVIRONMENT_H

#include "site-agent/shim/variables.h"

typedef struct helio_environment {
    helio_arena_t *arena;
    char **items; /* NULL-terminated once it has an entry */
    uint32_t count, capacity;
} helio_environment_t;

/*  Adds NUL-terminated entries one after the other, as the file `env` holds them. */
void helio_environment_read(helio_environment_t *self, helio_text_t entries);
void helio_environment_set(helio_environment_t *self, helio_variable_t variable, helio_text_t value);
void helio_environment_set_number(helio_environment_t *self, helio_variable_t variable, uint32_t value);
/*  What differs between the ranks of an attempt on this machine. */
void helio_environment_set_rank(helio_environment_t *self, uint32_t rank, helio_text_t devices);
/*  Does nothing if an entry of that name exists. */
void helio_environment_add(helio_environment_t *self, const char *name, helio_text_t value);
/*  NULL: not set. */
const char *helio_environment_get(const helio_environment_t *self, helio_variable_t variable);
/*  The same for a plain list; NULL list = none. */
const char *helio_environ_get(char *const *list, helio_variable_t variable);
/*  The number of GPUs that a value of CUDA_VISIBLE_DEVICES names: "", "2,5", and Slurm's "NoDevFiles" for none. */
uint32_t helio_device_count(helio_text_t devices);
/*  An independent list with the same entries. */
helio_environment_t helio_environment_copy(const helio_environment_t *self);

#endif
