/*  table.c -- formats, and lines of cells. */
#include "client/slurm/table.h"

#include <string.h>

#include "federation/base/char.h"

enum { WIDTH_MAX = 1000, COLUMNS_MAX = 64 };

/* ---- formats ------------------------------------------------------------------------------------------------ */

static const char *read_width(const char *at, uint32_t *ret_width)
{
    *ret_width = 0;
    for (; helio_is_digit(*at) && *ret_width < WIDTH_MAX; at++)
        *ret_width = *ret_width * 10 + (uint32_t)(*at - '0');
    return at;
}

helio_rc helio_slurm_columns_lettered(const char *format, helio_arena_t *arena, helio_slurm_columns_t *ret_columns,
                                      helio_error_t *err)
{
    helio_slurm_columns_t columns = {.items = helio_arena_alloc(arena, COLUMNS_MAX, sizeof *columns.items)};
    const char *text = format;
    for (const char *at = format; *at;) {
        if (*at != '%') {
            at++;
            continue;
        }
        helio_slurm_column_t column = {.before = {text, (uint32_t)(at - text)}};
        at++;
        column.right = *at == '.';
        at = read_width(at + column.right, &column.width);
        column.field = helio_slurm_field_lettered(*at);
        if (column.field == HELIO_SLURM_FIELD_COUNT)
            return helio_fail(err, HELIO_INVALID,
                              "--format: '%%%c' is not known here\nhelp: `helio help squeue` lists "
                              "the letters",
                              *at ? *at : ' ');
        if (columns.count == COLUMNS_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "--format: too many fields");
        columns.items[columns.count++] = column;
        text = ++at;
    }
    columns.after = helio_text_of(text);
    *ret_columns = columns;
    return HELIO_OK;
}

helio_rc helio_slurm_columns_named(const char *list, char width_mark, helio_arena_t *arena,
                                   helio_slurm_columns_t *ret_columns, helio_error_t *err)
{
    helio_slurm_columns_t columns = {.items = helio_arena_alloc(arena, COLUMNS_MAX, sizeof *columns.items)};
    for (const char *at = list; *at;) {
        size_t size = strcspn(at, ",");
        const char *mark = memchr(at, width_mark, size);
        helio_text_t name = {at, (uint32_t)(mark ? mark - at : (ptrdiff_t)size)};
        helio_slurm_column_t column = {.before = HELIO_TEXT(" "), .field = helio_slurm_field_named(name)};
        if (!columns.count)
            column.before = (helio_text_t){0};
        if (mark && mark[1] == '-') /* sacct's sign for the left */
            mark++;
        if (mark)
            (void)read_width(mark + 1, &column.width);
        if (column.field == HELIO_SLURM_FIELD_COUNT)
            return helio_fail(err, HELIO_INVALID,
                              "the field '%.*s' is not known here\nhelp: --helpformat lists the fields",
                              (int)(name.size < 64 ? name.size : 64), name.data);
        if (columns.count == COLUMNS_MAX)
            return helio_fail(err, HELIO_TOO_BIG, "--format: too many fields");
        columns.items[columns.count++] = column;
        at += size + (at[size] == ',');
    }
    *ret_columns = columns;
    return HELIO_OK;
}

/* ---- lines -------------------------------------------------------------------------------------------------- */

/*  Characters, not bytes. */
static uint32_t length_of(const helio_buffer_t *text)
{
    uint32_t length = 0;
    for (size_t i = 0; i < text->size; i++)
        length += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return length;
}

static void cut_to(helio_buffer_t *text, uint32_t width)
{
    uint32_t length = 0;
    for (size_t i = 0; i < text->size; i++) {
        length += ((unsigned char)text->data[i] & 0xc0) != 0x80;
        if (length > width) {
            text->size = i;
            return;
        }
    }
}

static void pad(helio_buffer_t *out, uint32_t count)
{
    while (count--)
        helio_buffer_append(out, " ", 1);
}

static bool is_id(helio_slurm_field_t field)
{
    return field == HELIO_SLURM_FIELD_JOB_ID || field == HELIO_SLURM_FIELD_JOB_ID_RAW ||
           field == HELIO_SLURM_FIELD_ARRAY_JOB;
}

static void cell(const helio_slurm_table_t *self, const json_t *job, uint32_t index, helio_buffer_t *ret_text)
{
    const helio_slurm_column_t *column = &self->columns.items[index];
    helio_buffer_reset(ret_text);
    if (job)
        helio_slurm_field_shown(job, column->field, self->zone, self->wall_ms, ret_text);
    else if (self->rule || self->separator) {
        helio_text_t name = helio_slurm_field_name(column->field);
        helio_buffer_append(ret_text, name.data, name.size);
    } else {
        helio_buffer_text(ret_text, helio_slurm_field_title(column->field));
    }
}

static void print_line(const helio_slurm_table_t *self, const json_t *job, const uint32_t *widths, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (uint32_t i = 0; i < self->columns.count; i++) {
        const helio_slurm_column_t *column = &self->columns.items[i];
        cell(self, job, i, &text);
        if (self->separator) {
            helio_buffer_append(out, text.data ? text.data : "", text.size);
            if (i + 1 < self->columns.count || self->closed)
                helio_buffer_append(out, &self->separator, 1);
            continue;
        }
        if (column->width && !is_id(column->field))
            cut_to(&text, column->width);
        uint32_t length = length_of(&text), missing = length < widths[i] ? widths[i] - length : 0;
        bool last = i + 1 == self->columns.count && !self->columns.after.size && !column->right;
        helio_buffer_append(out, column->before.data ? column->before.data : "", column->before.size);
        pad(out, column->right ? missing : 0);
        helio_buffer_append(out, text.data ? text.data : "", text.size);
        pad(out, column->right || last ? 0 : missing);
    }
    helio_buffer_printf(out, "%.*s\n", HELIO_TEXT_ARGS(self->columns.after));
}

static void print_rule(const helio_slurm_table_t *self, const uint32_t *widths, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < self->columns.count; i++) {
        helio_buffer_text(out, i ? " " : "");
        for (uint32_t k = 0; k < widths[i]; k++)
            helio_buffer_append(out, "-", 1);
    }
    helio_buffer_text(out, "\n");
}

void helio_slurm_table_print(const helio_slurm_table_t *self, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    uint32_t widths[COLUMNS_MAX] = {0};
    size_t at;
    const json_t *job;
    for (uint32_t i = 0; i < self->columns.count && !self->separator; i++) {
        widths[i] = self->columns.items[i].width;
        if (widths[i])
            continue;
        if (self->header) {
            cell(self, NULL, i, &text);
            widths[i] = length_of(&text);
        }
        json_array_foreach(self->jobs, at, job)
        {
            cell(self, job, i, &text);
            uint32_t length = length_of(&text);
            widths[i] = length > widths[i] ? length : widths[i];
        }
    }
    if (self->header)
        print_line(self, NULL, widths, out);
    if (self->header && self->rule && !self->separator)
        print_rule(self, widths, out);
    json_array_foreach(self->jobs, at, job) print_line(self, job, widths, out);
}
