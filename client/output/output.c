/*  output.c -- prints rows and objects as table, csv, JSON or names. */
#include "client/output/output.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "client/output/humanise.h"
#include "client/output/instant.h"
#include "client/output/yaml.h"
#include "federation/base/clock.h"

enum { JSON_FLAGS = JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) };

bool helio_format_of(const char *word, helio_format_t *ret_format)
{
    static const char *const words[] = {"table", "wide", "json", "jsonl", "csv", "name", "yaml"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret_format = (helio_format_t)i;
            return true;
        }
    }
    return false;
}

bool helio_format_is_nested(helio_format_t format)
{
    return format == HELIO_FORMAT_JSON || format == HELIO_FORMAT_JSONL || format == HELIO_FORMAT_YAML;
}

const json_t *helio_output_find(const json_t *object, const char *key)
{
    for (const char *at = key;;) {
        size_t size = strcspn(at, "|");
        const json_t *value = json_object_getn(object, at, size);
        if (value && !json_is_null(value))
            return value;
        if (!at[size])
            return NULL;
        at += size + 1;
    }
}

const char *helio_output_string(const json_t *object, const char *key)
{
    const char *string = json_string_value(helio_output_find(object, key));
    return string ? string : "";
}

double helio_output_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = helio_output_find(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int append_json(const char *bytes, size_t size, void *arg)
{
    helio_buffer_append(arg, bytes, size);
    return 0;
}

void helio_output_json(const json_t *value, bool indent, helio_buffer_t *out)
{
    (void)json_dump_callback(value, append_json, out, (size_t)(JSON_FLAGS | (indent ? JSON_INDENT(2) : JSON_COMPACT)));
}

/*  Strings unchanged, all other values as JSON. */
static void plain_value(const json_t *value, helio_buffer_t *out)
{
    if (!value || json_is_null(value))
        return;
    if (json_is_string(value))
        helio_buffer_append(out, json_string_value(value), json_string_length(value));
    else
        helio_output_json(value, false, out);
}

static void list_cell(const json_t *list, helio_buffer_t *out)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (i)
            helio_buffer_text(out, ",");
        plain_value(item, out);
    }
}

static void pairs_cell(const json_t *pairs, helio_buffer_t *out)
{
    size_t before = out->size;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)pairs, name, value)
    {
        helio_buffer_printf(out, "%s%s=", out->size > before ? "," : "", name);
        plain_value(value, out);
    }
}

static bool time_cell(const helio_output_t *self, const json_t *value, bool age, char ret_text[HELIO_HUMAN_SIZE])
{
    const char *string = json_string_value(value);
    char text[HELIO_INSTANT_SIZE];
    int64_t wall_ms;
    if (!string)
        return false;
    if (helio_rfc3339_parse(helio_text_of(string), &wall_ms) != HELIO_OK) {
        (void)helio_text_copy(helio_text_of(string), ret_text, HELIO_HUMAN_SIZE);
    } else if (age) {
        helio_human_duration((double)(self->wall_ms - wall_ms) / 1000, ret_text);
    } else {
        helio_instant_text(self->zone, 0, wall_ms, text);
        (void)helio_text_copy(helio_text_of(text), ret_text, HELIO_HUMAN_SIZE);
    }
    return true;
}

/*  START and SAID. */
static void instant_cell(const helio_output_t *self, helio_cell_t cell, const char *string, helio_buffer_t *out)
{
    char text[HELIO_INSTANT_SIZE];
    int64_t at_ms;
    if (cell == HELIO_CELL_SAID || helio_rfc3339_parse(helio_text_of(string), &at_ms) != HELIO_OK) {
        helio_instants_in(self->zone, self->wall_ms, string, out);
        return;
    }
    int64_t far_ms = at_ms - self->wall_ms;
    if (self->wall_ms && far_ms > -1000 && far_ms < 1000) {
        helio_buffer_text(out, "now"); /* the seconds of a cell would say less */
        return;
    }
    helio_instant_text(self->zone, self->wall_ms, at_ms, text);
    helio_buffer_text(out, text);
}

static bool number_cell(helio_cell_t cell, const json_t *value, char ret_text[HELIO_HUMAN_SIZE])
{
    if (!json_is_number(value))
        return false;
    double number = json_number_value(value);
    switch ((int)cell) {
    case HELIO_CELL_NUMBER:
        helio_human_number(number, ret_text);
        return true;
    case HELIO_CELL_SECONDS:
        helio_human_run(number, ret_text);
        return true;
    case HELIO_CELL_MONEY:
        helio_human_money(number, ret_text);
        return true;
    case HELIO_CELL_ENERGY:
        helio_human_energy(number, ret_text);
        return true;
    case HELIO_CELL_CARBON:
        helio_human_mass(number, ret_text);
        return true;
    default:
        return false;
    }
}

void helio_output_cell(const helio_output_t *self, const json_t *object, const helio_column_t *column,
                       helio_buffer_t *out)
{
    const json_t *value = helio_output_find(object, column->key);
    char human[HELIO_HUMAN_SIZE] = "";
    bool known = number_cell(column->cell, value, human);
    if (column->cell == HELIO_CELL_TIME || column->cell == HELIO_CELL_AGE)
        known = time_cell(self, value, column->cell == HELIO_CELL_AGE, human);
    if (column->cell == HELIO_CELL_ID && json_is_string(value) && self->format == HELIO_FORMAT_TABLE) {
        helio_short_id(json_string_value(value), human);
        known = true;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t plain = {0};
    bool told = column->cell == HELIO_CELL_START || column->cell == HELIO_CELL_SAID;
    if (told && json_is_string(value))
        instant_cell(self, column->cell, json_string_value(value), &plain);
    else if (known)
        helio_buffer_text(&plain, human);
    else if (json_is_array(value))
        list_cell(value, &plain);
    else if (column->cell == HELIO_CELL_PAIRS && json_is_object(value))
        pairs_cell(value, &plain);
    else
        plain_value(value, &plain);
    helio_safe_text(plain.data ? plain.data : "", false, out);
}

static const char *state_colour(const char *state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"running", "\033[32m"}, {"ready", "\033[32m"}, {"succeeded", "\033[36m"}, {"failed", "\033[31m"},
        {"timeout", "\033[31m"}, {"lost", "\033[31m"},  {"suspect", "\033[33m"},   {"held", "\033[33m"},
        {"stale", "\033[33m"},   {"down", "\033[31m"},  {"draining", "\033[33m"},
    };
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(state, colours[i].state) == 0)
            return colours[i].colour;
    return NULL;
}

static bool is_numeric(helio_cell_t cell)
{
    return cell == HELIO_CELL_COUNT || cell == HELIO_CELL_NUMBER ||
           (cell >= HELIO_CELL_AGE && cell <= HELIO_CELL_CARBON);
}

static helio_rc written(FILE *stream)
{
    return fflush(stream) == 0 && !ferror(stream) ? HELIO_OK : HELIO_IO;
}

/*  smartcols pads the last column; trailing blanks would clutter golden files. */
static void write_trimmed(FILE *stream, const char *text)
{
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n"), used = size;
        while (used && line[used - 1] == ' ')
            used--;
        (void)fwrite(line, 1, used, stream);
        (void)fputc('\n', stream);
        line += size + (line[size] == '\n');
    }
}

static void fill_line(const helio_output_t *self, struct libscols_line *line, const json_t *row,
                      helio_columns_t columns)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    size_t at = 0;
    for (size_t i = 0; i < columns.count; i++) {
        const helio_column_t *column = &columns.items[i];
        if (column->wide && self->format != HELIO_FORMAT_WIDE)
            continue;
        helio_buffer_reset(&text);
        helio_output_cell(self, row, column, &text);
        const char *colour = column->cell == HELIO_CELL_STATE && text.size ? state_colour(text.data) : NULL;
        if (scols_line_set_data(line, at, text.size ? text.data : "-") != 0)
            abort();
        if (colour && self->colour)
            (void)scols_cell_set_color(scols_line_get_cell(line, at), colour);
        at++;
    }
}

static void write_table(const helio_output_t *self, const json_t *rows, helio_columns_t columns)
{
    struct libscols_table *table = scols_new_table();
    if (!table)
        abort();
    scols_table_enable_colors(table, self->colour);
    /* Columns do not depend on the terminal's width: truncated values could be neither read nor piped. */
    scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(table, "  ");
    for (size_t i = 0; i < columns.count; i++) {
        const helio_column_t *column = &columns.items[i];
        if (column->wide && self->format != HELIO_FORMAT_WIDE)
            continue;
        if (!scols_table_new_column(table, column->title, 0, is_numeric(column->cell) ? SCOLS_FL_RIGHT : 0))
            abort();
    }
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        if (!line)
            abort();
        fill_line(self, line, row, columns);
    }
    if (json_array_size(rows) == 0) {
        /* smartcols prints nothing at all for a table without lines. */
        for (size_t c = 0, n = 0; c < columns.count; c++)
            if (!columns.items[c].wide || self->format == HELIO_FORMAT_WIDE)
                fprintf(self->stream, "%s%s", n++ ? "  " : "", columns.items[c].title);
        fputc('\n', self->stream);
    } else {
        char *text = NULL;
        if (scols_print_table_to_string(table, &text) != 0)
            abort();
        write_trimmed(self->stream, text ? text : "");
        free(text);
    }
    scols_unref_table(table);
}

/*  RFC 4180, but lines end in LF like all other output. */
static void csv_field(FILE *stream, helio_text_t value)
{
    bool quote = false;
    for (uint32_t i = 0; i < value.size; i++)
        quote |= strchr(",\"\r\n", value.data[i]) != NULL || value.data[i] == '\0';
    if (!quote) {
        (void)fwrite(value.size ? value.data : "", 1, value.size, stream);
        return;
    }
    fputc('"', stream);
    for (uint32_t i = 0; i < value.size; i++) {
        if (value.data[i] == '"')
            fputc('"', stream);
        fputc(value.data[i], stream);
    }
    fputc('"', stream);
}

static void write_csv(const helio_output_t *self, const json_t *rows, helio_columns_t columns)
{
    for (size_t c = 0; c < columns.count; c++)
        fprintf(self->stream, "%s%.*s", c ? "," : "", (int)strcspn(columns.items[c].key, "|"), columns.items[c].key);
    fputc('\n', self->stream);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        for (size_t c = 0; c < columns.count; c++) {
            helio_buffer_reset(&text);
            plain_value(helio_output_find(row, columns.items[c].key), &text);
            if (c)
                fputc(',', self->stream);
            if (self->terminal) {
                HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
                helio_safe_text(text.size ? text.data : "", true, &safe);
                csv_field(self->stream, helio_buffer_view(&safe));
            } else {
                csv_field(self->stream, helio_buffer_view(&text));
            }
        }
        fputc('\n', self->stream);
    }
}

static void write_line(const helio_output_t *self, const json_t *value, bool indent)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
    helio_output_json(value, indent, &text);
    helio_buffer_text(&text, "\n");
    if (self->terminal)
        helio_safe_json(text.data, &safe);
    helio_buffer_t *shown = self->terminal ? &safe : &text;
    (void)fwrite(shown->data, 1, shown->size, self->stream);
}

static void write_yaml(const helio_output_t *self, const json_t *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_yaml_put(value, &text);
    (void)fwrite(text.data, 1, text.size, self->stream);
}

static void write_name(const helio_output_t *self, const json_t *row, helio_columns_t columns)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
    plain_value(helio_output_find(row, columns.name_key), &text);
    helio_safe_text(text.size ? text.data : "", false, &safe);
    fprintf(self->stream, "%s\n", safe.size ? safe.data : "");
}

helio_rc helio_output_rows(const helio_output_t *self, const json_t *rows, helio_columns_t columns)
{
    size_t i;
    json_t *row;
    switch (self->format) {
    case HELIO_FORMAT_TABLE:
    case HELIO_FORMAT_WIDE:
        write_table(self, rows, columns);
        break;
    case HELIO_FORMAT_JSON:
        write_line(self, rows, true);
        break;
    case HELIO_FORMAT_JSONL:
        json_array_foreach(rows, i, row) write_line(self, row, false);
        break;
    case HELIO_FORMAT_CSV:
        write_csv(self, rows, columns);
        break;
    case HELIO_FORMAT_NAME:
        json_array_foreach(rows, i, row) write_name(self, row, columns);
        break;
    case HELIO_FORMAT_YAML:
        write_yaml(self, rows);
        break;
    }
    return written(self->stream);
}

static bool has_column(helio_columns_t columns, const char *key)
{
    for (size_t c = 0; c < columns.count; c++) {
        for (const char *at = columns.items[c].key; *at; at += strcspn(at, "|"), at += *at == '|')
            if (strcspn(at, "|") == strlen(key) && strncmp(at, key, strlen(key)) == 0)
                return true;
    }
    return false;
}

static void write_pair(const helio_output_t *self, const char *title, const char *value)
{
    fprintf(self->stream, "%-16s  %s\n", title, value);
}

static void write_pairs(const helio_output_t *self, const json_t *object, helio_columns_t columns)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, title = {0};
    /* A single object is shown with its whole id, whatever the format. */
    helio_output_t whole = *self;
    whole.format = HELIO_FORMAT_WIDE;
    for (size_t c = 0; c < columns.count; c++) {
        helio_buffer_reset(&text);
        helio_output_cell(&whole, object, &columns.items[c], &text);
        if (text.size && (!columns.items[c].wide || self->format == HELIO_FORMAT_WIDE))
            write_pair(self, columns.items[c].title, text.data);
    }
    if (self->format != HELIO_FORMAT_WIDE)
        return;
    for (void *at = json_object_iter((json_t *)(uintptr_t)object); at;
         at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        const json_t *value = json_object_iter_value(at);
        if (json_is_object(value) || json_is_array(value) || json_is_null(value) ||
            has_column(columns, json_object_iter_key(at)))
            continue;
        helio_column_t column = {.key = json_object_iter_key(at), .cell = HELIO_CELL_TEXT};
        helio_buffer_reset(&text);
        helio_buffer_reset(&title);
        helio_output_cell(&whole, object, &column, &text);
        helio_safe_text(column.key, false, &title);
        write_pair(self, title.size ? title.data : "", text.size ? text.data : "");
    }
}

void helio_output_counts(const helio_output_t *self, const json_t *counts, int indent)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    const char *name;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)counts, name, count)
    {
        helio_buffer_reset(&safe);
        helio_safe_text(name, false, &safe);
        fprintf(self->stream, "%*s%-*s  %lld\n", indent, "", 16 - indent, safe.size ? safe.data : "",
                (long long)json_integer_value(count));
    }
}

helio_rc helio_output_object(const helio_output_t *self, const json_t *object, helio_columns_t columns)
{
    if (self->format == HELIO_FORMAT_TABLE || self->format == HELIO_FORMAT_WIDE) {
        write_pairs(self, object, columns);
    } else if (self->format == HELIO_FORMAT_JSON) {
        write_line(self, object, true);
    } else if (self->format == HELIO_FORMAT_YAML) {
        write_yaml(self, object);
    } else {
        json_t *rows = json_array();
        if (json_array_append(rows, (json_t *)(uintptr_t)object) != 0)
            abort();
        helio_rc rc = helio_output_rows(self, rows, columns);
        json_decref(rows);
        return rc;
    }
    return written(self->stream);
}
