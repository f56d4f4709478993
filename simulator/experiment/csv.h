/*  csv.h -- reads tables of comma-separated values, compressed by gzip or not, row by row. The header line names the
 *  columns, in any order; columns that are not needed are skipped. Errors name file, line and column. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_CSV_H
#define HELIO_SIMULATOR_EXPERIMENT_CSV_H

#include "federation/base/memory.h"

enum { EXP_REGION_SIZE = 64 }; /* of a region's name, with its end */

typedef struct exp_csv exp_csv_t;

typedef struct exp_csv_column {
    const char *name;
    bool required;
} exp_csv_column_t;

/*  The columns must outlive the reader. NULL: err. */
exp_csv_t *exp_csv_open(const char *path, const exp_csv_column_t *columns, uint32_t count, helio_error_t *err);
void exp_csv_close(exp_csv_t **self_p);

/*  Reads the next row. HELIO_NOT_FOUND: there is none; otherwise an error. */
HELIO_MUST_CHECK helio_rc exp_csv_next(exp_csv_t *self, helio_error_t *err);

/*  Cells of the current row, by the index of the column; valid until the next one. "" = empty, or no such column. */
helio_text_t exp_csv_text(const exp_csv_t *self, uint32_t column);
/*  A number within bounds; an empty cell leaves *ret_value as it is. */
HELIO_MUST_CHECK helio_rc exp_csv_number(const exp_csv_t *self, uint32_t column, double least, double most,
                                         double *ret_value, helio_error_t *err);
/*  A whole number of seconds as milliseconds, likewise. */
HELIO_MUST_CHECK helio_rc exp_csv_seconds(const exp_csv_t *self, uint32_t column, double most_s, int64_t *ret_ms,
                                          helio_error_t *err);
/*  The name of a region: 1 to 63 bytes. */
HELIO_MUST_CHECK helio_rc exp_csv_region(const exp_csv_t *self, uint32_t column, helio_text_t *ret_region,
                                         helio_error_t *err);
/*  Times of this file count so much later than they are written: series whose dates are not those of a trace. */
void exp_csv_shift(exp_csv_t *self, int64_t shift_ms);
/*  A time like 2023-10-01T16:00:00Z, Unix time. */
HELIO_MUST_CHECK helio_rc exp_csv_time(const exp_csv_t *self, uint32_t column, int64_t *ret_ms, helio_error_t *err);
/*  A full hour like 2023-10-01T16:00:00Z, counted from 1970. */
HELIO_MUST_CHECK helio_rc exp_csv_hour(const exp_csv_t *self, uint32_t column, int64_t *ret_hour, helio_error_t *err);
/*  "jobs.csv:17: column 'gpus': …". */
helio_rc exp_csv_fail(const exp_csv_t *self, uint32_t column, helio_error_t *err, const char *format, ...)
    HELIO_PRINTF(4, 5);
bool exp_csv_has(const exp_csv_t *self, uint32_t column); /* the file has the column */

#endif
