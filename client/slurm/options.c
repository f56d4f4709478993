/*  options.c -- the tables of options of Slurm's commands. */
#include "client/slurm/options.h"

#define ROW(id, name, letter, value, doc) {name, letter, value, NULL, doc},

static const helio_option_t squeue_rows[] = {HELIO_SQUEUE_OPTIONS(ROW)};
static const helio_option_t sacct_rows[] = {HELIO_SACCT_OPTIONS(ROW)};
static const helio_option_t scancel_rows[] = {HELIO_SCANCEL_OPTIONS(ROW)};
static const helio_option_t scontrol_rows[] = {HELIO_SCONTROL_OPTIONS(ROW)};

const helio_option_table_t helio_squeue_options = {.items = squeue_rows, .count = HELIO_SQUEUE_COUNT};
const helio_option_table_t helio_sacct_options = {.items = sacct_rows, .count = HELIO_SACCT_COUNT};
const helio_option_table_t helio_scancel_options = {.items = scancel_rows, .count = HELIO_SCANCEL_COUNT};
const helio_option_table_t helio_scontrol_options = {.items = scontrol_rows, .count = HELIO_SCONTROL_COUNT};
