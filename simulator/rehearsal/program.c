/*  program.c -- options, the snapshot's file, two runs, and what differs. */
#include "simulator/rehearsal/program.h"

#include <errno.h>
#include <string.h>

#include "federation/arguments/command_line.h"
#include "federation/spec/value.h"
#include "simulator/rehearsal/difference.h"

enum { EXIT_FAILURE_ = 1, EXIT_USAGE = 2, EXIT_NOT_FOUND = 3 /* as those of helio */ };
#define FOR_DEFAULT "3d"
static const uint64_t FOR_MOST_MS = UINT64_C(60) * 86400000;

/* clang-format off */
enum { OPTION_CHANGE, OPTION_FOR, OPTION_OUTPUT, OPTION_HELP, OPTION_VERSION, OPTION_COUNT };
static const helio_option_t options[] = {
    [OPTION_CHANGE] = {"change", 0, "CHANGE", NULL, "What is changed; repeat it for several"},
    [OPTION_FOR] = {"for", 0, "DURATION", NULL, "Virtual time, at most (" FOR_DEFAULT ")"},
    [OPTION_OUTPUT] = {"output", 'o', "FORMAT", "table json", "How the difference is printed (table)"},
    [OPTION_HELP] = {"help", 'h', NULL, NULL, "List options"},
    [OPTION_VERSION] = {"version", 0, NULL, NULL, "Print the version"},
};
/* clang-format on */
static const helio_option_table_t option_table = {options, OPTION_COUNT, UINT64_C(1) << OPTION_CHANGE, REH_CHANGES_MAX};

typedef struct program {
    helio_command_line_t line;
    helio_arena_t *arena;
    FILE *out, *err;
    reh_change_t changes[REH_CHANGES_MAX];
    uint32_t change_count;
    int64_t for_ms;
    helio_buffer_t snapshot;
} program_t;

static const char *value(const program_t *self, uint32_t option)
{
    return helio_command_line_value(&self->line, option);
}

static helio_rc take_options(program_t *self, helio_error_t *err)
{
    const helio_option_values_t *given = &self->line.values[OPTION_CHANGE];
    const char *time = value(self, OPTION_FOR), *format = value(self, OPTION_OUTPUT);
    uint64_t ms = 0;
    if (self->line.word_count != 1)
        return helio_fail(err, HELIO_INVALID, "the file of a snapshot is needed\nhelp: `helio rehearse` fetches it");
    if (!given->count)
        return helio_fail(err, HELIO_INVALID, "no change is given\nhelp: --change down=SITE");
    if (format && strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        return helio_fail(err, HELIO_INVALID, "--output %s: table or json", format);
    if (helio_duration_parse(helio_text_of(time ? time : FOR_DEFAULT), &ms) != HELIO_OK || !ms || ms > FOR_MOST_MS)
        return helio_fail(err, HELIO_INVALID, "--for %s: a duration up to 60d, such as 6h", time ? time : "");
    self->for_ms = (int64_t)ms;
    helio_rc rc = HELIO_OK;
    for (; rc == HELIO_OK && self->change_count < given->count; self->change_count++)
        rc = reh_change_parse(given->items[self->change_count], &self->changes[self->change_count], err);
    return rc;
}

static helio_rc read_file(program_t *self, const char *path, helio_error_t *err)
{
    char piece[65536];
    FILE *file = fopen(path, "rbe");
    if (!file)
        return helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
    self->snapshot.max = HELIO_SNAPSHOT_MAX + sizeof piece; /* and its options */
    for (size_t size; (size = fread(piece, 1, sizeof piece, file)) > 0;)
        helio_buffer_append(&self->snapshot, piece, size);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || self->snapshot.overflow)
        return helio_fail(err, HELIO_IO, "%s cannot be read, or is larger than a snapshot", path);
    return HELIO_OK;
}

static void print(program_t *self, const reh_result_t *before, const reh_result_t *after)
{
    const char *format = value(self, OPTION_OUTPUT);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {.max = (size_t)1 << 30};
    reh_difference_t difference;
    reh_difference_init(&difference, before, after);
    if (format && strcmp(format, "json") == 0)
        reh_difference_json(&difference, self->changes, self->change_count, &text);
    else
        reh_difference_table(&difference, &text);
    (void)fwrite(text.data, 1, text.size, self->out);
    reh_difference_clear(&difference);
}

static helio_rc rehearse(program_t *self, helio_error_t *err)
{
    reh_result_t before = {0}, after = {0};
    helio_rc rc = read_file(self, self->line.words[0], err);
    helio_text_t bytes = helio_buffer_view(&self->snapshot);
    rc = rc == HELIO_OK ? reh_run(bytes, NULL, 0, self->for_ms, &before, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    rc = reh_run(bytes, self->changes, self->change_count, self->for_ms, &after, err);
    if (rc == HELIO_OK) {
        print(self, &before, &after);
        reh_result_clear(&after);
    }
    reh_result_clear(&before);
    return rc;
}

static void usage(FILE *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
    helio_option_lines(&option_table, HELIO_OPTIONS_ALL, &lines);
    (void)fprintf(out,
                  "usage: helio-simulate rehearse SNAPSHOT --change CHANGE [OPTIONS]\n\n"
                  "Runs a copy of the live state on in virtual time, as it is and with changes, and prints what "
                  "differs.\n\noptions:\n%.*s\nchanges:\n",
                  HELIO_TEXT_ARGS(helio_buffer_view(&lines)));
#define X(NAME, word, form) (void)fprintf(out, "  " word "=" form "\n");
    REH_CHANGE_TABLE(X)
#undef X
}

static int run(program_t *self, int argc, char **argv)
{
    const helio_command_line_rules_t rules = {.options = &option_table, .refuses_empty = true, .words_most = 1};
    helio_error_t err = {0};
    helio_rc rc = helio_command_line_parse(argc, argv, &rules, self->arena, &self->line, &err);
    if (rc == HELIO_OK && helio_command_line_has(&self->line, OPTION_HELP)) {
        usage(self->out);
        return 0;
    }
    if (rc == HELIO_OK && helio_command_line_has(&self->line, OPTION_VERSION)) {
        (void)fprintf(self->out, "helio-simulate %s\n", HELIO_PROGRAM_VERSION);
        return 0;
    }
    rc = rc == HELIO_OK ? take_options(self, &err) : rc;
    int code = rc == HELIO_OK ? EXIT_FAILURE_ : EXIT_USAGE;
    rc = rc == HELIO_OK ? rehearse(self, &err) : rc;
    if (rc == HELIO_OK)
        return fflush(self->out) == 0 ? 0 : EXIT_FAILURE_;
    (void)fprintf(self->err, "helio rehearse: error: %s\n", err.text);
    return rc == HELIO_NOT_FOUND ? EXIT_NOT_FOUND : code;
}

int reh_program(int argc, char **argv, FILE *out, FILE *err)
{
    program_t self = {.arena = helio_arena_new(), .out = out, .err = err};
    int code = run(&self, argc, argv);
    helio_buffer_clear(&self.snapshot);
    helio_arena_destroy(&self.arena);
    return code;
}
