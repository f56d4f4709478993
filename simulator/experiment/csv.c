/*  csv.c -- lines of a file, split at commas. */
#include "simulator/experiment/csv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum { LINE_MAX_BYTES = 65536, CELLS_MAX = 256, NO_CELL = CELLS_MAX, EMPTY_MAX = 10000 /* lines, one after another */ };
static const uint64_t BYTES_MAX = UINT64_C(8) << 30; /* of a file as read: a small compressed one can hold anything */

struct exp_csv {
    char *path;
    gzFile file;
    uint32_t line;
    uint64_t bytes; /* read so far */
    int64_t shift_ms;
    char *text; /* the line, cut into cells */
    helio_text_t cells[CELLS_MAX];
    uint32_t cell_count, header_count;
    const exp_csv_column_t *columns;
    uint32_t column_count;
    uint32_t *place; /* of each column among the cells; NO_CELL = the file lacks it */
};

void exp_csv_close(exp_csv_t **self_p)
{
    exp_csv_t *self = *self_p;
    if (!self)
        return;
    if (self->file)
        (void)gzclose(self->file);
    free(self->path);
    free(self->text);
    free(self->place);
    free(self);
    *self_p = NULL;
}

/*  One line without its end. HELIO_NOT_FOUND at the end of the file. */
static helio_rc read_line(exp_csv_t *self, helio_error_t *err)
{
    self->line++;
    bool read = gzgets(self->file, self->text, LINE_MAX_BYTES) != NULL;
    size_t size = read ? strlen(self->text) : 0;
    int code = Z_OK;
    const char *why = gzerror(self->file, &code);
    /* also where a part of a line came before it: half of a file is none */
    if ((!size || self->text[size - 1] != '\n') && code != Z_OK && code != Z_STREAM_END)
        return helio_fail(err, HELIO_IO, "%s:%u: %s", self->path, self->line, code == Z_ERRNO ? strerror(errno) : why);
    if (!read)
        return HELIO_NOT_FOUND;
    self->bytes += size;
    if (self->bytes > BYTES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "%s:%u: the file is larger than %u GiB, uncompressed", self->path,
                          self->line, (uint32_t)(BYTES_MAX >> 30));
    if (size == LINE_MAX_BYTES - 1 && self->text[size - 1] != '\n')
        return helio_fail(err, HELIO_TOO_BIG, "%s:%u: the line is longer than %d bytes", self->path, self->line,
                          LINE_MAX_BYTES - 2);
    while (size && (self->text[size - 1] == '\n' || self->text[size - 1] == '\r'))
        self->text[--size] = '\0';
    return HELIO_OK;
}

/*  A cell in quotes, unquoted in place; *at is behind it afterwards. */
static helio_rc take_quoted(const exp_csv_t *self, char **at, helio_text_t *ret_cell, helio_error_t *err)
{
    char *from = *at + 1, *to = from;
    const char *begin = to;
    for (; *from && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    if (*from != '"' || (from[1] && from[1] != ','))
        return helio_fail(err, HELIO_INVALID, "%s:%u: a quoted cell does not end with its quote", self->path,
                          self->line);
    *ret_cell = (helio_text_t){begin, (uint32_t)(to - begin)};
    *at = from + 1;
    return HELIO_OK;
}

static helio_rc split(exp_csv_t *self, helio_error_t *err)
{
    char *at = self->text;
    self->cell_count = 0;
    for (bool more = true; more;) {
        if (self->cell_count == CELLS_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "%s:%u: more than %d columns", self->path, self->line, CELLS_MAX);
        helio_text_t *cell = &self->cells[self->cell_count++];
        if (*at == '"') {
            helio_rc rc = take_quoted(self, &at, cell, err);
            if (rc != HELIO_OK)
                return rc;
        } else {
            size_t size = strcspn(at, ",");
            *cell = (helio_text_t){at, (uint32_t)size};
            at += size;
        }
        more = *at == ',';
        at += more;
    }
    return HELIO_OK;
}

static helio_rc read_header(exp_csv_t *self, helio_error_t *err)
{
    helio_rc rc = read_line(self, err);
    if (rc == HELIO_NOT_FOUND)
        return helio_fail(err, HELIO_INVALID, "%s: the file is empty: its first line must name the columns",
                          self->path);
    rc = rc == HELIO_OK ? split(self, err) : rc;
    self->header_count = self->cell_count;
    for (uint32_t i = 0; rc == HELIO_OK && i < self->column_count; i++) {
        self->place[i] = NO_CELL;
        for (uint32_t k = 0; k < self->cell_count; k++)
            if (helio_text_is(self->cells[k], self->columns[i].name))
                self->place[i] = k;
        if (self->columns[i].required && self->place[i] == NO_CELL)
            rc = helio_fail(err, HELIO_INVALID, "%s:1: the column '%s' is missing", self->path, self->columns[i].name);
    }
    return rc;
}

exp_csv_t *exp_csv_open(const char *path, const exp_csv_column_t *columns, uint32_t count, helio_error_t *err)
{
    exp_csv_t *self = helio_new(1, sizeof *self);
    self->path = helio_strdup(path);
    self->text = helio_new(LINE_MAX_BYTES, 1);
    self->columns = columns;
    self->column_count = count;
    self->place = helio_new(count, sizeof *self->place);
    self->file = gzopen(path, "rbe");
    if (!self->file)
        (void)helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    if (!self->file || read_header(self, err) != HELIO_OK)
        exp_csv_close(&self);
    return self;
}

helio_rc exp_csv_next(exp_csv_t *self, helio_error_t *err)
{
    uint32_t empty = 0;
    helio_rc rc;
    while ((rc = read_line(self, err)) == HELIO_OK && !self->text[0])
        if (++empty > EMPTY_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "%s:%u: more than %d empty lines, one after another", self->path,
                              self->line, EMPTY_MAX);
    rc = rc == HELIO_OK ? split(self, err) : rc;
    if (rc == HELIO_OK && self->cell_count != self->header_count)
        return helio_fail(err, HELIO_INVALID, "%s:%u: %u cells, but the first line names %u columns", self->path,
                          self->line, self->cell_count, self->header_count);
    return rc;
}

bool exp_csv_has(const exp_csv_t *self, uint32_t column)
{
    return self->place[column] != NO_CELL;
}

helio_text_t exp_csv_text(const exp_csv_t *self, uint32_t column)
{
    return exp_csv_has(self, column) ? self->cells[self->place[column]] : (helio_text_t){0};
}

helio_rc exp_csv_fail(const exp_csv_t *self, uint32_t column, helio_error_t *err, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return helio_fail(err, HELIO_INVALID, "%s:%u: column '%s': %s", self->path, self->line, self->columns[column].name,
                      text);
}

helio_rc exp_csv_number(const exp_csv_t *self, uint32_t column, double least, double most, double *ret_value,
                        helio_error_t *err)
{
    helio_text_t cell = exp_csv_text(self, column);
    double value;
    if (!cell.size)
        return HELIO_OK;
    if (helio_f64_parse(cell, &value) != HELIO_OK)
        return exp_csv_fail(self, column, err, "'%.*s' is not a number", HELIO_TEXT_ARGS(cell));
    if (value < least || value > most)
        return exp_csv_fail(self, column, err, "%.*s is not within %g..%g", HELIO_TEXT_ARGS(cell), least, most);
    *ret_value = value;
    return HELIO_OK;
}

helio_rc exp_csv_seconds(const exp_csv_t *self, uint32_t column, double most_s, int64_t *ret_ms, helio_error_t *err)
{
    double seconds = NAN;
    helio_rc rc = exp_csv_number(self, column, 0, most_s, &seconds, err);
    if (rc == HELIO_OK && !isnan(seconds))
        *ret_ms = (int64_t)ceil(seconds) * 1000;
    return rc;
}

helio_rc exp_csv_region(const exp_csv_t *self, uint32_t column, helio_text_t *ret_region, helio_error_t *err)
{
    *ret_region = exp_csv_text(self, column);
    if (!ret_region->size || ret_region->size >= EXP_REGION_SIZE)
        return exp_csv_fail(self, column, err, "a name of 1 to %d bytes is needed", EXP_REGION_SIZE - 1);
    return HELIO_OK;
}

void exp_csv_shift(exp_csv_t *self, int64_t shift_ms)
{
    self->shift_ms = shift_ms;
}

helio_rc exp_csv_time(const exp_csv_t *self, uint32_t column, int64_t *ret_ms, helio_error_t *err)
{
    helio_text_t cell = exp_csv_text(self, column);
    if (helio_rfc3339_parse(cell, ret_ms) != HELIO_OK || *ret_ms < 0)
        return exp_csv_fail(self, column, err, "'%.*s' is no time like 2023-10-01T16:00:00Z", HELIO_TEXT_ARGS(cell));
    *ret_ms += self->shift_ms;
    return HELIO_OK;
}

helio_rc exp_csv_hour(const exp_csv_t *self, uint32_t column, int64_t *ret_hour, helio_error_t *err)
{
    const int64_t hour_ms = 3600000;
    helio_text_t cell = exp_csv_text(self, column);
    int64_t at_ms;
    if (helio_rfc3339_parse(cell, &at_ms) != HELIO_OK || at_ms % hour_ms != 0)
        return exp_csv_fail(self, column, err, "'%.*s' is no full hour like 2023-10-01T16:00:00Z",
                            HELIO_TEXT_ARGS(cell));
    *ret_hour = (at_ms + self->shift_ms) / hour_ms;
    return HELIO_OK;
}
