/*  test_keys.c -- what holds for every key of the job file, the site file and the reserved windows: its bounds, its
 *  words, its default, and what an error says when it is misspelled, doubled, missing or of another type. */
#include "spec_testing.h"

#include "federation/base/suggest.h"
#include "federation/spec/reader.h"
#include "federation/spec/windows.h"

/*  Where a mapping stands in a file: each key is written on a line of its own, `indent` deep. */
typedef struct place {
    const helio_spec_table_t *root, *table;
    char before[200];         /* lines above it */
    const char *path;         /* of the mapping: "placement." */
    const char *first, *rest; /* what stands before the first key and before the others */
    size_t base;              /* offset of its struct, for what stands in the root's struct; SIZE_MAX = elsewhere */
} place_t;

typedef struct probe {
    const place_t *place;
    const helio_spec_field_t *field;
    helio_arena_t *arena;
    helio_diagnostic_t diagnostic;
    helio_rc rc;
    uint32_t line; /* of the key */
    void *target;
} probe_t;

typedef void visit_fn(probe_t *self);

/*  Appends required keys of the mapping but `key`, then the lines. */
static void compose(const place_t *place, const char *key, const char *lines, uint32_t *ret_line, helio_buffer_t *out)
{
    const char *lead = place->first;
    helio_buffer_text(out, place->before);
    for (size_t i = 0; i < place->table->field_count; i++) {
        const helio_spec_field_t *field = &place->table->fields[i];
        if (!field->required || strcmp(field->key, key) == 0)
            continue;
        helio_buffer_printf(out, "%s%s: %s\n", lead, field->key, field->example);
        lead = place->rest;
    }
    *ret_line = 1;
    for (const char *at = out->size ? out->data : ""; (at = strchr(at, '\n')) != NULL; at++)
        ++*ret_line;
    for (const char *at = lines; *at; lead = place->rest) {
        size_t size = strcspn(at, "\n");
        helio_buffer_printf(out, "%s%.*s\n", lead, (int)size, at);
        at += size + (at[size] == '\n');
    }
}

/*  Reads the file with these lines of the mapping; "" = none of the key. */
static void read_lines(probe_t *self, const char *lines)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    compose(self->place, self->field->key, lines, &self->line, &text);
    self->diagnostic = (helio_diagnostic_t){0};
    self->target = helio_arena_alloc(self->arena, 1, self->place->root->size);
    helio_spec_source_t source = {helio_arena_text(self->arena, helio_buffer_view(&text)), "file", 0};
    self->rc =
        helio_spec_read(self->place->root, source, HELIO_SPEC_SOURCE_MAX, self->arena, self->target, &self->diagnostic);
}

static void read_value(probe_t *self, const char *value)
{
    read_lines(self, helio_arena_printf(self->arena, "%s: %s", self->field->key, value).data);
}

#define fail_probe(self, ...)                                                                                \
    do {                                                                                                     \
        print_error(__VA_ARGS__);                                                                            \
        fail_msg("\n%s%s: line %u of %u, %s '%s': %s (%s)", (self)->place->path, (self)->field->key,         \
                 (self)->diagnostic.line, (self)->line, helio_spec_problem_name((self)->diagnostic.problem), \
                 (self)->diagnostic.path, (self)->diagnostic.message, (self)->diagnostic.hint);              \
    } while (0)

/*  Refused at the key's line, with the key's own path. */
static bool is_refused_there(const probe_t *self)
{
    const char *path = self->diagnostic.path;
    size_t prefix = strlen(self->place->path), size = strlen(self->field->key);
    return self->rc != HELIO_OK && self->diagnostic.line == self->line && self->diagnostic.column &&
           self->diagnostic.message[0] && strncmp(path, self->place->path, prefix) == 0 &&
           strncmp(path + prefix, self->field->key, size) == 0;
}

/*  Refused only because of another key, or not at all. */
static bool is_good_by_itself(const probe_t *self)
{
    return self->rc == HELIO_OK || self->diagnostic.problem == HELIO_SPEC_CONTRADICTION_PROBLEM ||
           self->diagnostic.problem == HELIO_SPEC_MISSING_PROBLEM;
}

static place_t places[16];
static size_t place_count;

static place_t *add_place(const helio_spec_table_t *root, const helio_spec_table_t *table, const char *before,
                          const char *path, const char *first, const char *rest, size_t base)
{
    place_t *place = &places[place_count++];
    *place = (place_t){.root = root, .table = table, .path = path, .first = first, .rest = rest, .base = base};
    (void)snprintf(place->before, sizeof place->before, "%s", before);
    return place;
}

static const helio_spec_field_t *field_of(const helio_spec_table_t *table, const char *key)
{
    for (size_t i = 0; i < table->field_count; i++)
        if (table->fields[i].key && strcmp(table->fields[i].key, key) == 0)
            return &table->fields[i];
    fail_msg("no key %s", key);
    return NULL;
}

static int make_places(void **state)
{
    const helio_spec_table_t *job = &helio_spec_job_table, *site = &helio_spec_site_table;
    const helio_spec_table_t *placement = field_of(job, "placement")->table, *pool = field_of(site, "pools")->table;
    if (place_count)
        return arena_setup(state);
    add_place(job, job, "", "", "", "", 0);
    add_place(job, placement, "run: x\nplacement:\n", "placement.", "  ", "  ", 0);
    add_place(job, field_of(placement, "prices")->table, "run: x\nplacement:\n  prices:\n", "placement.prices.", "    ",
              "    ", 0);
    add_place(job, field_of(job, "checkpoint")->table, "run: x\ncheckpoint:\n", "checkpoint.", "  ", "  ", 0);
    add_place(job, field_of(job, "depends")->table, "run: x\ndepends:\n", "depends.", "  ", "  ", 0);
    add_place(job, field_of(job, "data")->table, "run: x\ndata:\n", "data[0].", "  - ", "    ", SIZE_MAX);
    add_place(site, site, "", "", "", "", 0);
    add_place(site, pool, "name: s\npools:\n", "pools[0].", "  - ", "    ", SIZE_MAX);
    add_place(site, field_of(pool, "power")->table, "name: s\npools:\n  - name: p\n    power:\n", "pools[0].power.",
              "      ", "      ", SIZE_MAX);
    add_place(&helio_spec_window_table, &helio_spec_window_table, "", "", "", "", 0);
    return arena_setup(state);
}

/*  Calls visit for every key of every mapping; returns how many. */
static uint32_t each_key(helio_arena_t *arena, visit_fn *visit)
{
    uint32_t count = 0;
    for (size_t p = 0; p < place_count; p++)
        for (size_t i = 0; i < places[p].table->field_count; i++) {
            const helio_spec_field_t *field = &places[p].table->fields[i];
            if (!field->key || field->kind == HELIO_SPEC_SKIP)
                continue;
            probe_t probe = {.place = &places[p], .field = field, .arena = arena};
            visit(&probe);
            count++;
        }
    return count;
}

/* ---- keys -------------------------------------------------------------------------------------------------- */

static void misspell(probe_t *self)
{
    char wrong[64];
    const char *key = self->field->key;
    (void)snprintf(wrong, sizeof wrong, "%.*s%s", (int)strlen(key) / 2, key, key + strlen(key) / 2 + 1);
    helio_suggestion_t nearest = {.written = helio_text_of(wrong)};
    for (size_t i = 0; i < self->place->table->field_count; i++)
        helio_suggestion_offer(&nearest, self->place->table->fields[i].key);
    read_lines(self, helio_arena_printf(self->arena, "%s: %s", wrong, self->field->example).data);
    bool named = nearest.best && strstr(self->diagnostic.hint, nearest.best);
    if (self->rc == HELIO_OK || self->diagnostic.problem != HELIO_SPEC_UNKNOWN_KEY_PROBLEM ||
        self->diagnostic.line != self->line || !strstr(self->diagnostic.message, wrong) || !named)
        fail_probe(self, "%s", wrong);
}

static void a_key_that_is_misspelled__is_unknown_and_the_nearest_one_is_suggested(void **state)
{
    assert_int_equal(each_key(*state, misspell), 52 + 31 + 5);
}

static void write_twice(probe_t *self)
{
    const char *key = self->field->key, *value = self->field->example;
    read_lines(self, helio_arena_printf(self->arena, "%s: %s\n%s: %s", key, value, key, value).data);
    if (self->rc == HELIO_OK || self->diagnostic.problem != HELIO_SPEC_DUPLICATE_KEY_PROBLEM ||
        self->diagnostic.line != self->line + 1)
        fail_probe(self, "twice");
}

static void a_key_that_stands_twice__is_refused_at_its_second_place(void **state)
{
    (void)each_key(*state, write_twice);
}

/*  The mapping has another key instead, for an empty one may not be. */
static void leave_out(probe_t *self)
{
    const helio_spec_table_t *table = self->place->table;
    const char *line = "";
    for (size_t i = 0; i < table->field_count && !line[0]; i++) {
        const helio_spec_field_t *other = &table->fields[i];
        if (other->key && other != self->field && !other->required && other->kind != HELIO_SPEC_GROUP)
            line = helio_arena_printf(self->arena, "%s: %s", other->key, other->example).data;
    }
    read_lines(self, line);
    bool named =
        self->diagnostic.problem == HELIO_SPEC_MISSING_PROBLEM && strstr(self->diagnostic.message, self->field->key);
    if (self->field->required ? self->rc == HELIO_OK || !named : !is_good_by_itself(self))
        fail_probe(self, "left out");
}

static void a_key_that_is_required__is_named_when_it_is_missing(void **state)
{
    (void)each_key(*state, leave_out);
}

/* ---- values ------------------------------------------------------------------------------------------------ */

static void give_another_type(probe_t *self)
{
    static const struct {
        const char *value;
        bool scalar, list, mapping;
    } values[] = {{"{a: {b: c}}", 0, 0, 1}, {"[[[a]]]", 0, 1, 0}, {"- x", 1, 0, 0}, {"[{}]", 0, 1, 0}, {"{}", 0, 0, 1}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        helio_spec_kind_t kind = self->field->kind;
        bool lists = kind == HELIO_SPEC_STRINGS || kind == HELIO_SPEC_LIST || kind == HELIO_SPEC_CUSTOM;
        bool maps = kind == HELIO_SPEC_GROUP || kind == HELIO_SPEC_PAIRS || kind == HELIO_SPEC_LIST ||
                    kind == HELIO_SPEC_CUSTOM;
        bool scalars = kind != HELIO_SPEC_GROUP && kind != HELIO_SPEC_PAIRS && kind != HELIO_SPEC_LIST;
        if ((values[i].scalar && scalars) || (values[i].list && lists) || (values[i].mapping && maps))
            continue; /* not another type, or one with a meaning of its own */
        read_value(self, values[i].scalar ? "x" : values[i].value);
        if (!is_refused_there(self) || self->diagnostic.problem != HELIO_SPEC_WRONG_TYPE_PROBLEM)
            fail_probe(self, "%s", values[i].value);
    }
}

static void a_value_of_another_type__is_refused_where_it_stands(void **state)
{
    (void)each_key(*state, give_another_type);
}

/*  least and most of a number, as it is written; DURATION in milliseconds. */
static void go_to_the_bounds(probe_t *self)
{
    const helio_spec_field_t *field = self->field;
    bool whole = field->kind == HELIO_SPEC_U32 || field->kind == HELIO_SPEC_U64;
    if (!whole && field->kind != HELIO_SPEC_F64 && field->kind != HELIO_SPEC_DURATION)
        return;
    const char *unit = field->kind == HELIO_SPEC_DURATION ? "ms" : "";
    double most = field->most > 0 ? field->most : field->kind == HELIO_SPEC_U32 ? UINT32_MAX : 0;
    read_value(self, helio_arena_printf(self->arena, "%.0f%s", field->least, unit).data);
    if (!is_good_by_itself(self))
        fail_probe(self, "least");
    read_value(self, helio_arena_printf(self->arena, "%.0f%s", field->least - 1, unit).data);
    if (!is_refused_there(self))
        fail_probe(self, "below least");
    if (most <= 0)
        return;
    read_value(self, helio_arena_printf(self->arena, "%.0f%s", most, unit).data);
    if (!is_good_by_itself(self))
        fail_probe(self, "most");
    read_value(self, helio_arena_printf(self->arena, "%.0f%s", most + 1, unit).data);
    if (!is_refused_there(self))
        fail_probe(self, "above most");
    read_value(self, helio_arena_printf(self->arena, "1%s%s", "00000000000000000000000000", unit).data);
    if (!is_refused_there(self))
        fail_probe(self, "no number of 64 bits");
}

static void a_number__is_taken_from_its_least_to_its_most_and_no_further(void **state)
{
    (void)each_key(*state, go_to_the_bounds);
}

static void give_every_word(probe_t *self)
{
    const helio_spec_field_t *field = self->field;
    if (field->kind != HELIO_SPEC_CHOICE)
        return;
    for (uint32_t i = 0; i < field->words->count; i++) {
        const char *word = field->words->word(i);
        read_value(self, word);
        if (!is_good_by_itself(self))
            fail_probe(self, "%s", word);
        if (self->rc == HELIO_OK && self->place->base != SIZE_MAX)
            assert_int_equal(*(uint32_t *)(void *)((char *)self->target + field->offset), i);
    }
    read_value(self, "Nonsense");
    if (!is_refused_there(self) || self->diagnostic.problem != HELIO_SPEC_UNKNOWN_WORD_PROBLEM)
        fail_probe(self, "an unknown word");
    for (uint32_t i = 0; i < field->words->count; i++)
        if (!strstr(self->diagnostic.message, field->words->word(i)) &&
            !strstr(self->diagnostic.hint, field->words->word(i)))
            fail_probe(self, "without the word %s", field->words->word(i));
}

static void a_choice__takes_its_words_and_an_error_lists_them(void **state)
{
    (void)each_key(*state, give_every_word);
}

static void give_too_long_a_text(probe_t *self)
{
    const helio_spec_field_t *field = self->field;
    if (field->kind != HELIO_SPEC_TEXT || field->most <= 0)
        return;
    uint32_t size = (uint32_t)field->most + 1;
    char *text = helio_arena_alloc(self->arena, size + 1, 1);
    memset(text, 'a', size);
    read_value(self, text);
    if (!is_refused_there(self))
        fail_probe(self, "%u bytes", size);
}

static void a_text__has_no_more_bytes_than_its_most(void **state)
{
    (void)each_key(*state, give_too_long_a_text);
}

/*  A default that the reference page tells is the one that the reader sets. */
static void give_the_default(probe_t *self)
{
    const helio_spec_field_t *field = self->field;
    size_t size =
        field->kind == HELIO_SPEC_CHOICE || field->kind == HELIO_SPEC_U32                                        ? 4
        : field->kind == HELIO_SPEC_BOOL                                                                         ? 1
        : field->kind == HELIO_SPEC_F64 || field->kind == HELIO_SPEC_DURATION || field->kind == HELIO_SPEC_BYTES ? 8
                                                                                                                 : 0;
    if (!field->fallback || self->place->base == SIZE_MAX || (!size && field->kind != HELIO_SPEC_TEXT))
        return;
    read_lines(self, "");
    const char *absent = (const char *)self->target + field->offset;
    bool good = self->rc == HELIO_OK;
    read_value(self, field->fallback);
    const char *given = (const char *)self->target + field->offset;
    if (!good || self->rc != HELIO_OK)
        return; /* with the partners that it needs, test_table.c reads it */
    bool same = size ? memcmp(absent, given, size) == 0
                     : helio_text_equal(*(const helio_text_t *)(const void *)absent,
                                        *(const helio_text_t *)(const void *)given);
    if (!same)
        fail_probe(self, "%s", field->fallback);
}

static void a_default__is_what_the_reference_says(void **state)
{
    (void)each_key(*state, give_the_default);
}

/* ---- windows ----------------------------------------------------------------------------------------------- */

static void a_window__reserves_a_number_or_follows_a_series(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"pool: a\nreserve_gpus: 8\n", NULL},
        {"pool: a\nreserve_gpus: 8\nwhen: Mon..Fri 08:00-20:00\n", NULL},
        {"pool: a\nseries: demand\npeak_gpus: 8\n", NULL},
        {"pool: a\n", "needs 'reserve_gpus', or 'series' with 'peak_gpus'"},
        {"pool: a\nreserve_gpus: 0\n", "needs 'reserve_gpus'"},
        {"pool: a\nseries: demand\n", "needs 'reserve_gpus', or 'series' with 'peak_gpus'"},
        {"pool: a\nreserve_gpus: 8\npeak_gpus: 8\n", "'peak_gpus' has no effect without a series"},
        {"pool: a\nseries: demand\npeak_gpus: 8\nwhen: Mon 08:00-20:00\n", "'when' has no effect with a series"},
        {"pool: a\nseries: demand\npeak_gpus: 8\nreserve_gpus: 8\n", NULL}, /* it says the same twice */
        {"pool: a\nseries: demand\npeak_gpus: 8\nreserve_gpus: 6\n", "'reserve_gpus' has no effect with a series"},
        {"reserve_gpus: 8\n", "pool"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_window_t window;
        helio_diagnostic_t wrong = {0};
        helio_spec_source_t source = {helio_text_of(cases[i].text), "w", 0};
        helio_rc rc = helio_spec_read(&helio_spec_window_table, source, HELIO_SPEC_SOURCE_MAX, *state, &window, &wrong);
        if ((rc == HELIO_OK) != !cases[i].message || (cases[i].message && !strstr(wrong.message, cases[i].message)))
            fail_msg("%s: %s", cases[i].text, wrong.message);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_places, arena_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_key_that_is_misspelled__is_unknown_and_the_nearest_one_is_suggested),
        TEST(a_key_that_stands_twice__is_refused_at_its_second_place),
        TEST(a_key_that_is_required__is_named_when_it_is_missing),
        TEST(a_value_of_another_type__is_refused_where_it_stands),
        TEST(a_number__is_taken_from_its_least_to_its_most_and_no_further),
        TEST(a_choice__takes_its_words_and_an_error_lists_them),
        TEST(a_text__has_no_more_bytes_than_its_most),
        TEST(a_default__is_what_the_reference_says),
        TEST(a_window__reserves_a_number_or_follows_a_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
