/*  Peers of other versions: what an older one leaves out is read as zero, what a newer one appends is passed over, and
 * neither opens a way around the bounds. An older peer's bytes are made from the descriptions as they were then: the
 * same ones without the fields that came later. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/wire/codec.h"
#include "federation/wire/prescan.h"
#include "tests/unit/federation/wire/sample.h"

static const struct {
    uint32_t number;
    const char *file;
    const helio_record_type_t *type;
} messages[] = {
#define X(number, NAME, record, sender, doc) {number, #record, &helio_msg_##record##_type},
    HELIO_MESSAGE_TABLE(X)
#undef X
};
enum { MESSAGES = sizeof messages / sizeof messages[0], TYPES_MAX = 64 };

static int begin(void **state)
{
    *state = helio_arena_new();
    return 0;
}

static int end(void **state)
{
    helio_arena_t *arena = *state;
    helio_arena_destroy(&arena);
    return 0;
}

/* ---- descriptions of other versions -------------------------------------------------------------------- */

static size_t fields_of(const helio_record_type_t *type, uint32_t version)
{
    size_t count = 0;
    while (count < type->field_count && type->fields[count].since <= version)
        count++;
    return count;
}

/*  As `type`, and in it `target` (NULL: every record) with `count` fields: cut, or followed by its own fields once
 *  more. */
static const helio_record_type_t *changed(const helio_record_type_t *type, const helio_record_type_t *target,
                                          size_t count, helio_arena_t *arena)
{
    helio_record_type_t *copy = helio_arena_alloc(arena, 1, sizeof *copy);
    size_t fields = !target ? fields_of(type, (uint32_t)count) : type == target ? count : type->field_count;
    helio_field_t *items = helio_arena_alloc(arena, fields, sizeof *items);
    for (size_t i = 0; i < fields; i++) {
        items[i] = type->fields[i % type->field_count];
        if (items[i].nested)
            items[i].nested = changed(items[i].nested, target, count, arena);
    }
    *copy = (helio_record_type_t){type->name, type->size, items, fields};
    return copy;
}

/*  helio_wire_pack writes what a description says as long as no field in it is newer than the code. */
static void frame_of(uint32_t number, const helio_record_type_t *type, const void *record, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t packed = {0};
    msgpack_sbuffer head;
    msgpack_packer packer;
    helio_error_t err = {0};
    if (helio_wire_pack(type, record, &packed, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    msgpack_sbuffer_init(&head);
    msgpack_packer_init(&packer, &head, msgpack_sbuffer_write);
    (void)msgpack_pack_array(&packer, 1 + type->field_count);
    (void)msgpack_pack_uint32(&packer, number);
    helio_buffer_append(out, head.data, head.size);
    size_t skip = type->field_count < 16 ? 1 : 3;
    helio_buffer_append(out, packed.data + skip, packed.size - skip);
    msgpack_sbuffer_destroy(&head);
}

static void blank_field(const helio_field_t *field, void *at)
{
    static const size_t sizes[] = {
        [HELIO_KIND_BOOL] = sizeof(bool),
        [HELIO_KIND_I32] = 4,
        [HELIO_KIND_U32] = 4,
        [HELIO_KIND_I64] = 8,
        [HELIO_KIND_U64] = 8,
        [HELIO_KIND_F64] = 8,
        [HELIO_KIND_UUID] = sizeof(helio_uuid_t),
        [HELIO_KIND_KEY] = sizeof(helio_job_key_t),
        [HELIO_KIND_TEXT] = sizeof(helio_text_t),
        [HELIO_KIND_BYTES] = sizeof(helio_text_t),
        [HELIO_KIND_U32S] = sizeof(helio_u32s_t),
        [HELIO_KIND_F64S] = sizeof(helio_f64s_t),
        [HELIO_KIND_LIST] = sizeof(helio_list_t),
    };
    memset(at, 0, field->kind == HELIO_KIND_RECORD ? field->nested->size : sizes[field->kind]);
}

/*  What a reader makes of a record of which `is` has only a prefix of the fields of `type`. */
static void blank(const helio_record_type_t *type, const helio_record_type_t *is, void *record)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const helio_field_t *field = &type->fields[i];
        char *at = (char *)record + field->offset;
        const helio_list_t *list = (const helio_list_t *)(void *)at;
        if (i >= is->field_count)
            blank_field(field, at);
        else if (field->kind == HELIO_KIND_RECORD)
            blank(field->nested, is->fields[i].nested, at);
        else if (field->kind == HELIO_KIND_LIST)
            for (uint32_t n = 0; n < list->count; n++)
                blank(field->nested, is->fields[i].nested, (char *)list->items + n * field->nested->size);
    }
}

/*  All records of a message, itself first. */
static void collect(const helio_record_type_t *type, const helio_record_type_t **found, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (found[i] == type)
            return;
    assert_true(*count < TYPES_MAX);
    found[(*count)++] = type;
    for (size_t f = 0; f < type->field_count; f++)
        if (type->fields[f].nested)
            collect(type->fields[f].nested, found, count);
}

static size_t types_of(const helio_record_type_t *type, const helio_record_type_t *found[TYPES_MAX])
{
    size_t count = 0;
    collect(type, found, &count);
    return count;
}

/*  A record of random values, sent as `is` has it, is read as `expected`. */
static void assert_read(uint32_t number, const helio_record_type_t *is, const void *record, const void *expected,
                        helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    uint32_t got = 0;
    void *back = NULL;
    helio_error_t err = {0};
    frame_of(number, is, record, &frame);
    if (frame.size > HELIO_WIRE_FRAME_MAX)
        return;
    if (helio_wire_decode(helio_buffer_view(&frame), arena, &got, &back, &err) != HELIO_OK)
        fail_msg("%s of %zu fields: %s", is->name, is->field_count, err.text);
    assert_int_equal(got, number);
    if (!helio_record_equal(helio_message_type(number), back, expected))
        fail_msg("%s of %zu fields is read otherwise than it was written", is->name, is->field_count);
}

/* ---- the rule ------------------------------------------------------------------------------------------ */

static void versions__fields_are_appended_in_the_order_of_their_versions(void **state)
{
    (void)state;
    for (size_t m = 0; m < MESSAGES; m++) {
        const helio_record_type_t *found[TYPES_MAX];
        for (size_t t = types_of(messages[m].type, found); t-- > 0;)
            for (size_t f = 0; f < found[t]->field_count; f++) {
                uint32_t since = found[t]->fields[f].since, before = f ? found[t]->fields[f - 1].since : 1;
                if (since < before || since > HELIO_PROTOCOL_VERSION)
                    fail_msg("%s.%s: since %u behind one since %u", found[t]->name, found[t]->fields[f].name, since,
                             before);
            }
    }
}

static void versions__fields_that_an_older_peer_omits_are_read_as_zero(void **state)
{
    helio_rng_t rng = {5};
    uint32_t cuts = 0;
    for (size_t m = 0; m < MESSAGES; m++) {
        const helio_record_type_t *type = messages[m].type, *found[TYPES_MAX];
        for (size_t t = types_of(type, found); t-- > 0;) {
            size_t least = fields_of(found[t], HELIO_PROTOCOL_VERSION_MIN);
            for (size_t count = least; count < found[t]->field_count; count++)
                for (unsigned round = 0; round < 20; round++, cuts++) {
                    helio_arena_reset(*state);
                    const helio_record_type_t *is = changed(type, found[t], count, *state);
                    void *record = helio_arena_alloc(*state, 1, type->size),
                         *expected = helio_arena_alloc(*state, 1, type->size);
                    sample_random(type, &rng, *state, record);
                    helio_record_copy(type, *state, record, expected);
                    blank(type, is, expected);
                    assert_read(messages[m].number, is, record, expected, *state);
                }
        }
    }
    assert_true(cuts > 20 * 3); /* of three records at least: pools' capacity, reports, refusals */
}

static void versions__every_supported_version_is_read(void **state)
{
    helio_rng_t rng = {6};
    for (uint32_t version = HELIO_PROTOCOL_VERSION_MIN; version <= HELIO_PROTOCOL_VERSION; version++)
        for (size_t m = 0; m < MESSAGES; m++)
            for (unsigned round = 0; round < 20; round++) {
                helio_arena_reset(*state);
                const helio_record_type_t *type = messages[m].type, *is = changed(type, NULL, version, *state);
                void *record = helio_arena_alloc(*state, 1, type->size),
                     *expected = helio_arena_alloc(*state, 1, type->size);
                sample_random(type, &rng, *state, record);
                helio_record_copy(type, *state, record, expected);
                blank(type, is, expected);
                assert_read(messages[m].number, is, record, expected, *state);
            }
}

static void versions__fewer_fields_than_the_oldest_version_had_are_refused(void **state)
{
    for (size_t m = 0; m < MESSAGES; m++) {
        const helio_record_type_t *type = messages[m].type, *found[TYPES_MAX];
        for (size_t t = types_of(type, found); t-- > 0;) {
            helio_arena_reset(*state);
            size_t least = fields_of(found[t], HELIO_PROTOCOL_VERSION_MIN);
            const helio_record_type_t *is = changed(type, found[t], least - 1, *state);
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
            void *record = helio_arena_alloc(*state, 1, type->size), *back = NULL;
            uint32_t counter = 0, number = 0;
            helio_error_t err = {0};
            sample_fill(type, *state, &counter, record);
            frame_of(messages[m].number, is, record, &frame);
            assert_int_equal(helio_wire_decode(helio_buffer_view(&frame), *state, &number, &back, &err),
                             HELIO_PROTOCOL);
            char missing[160];
            (void)snprintf(missing, sizeof missing, "%s.%s: is missing", found[t]->name,
                           found[t]->fields[least - 1].name);
            if (!strstr(err.text, missing) && !strstr(err.text, "announces more items than follow"))
                fail_msg("%s: %s", missing, err.text);
        }
    }
}

static void versions__fields_that_a_newer_peer_appends_are_skipped(void **state)
{
    helio_rng_t rng = {7};
    for (size_t m = 0; m < MESSAGES; m++) {
        const helio_record_type_t *type = messages[m].type, *found[TYPES_MAX];
        for (size_t t = types_of(type, found); t-- > 0;)
            for (size_t more = 1; more <= found[t]->field_count; more++) {
                helio_arena_reset(*state);
                /* what is appended has every kind that there is in it */
                const helio_record_type_t *is = changed(type, found[t], found[t]->field_count + more, *state);
                void *record = helio_arena_alloc(*state, 1, type->size);
                sample_random(type, &rng, *state, record);
                assert_read(messages[m].number, is, record, record, *state);
            }
    }
}

/* ---- the bounds ---------------------------------------------------------------------------------------- */

static void versions__skipped_fields_must_keep_the_bounds(void **state)
{
    static const struct {
        const char *extra;
        uint32_t size;
        const char *refused;
    } cases[] = {
        {"\x91\x91\x91\x91\x91\x91\x91\x01", 8, NULL}, /* as deep as is allowed, the frame included */
        {"\x91\x91\x91\x91\x91\x91\x91\x91\x01", 9, "nested deeper"},
        {"\xdd\xff\xff\xff\xff", 5, "more elements are announced than bytes remain"},
        {"\xc6\xff\xff\xff\xff", 5, "truncated"},
        {"\x81\x01\x02", 3, "a map"},
        {"\xd4\x01\x02", 3, "an extension type"},
        {"\xc1", 1, "an invalid tag"},
        {"\x01\x02", 2, "bytes follow the end"},
        {"\xc0", 1, NULL},
        {"\xca\x7f\xc0\x00\x00", 5, NULL}, /* a NaN that nobody looks at */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        uint32_t number = 0;
        void *record = NULL;
        helio_error_t err = {0};
        helio_buffer_append(&frame, "\x93\x08\x05", 3); /* REPORTS_ACK of 5, and one field that is not known */
        helio_buffer_append(&frame, cases[i].extra, cases[i].size);
        helio_rc rc = helio_wire_decode(helio_buffer_view(&frame), *state, &number, &record, &err);
        if (cases[i].refused && (rc != HELIO_PROTOCOL || !strstr(err.text, cases[i].refused)))
            fail_msg("case %zu: %d %s", i, (int)rc, err.text);
        if (!cases[i].refused && (rc != HELIO_OK || ((helio_msg_reports_ack_t *)record)->seq != 5))
            fail_msg("case %zu: %s", i, err.text);
    }
    /* As long as a frame may be, and one byte more. */
    for (uint32_t over = 0; over < 2; over++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
        uint32_t count = HELIO_WIRE_FRAME_MAX - 8 + over, number = 0;
        void *record = NULL;
        char head[] = {'\x93',     '\x08', '\x05', '\xdd', (char)(count >> 24), (char)(count >> 16), (char)(count >> 8),
                       (char)count};
        helio_buffer_append(&frame, head, sizeof head);
        for (uint32_t i = 0; i < count; i++)
            helio_buffer_append(&frame, "", 1);
        assert_int_equal(helio_wire_decode(helio_buffer_view(&frame), *state, &number, &record, NULL),
                         over ? HELIO_PROTOCOL : HELIO_OK);
    }
}

/*  Items take their record's size in memory, so as many bytes of each must be there as the oldest version needs. */
static void versions__short_items_do_not_reserve_memory(void **state)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    uint32_t number = 0;
    void *record = NULL;
    helio_error_t err = {0};
    helio_buffer_append(&frame, "\x92\x07\xdc\x03\xe8", 5); /* REPORTS of 1,000 */
    for (unsigned i = 0; i < 1000; i++)
        helio_buffer_append(&frame, "\x90", 1);
    assert_int_equal(helio_wire_decode(helio_buffer_view(&frame), *state, &number, &record, &err), HELIO_PROTOCOL);
    assert_non_null(strstr(err.text, "announces more items than follow"));
}

static void versions__corrupted_frames_of_other_versions_do_no_harm(void **state)
{
    helio_rng_t rng = {8};
    for (unsigned round = 0; round < 20000; round++) {
        helio_arena_reset(*state);
        size_t m = helio_rng_below(&rng, MESSAGES);
        const helio_record_type_t *type = messages[m].type, *found[TYPES_MAX];
        const helio_record_type_t *target = found[helio_rng_below(&rng, types_of(type, found))];
        size_t least = fields_of(target, HELIO_PROTOCOL_VERSION_MIN), most = 2 * target->field_count;
        const helio_record_type_t *is = changed(type, target, least + helio_rng_below(&rng, most - least), *state);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0}, again = {0};
        void *record = helio_arena_alloc(*state, 1, type->size), *back = NULL;
        uint32_t counter = round, number = 0;
        sample_fill(type, *state, &counter, record);
        frame_of(messages[m].number, is, record, &frame);
        frame.data[helio_rng_below(&rng, frame.size)] ^= (char)(1 + helio_rng_below(&rng, 255));
        uint32_t size = (uint32_t)frame.size - (uint32_t)(round % 4 ? 0 : helio_rng_below(&rng, frame.size));
        helio_error_t err;
        helio_rc rc = helio_wire_decode((helio_text_t){frame.data, size}, *state, &number, &back, &err);
        if (rc == HELIO_OK) /* then it is within its tables */
            assert_int_equal(helio_wire_encode(number, back, &again, &err), HELIO_OK);
        else
            assert_true(rc == HELIO_PROTOCOL || rc == HELIO_VERSION);
    }
}

/* ---- agreeing ------------------------------------------------------------------------------------------ */

static void versions__the_newest_common_version_is_used(void **state)
{
    (void)state;
    enum { NOW = HELIO_PROTOCOL_VERSION, OLDEST = HELIO_PROTOCOL_VERSION_MIN };
    static const struct {
        uint32_t least, most, agreed;
    } cases[] = {
        {OLDEST, NOW, NOW},       {NOW, NOW, NOW},
        {OLDEST, OLDEST, OLDEST}, {NOW, NOW + 40, NOW},
        {0, UINT32_MAX, NOW},     {NOW + 1, NOW + 40, 0},
        {0, OLDEST - 1, 0},       {0, 0, 0},
        {NOW, OLDEST, 0},         {UINT32_MAX, UINT32_MAX, 0},
        {UINT32_MAX, 0, 0},       {0, OLDEST, OLDEST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (helio_protocol_agreed(cases[i].least, cases[i].most) != cases[i].agreed)
            fail_msg("%u to %u: %u", cases[i].least, cases[i].most,
                     helio_protocol_agreed(cases[i].least, cases[i].most));
}

static void versions__a_hello_gives_its_versions_even_if_the_rest_is_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t size;
        bool told;
    } cases[] = {
        {"\x94\x01\x29\x25\xa3new", 8, true},
        {"\x93\x01\x29\x25", 4, true},
        {"\x93\x01\x29\xff", 4, false},
        {"\x92\x01\x29", 3, false},
        {"\x93\x02\x29\x25", 4, false},
        {"\x93\x01\x29\xc0", 4, false},
        {"\x93\x01\x29", 3, false},
        {"\x94\x01\x29\x25\x81\x01\x02", 7, false},
        {"", 0, false},
        {"\x93\x01\xcf\0\0\0\x01\0\0\0\0\x25", 12, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t least = 0, most = 0;
        if (helio_wire_hello_versions((helio_text_t){cases[i].bytes, cases[i].size}, &least, &most) != cases[i].told)
            fail_msg("case %zu", i);
        if (cases[i].told)
            assert_true(least == 37 && most == 41);
    }
}

static void versions__later_values_have_their_version(void **state)
{
    (void)state;
    assert_int_equal(helio_wire_value_since(&helio_series_type, "signal", HELIO_SIGNAL_RESERVED), 3);
    for (uint32_t signal = 0; signal < HELIO_SIGNAL_RESERVED; signal++)
        assert_int_equal(helio_wire_value_since(&helio_series_type, "signal", signal), 1);
}

/* ---- what older builds wrote --------------------------------------------------------------------------- */

static void read_vector(const char *path, helio_buffer_t *ret_frame, helio_buffer_t *ret_text)
{
    char line[4096];
    unsigned value;
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s: cannot be read", path);
    for (int at = 0; fgets(line, sizeof line, file); at++) {
        line[strcspn(line, "\n")] = '\0';
        if (at == 1)
            helio_buffer_text(ret_text, line + 2);
        for (const char *hex = line; line[0] != '#' && sscanf(hex, "%2x", &value) == 1; hex += 2) {
            char byte = (char)value;
            helio_buffer_append(ret_frame, &byte, 1);
        }
    }
    (void)fclose(file);
}

/*  Takes `,"field":0` (or [], "") out of a dump: what that version did not have. */
static void take_out(char *dump, const char *name)
{
    static const char *const zeros[] = {"0", "[]", "\"\"", "false", "\"00000000000000000000000000\""};
    for (size_t z = 0; z < sizeof zeros / sizeof zeros[0]; z++) {
        char text[96], *at;
        (void)snprintf(text, sizeof text, ",\"%s\":%s", name, zeros[z]);
        size_t size = strlen(text);
        for (at = dump; (at = strstr(at, text));)
            if (at[size] == ',' || at[size] == '}')
                memmove(at, at + size, strlen(at + size) + 1);
            else
                at++;
    }
}

static bool is_of_a_channel(uint32_t message)
{
    return strncmp(helio_message_name(message), "CHANNEL_", 8) == 0;
}

/*  version-N holds what a build of that version wrote of its messages, and what it said was in them. */
static void versions__frames_of_older_builds_keep_their_meaning(void **state)
{
    for (uint32_t version = HELIO_PROTOCOL_VERSION_MIN; version < HELIO_PROTOCOL_VERSION; version++)
        for (size_t m = 0; m < MESSAGES; m++) {
            char path[512];
            if ((messages[m].number == HELIO_MSG_DEMAND && version < 7) ||
                (messages[m].number == HELIO_MSG_SIGNALS && version < 8) ||
                (is_of_a_channel(messages[m].number) && version < 10))
                continue; /* no build of that version knew it */
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0}, text = {0}, dump = {0};
            uint32_t number = 0;
            void *record = NULL;
            helio_error_t err = {0};
            (void)snprintf(path, sizeof path, HELIO_SOURCE_DIR "/tests/golden/wire/version-%u/%s.hex", version,
                           messages[m].file);
            read_vector(path, &frame, &text);
            assert_true(frame.size > 1);
            if (helio_wire_decode(helio_buffer_view(&frame), *state, &number, &record, &err) != HELIO_OK)
                fail_msg("%s: %s", path, err.text);
            assert_int_equal(number, messages[m].number);
            helio_wire_dump(messages[m].type, record, &dump);
            const helio_record_type_t *found[TYPES_MAX];
            for (size_t t = types_of(messages[m].type, found); t-- > 0;)
                for (size_t f = fields_of(found[t], version); f < found[t]->field_count; f++)
                    take_out(dump.data, found[t]->fields[f].name);
            assert_string_equal(dump.data, text.data);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(versions__fields_are_appended_in_the_order_of_their_versions),
        TEST(versions__fields_that_an_older_peer_omits_are_read_as_zero),
        TEST(versions__every_supported_version_is_read),
        TEST(versions__fewer_fields_than_the_oldest_version_had_are_refused),
        TEST(versions__fields_that_a_newer_peer_appends_are_skipped),
        TEST(versions__skipped_fields_must_keep_the_bounds),
        TEST(versions__short_items_do_not_reserve_memory),
        TEST(versions__corrupted_frames_of_other_versions_do_no_harm),
        TEST(versions__the_newest_common_version_is_used),
        TEST(versions__a_hello_gives_its_versions_even_if_the_rest_is_unknown),
        TEST(versions__later_values_have_their_version),
        TEST(versions__frames_of_older_builds_keep_their_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
