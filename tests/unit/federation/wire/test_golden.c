/*  The protocol as it is on the wire, pinned: one filled example of every message, byte for byte, and the
 * tables of docs/protocol.md. HELIO_GOLDEN_WRITE=1 rewrites both from the descriptions: a change is then seen
 * in review. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/wire/codec.h"
#include "tests/support/golden.h"
#include "tests/unit/federation/wire/sample.h"

static const char begin_mark[] = "<!-- tables: begin (generated from the descriptions) -->\n";
static const char end_mark[] = "<!-- tables: end -->\n";

static const struct {
    uint32_t number;
    const char *name, *file, *sender, *doc;
} messages[] = {
#define X(number, NAME, record, sender, doc) {number, #NAME, #record, sender, doc},
    HELIO_MESSAGE_TABLE(X)
#undef X
};
enum { MESSAGES = sizeof messages / sizeof messages[0] };

/* ---- golden vectors ------------------------------------------------------------------------------------ */

/*  "# NAME" and what it says, then the frame in hex, 32 bytes a line. */
static void vector_text(size_t index, helio_buffer_t *out)
{
    const helio_record_type_t *type = helio_message_type(messages[index].number);
    helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    uint32_t counter = 0;
    void *record = helio_arena_alloc(arena, 1, type->size);
    sample_fill(type, arena, &counter, record);
    assert_int_equal(helio_wire_encode(messages[index].number, record, &frame, NULL), HELIO_OK);
    helio_buffer_printf(out, "# %s\n# ", messages[index].name);
    helio_wire_dump(type, record, out);
    for (size_t i = 0; i < frame.size; i++)
        helio_buffer_printf(out, "%s%02x", i % 32 ? "" : "\n", (unsigned char)frame.data[i]);
    helio_buffer_text(out, "\n");
    helio_arena_destroy(&arena);
}

static void golden__every_message_has_exactly_these_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < MESSAGES; i++) {
        char path[512];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t expected = {0}, text = {0};
        (void)snprintf(path, sizeof path, "%s/tests/golden/wire/%s.hex", HELIO_SOURCE_DIR, messages[i].file);
        vector_text(i, &text);
        if (golden_writes())
            golden_write(path, helio_buffer_view(&text));
        golden_read(path, &expected);
        if (!helio_text_equal(helio_buffer_view(&text), helio_buffer_view(&expected)))
            fail_msg("%s: %s is not encoded as it was: peers of other versions would not understand it", path,
                     messages[i].name);
    }
}

static unsigned hex_digit(char digit)
{
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a' + 10);
}

/*  Reads what is on disk, not what was just made. */
static void golden__every_frame_decodes_to_its_comment(void **state)
{
    (void)state;
    for (size_t i = 0; i < MESSAGES; i++) {
        char path[512];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t file = {0}, frame = {0}, dump = {0};
        (void)snprintf(path, sizeof path, "%s/tests/golden/wire/%s.hex", HELIO_SOURCE_DIR, messages[i].file);
        golden_read(path, &file);
        char *comment = strchr(file.data, '\n') + 3, *hex = strchr(comment, '\n');
        *hex++ = '\0';
        for (; *hex; hex++)
            if (*hex != '\n') {
                char byte = (char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
                helio_buffer_append(&frame, &byte, 1);
                hex++;
            }
        helio_arena_t *arena = helio_arena_new();
        helio_error_t err = {0};
        uint32_t number = 0;
        void *record = NULL;
        if (helio_wire_decode(helio_buffer_view(&frame), arena, &number, &record, &err))
            fail_msg("%s: %s", path, err.text);
        assert_int_equal(number, messages[i].number);
        helio_wire_dump(helio_message_type(number), record, &dump);
        assert_string_equal(dump.data, comment);
        helio_arena_destroy(&arena);
    }
}

static void golden__numbers_are_unique_and_even_ones_go_to_the_agent(void **state)
{
    (void)state;
    for (size_t i = 0; i < MESSAGES; i++) {
        assert_string_equal(messages[i].sender, messages[i].number % 2 ? "agent" : "broker");
        assert_string_equal(helio_message_name(messages[i].number), messages[i].name);
        assert_true(!i || messages[i].number > messages[i - 1].number);
        assert_true(messages[i].number < HELIO_MESSAGE_LIMIT);
    }
    assert_null(helio_message_type(0));
    assert_null(helio_message_type(HELIO_MESSAGE_LIMIT));
    assert_null(helio_message_type(UINT32_MAX));
    assert_string_equal(helio_message_name(UINT32_MAX), "UNKNOWN");
}

/* ---- the tables of docs/protocol.md -------------------------------------------------------------------- */

static void kind_text(const helio_field_t *field, helio_buffer_t *out)
{
    static const char *const words[] = {
        [HELIO_KIND_BOOL] = "bool",   [HELIO_KIND_I32] = "int32",   [HELIO_KIND_U32] = "uint32",
        [HELIO_KIND_I64] = "int64",   [HELIO_KIND_U64] = "uint64",  [HELIO_KIND_F64] = "float64",
        [HELIO_KIND_UUID] = "uuid",   [HELIO_KIND_KEY] = "key",     [HELIO_KIND_TEXT] = "text",
        [HELIO_KIND_BYTES] = "bytes", [HELIO_KIND_U32S] = "uint32", [HELIO_KIND_F64S] = "float64",
    };
    if (field->nested)
        helio_buffer_printf(out, "%s[%s](#%s)", field->kind == HELIO_KIND_LIST ? "list of " : "", field->nested->name,
                            field->nested->name);
    else
        helio_buffer_printf(out, "%s%s",
                            field->kind == HELIO_KIND_U32S || field->kind == HELIO_KIND_F64S ? "list of " : "",
                            words[field->kind]);
}

static void bound_text(const helio_field_t *field, helio_buffer_t *out)
{
    if (!field->bound)
        return;
    bool list = field->kind == HELIO_KIND_LIST || field->kind == HELIO_KIND_U32S || field->kind == HELIO_KIND_F64S;
    bool run = field->kind == HELIO_KIND_TEXT || field->kind == HELIO_KIND_BYTES;
    helio_buffer_printf(out, "%llu%s", (unsigned long long)field->bound, list ? " items" : run ? " bytes" : "");
}

static void fields_table(const helio_record_type_t *type, helio_buffer_t *out)
{
    helio_buffer_text(out, "| # | field | kind | at most | since |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < type->field_count; i++) {
        helio_buffer_printf(out, "| %zu | `%s` | ", i + 1, type->fields[i].name);
        kind_text(&type->fields[i], out);
        helio_buffer_text(out, " | ");
        bound_text(&type->fields[i], out);
        helio_buffer_printf(out, " | %u |\n", type->fields[i].since);
    }
    helio_buffer_text(out, "\n");
}

enum { NESTED_MAX = 64 };

/*  Every nested record once, in the order in which it is met. */
static void collect(const helio_record_type_t *type, const helio_record_type_t **found, size_t *count)
{
    for (size_t f = 0; f < type->field_count; f++) {
        const helio_record_type_t *nested = type->fields[f].nested;
        bool known = !nested;
        for (size_t i = 0; i < *count && !known; i++)
            known = found[i] == nested;
        if (known)
            continue;
        assert_true(*count < NESTED_MAX);
        found[(*count)++] = nested;
        collect(nested, found, count);
    }
}

static void tables_text(helio_buffer_t *out)
{
    const helio_record_type_t *found[NESTED_MAX];
    size_t count = 0;
    helio_buffer_text(out, "\n### Messages\n\n| number | name | sent by | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < MESSAGES; i++)
        helio_buffer_printf(out, "| %u | [%s](#%s) | %s | %s |\n", messages[i].number, messages[i].name,
                            messages[i].file, messages[i].sender, messages[i].doc);
    helio_buffer_text(out, "\n");
    for (size_t i = 0; i < MESSAGES; i++) {
        helio_buffer_printf(out, "<a id=\"%s\"></a>\n#### %s\n\n", messages[i].file, messages[i].name);
        fields_table(helio_message_type(messages[i].number), out);
        collect(helio_message_type(messages[i].number), found, &count);
    }
    helio_buffer_text(out, "### Values that came later\n\n| record | field | value | since | what is left "
                           "out for older peers |\n"
                           "|---|---|---|---|---|\n");
#define X(record, field, value, word, since, left_out)                                                               \
    helio_buffer_printf(out, "| %s | `%s` | %u (%s) | %d | %s |\n", #record, #field, (unsigned)(value), word, since, \
                        left_out);
    HELIO_WIRE_LATER_TABLE(X)
#undef X
    helio_buffer_text(out, "\n### Records inside messages\n\n");
    for (size_t i = 0; i < count; i++) {
        helio_buffer_printf(out, "#### %s\n\n", found[i]->name);
        fields_table(found[i], out);
    }
}

static void golden__the_protocol_document_has_the_tables_of_the_code(void **state)
{
    (void)state;
    static const char path[] = HELIO_SOURCE_DIR "/docs/protocol.md";
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t document = {0}, tables = {0}, renewed = {0};
    golden_read(path, &document);
    tables_text(&tables);
    const char *begin = strstr(document.data, begin_mark), *end = strstr(document.data, end_mark);
    assert_non_null(begin);
    assert_non_null(end);
    begin += strlen(begin_mark);
    helio_text_t present = {begin, (uint32_t)(end - begin)};
    if (golden_writes()) {
        helio_buffer_append(&renewed, document.data, (size_t)(begin - document.data));
        helio_buffer_append(&renewed, tables.data, tables.size);
        helio_buffer_text(&renewed, end);
        golden_write(path, helio_buffer_view(&renewed));
    } else if (!helio_text_equal(present, helio_buffer_view(&tables))) {
        fail_msg("%s: its tables are not those of the code; HELIO_GOLDEN_WRITE=1 renews them", path);
    }
}

static void golden__the_protocol_document_names_the_constants_of_the_code(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t document = {0};
    golden_read(HELIO_SOURCE_DIR "/docs/protocol.md", &document);
    char texts[4][80];
    (void)snprintf(texts[0], sizeof texts[0], "protocol version %d", HELIO_PROTOCOL_VERSION);
    (void)snprintf(texts[1], sizeof texts[1], "at most %d bytes", HELIO_WIRE_FRAME_MAX);
    (void)snprintf(texts[2], sizeof texts[2], "at most %d items", HELIO_WIRE_BATCH_MAX);
    (void)snprintf(texts[3], sizeof texts[3], "the oldest supported version is %d", HELIO_PROTOCOL_VERSION_MIN);
    for (size_t i = 0; i < 4; i++)
        if (!strstr(document.data, texts[i]))
            fail_msg("docs/protocol.md does not say \"%s\"", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden__every_message_has_exactly_these_bytes),
        cmocka_unit_test(golden__every_frame_decodes_to_its_comment),
        cmocka_unit_test(golden__numbers_are_unique_and_even_ones_go_to_the_agent),
        cmocka_unit_test(golden__the_protocol_document_has_the_tables_of_the_code),
        cmocka_unit_test(golden__the_protocol_document_names_the_constants_of_the_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
