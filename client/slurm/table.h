/*  table.h -- the formats of squeue and sacct, and the lines that they print. Pure. */
#ifndef HELIO_CLIENT_SLURM_TABLE_H
#define HELIO_CLIENT_SLURM_TABLE_H

#include "client/slurm/fields.h"

typedef struct helio_slurm_column {
    helio_text_t before; /* text before it, as in "job %i" */
    helio_slurm_field_t field;
    uint32_t width; /* 0 = as wide as its longest cell */
    bool right;
} helio_slurm_column_t;

typedef struct helio_slurm_columns {
    helio_slurm_column_t *items;
    uint32_t count;
    helio_text_t after; /* text after the last */
} helio_slurm_columns_t;

/*  "%.18i %.9P %R": a dot is on the right; a width is the least one, and longer cells but ids are cut to it. */
HELIO_MUST_CHECK helio_rc helio_slurm_columns_lettered(const char *format, helio_arena_t *arena,
                                                       helio_slurm_columns_t *ret_columns, helio_error_t *err);
/*  "JobID,JobName%20,State" or "JobID:30,Name". width_mark: '%' or ':'. */
HELIO_MUST_CHECK helio_rc helio_slurm_columns_named(const char *list, char width_mark, helio_arena_t *arena,
                                                    helio_slurm_columns_t *ret_columns, helio_error_t *err);

typedef struct helio_slurm_table {
    helio_slurm_columns_t columns;
    const json_t *jobs; /* a list */
    const helio_zone_t *zone;
    int64_t wall_ms;
    bool header, rule; /* rule: a line below the header, and titles are names, as sacct does */
    char separator;    /* 0 = aligned with blanks */
    bool closed;       /* a separator after the last cell, too */
} helio_slurm_table_t;
void helio_slurm_table_print(const helio_slurm_table_t *self, helio_buffer_t *out);

#endif
