/*  Properties that hold for any record of any type, and for any bytes. msgpack-c's own unpacker is the
 * witness that what is written is msgpack with these values, independent of the reader in the codec. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <msgpack.h>

#include "federation/model/job.h"
#include "federation/wire/codec.h"
#include "tests/unit/federation/wire/sample.h"

static const helio_record_type_t *const types[] = {
#define X(number, NAME, record, sender, doc) &helio_msg_##record##_type,
    HELIO_MESSAGE_TABLE(X)
#undef X
        & helio_job_spec_type,
};
enum { TYPES = sizeof types / sizeof types[0] };

static void *random_record(const helio_record_type_t *type, helio_rng_t *rng, helio_arena_t *arena)
{
    void *record = helio_arena_alloc(arena, 1, type->size);
    sample_random(type, rng, arena, record);
    return record;
}

static void random__records_round_trip_and_encode_to_the_same_bytes_again(void **state)
{
    (void)state;
    helio_rng_t rng = {1};
    helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0}, again = {0};
    for (unsigned round = 0; round < 400; round++)
        for (unsigned t = 0; t < TYPES; t++) {
            helio_arena_reset(arena);
            helio_buffer_reset(&out);
            helio_buffer_reset(&again);
            helio_error_t err = {0};
            void *record = random_record(types[t], &rng, arena), *back = helio_arena_alloc(arena, 1, types[t]->size);
            if (helio_wire_pack(types[t], record, &out, &err) ||
                helio_wire_unpack(types[t], helio_buffer_view(&out), arena, back, &err))
                fail_msg("%s, round %u: %s", types[t]->name, round, err.text);
            assert_true(helio_record_equal(types[t], record, back));
            assert_int_equal(helio_wire_pack(types[t], back, &again, NULL), HELIO_OK);
            assert_int_equal(out.size, again.size);
            assert_memory_equal(out.data, again.data, out.size);
        }
    helio_arena_destroy(&arena);
}

static bool object_is_run(const msgpack_object *object, msgpack_object_type type, const void *bytes, size_t size)
{
    /* str and bin have the same layout in the union */
    return object->type == type && object->via.bin.size == size &&
           (!size || memcmp(object->via.bin.ptr, bytes, size) == 0);
}

static bool object_is_int(const msgpack_object *object, bool negative, uint64_t bits)
{
    return negative ? object->type == MSGPACK_OBJECT_NEGATIVE_INTEGER && object->via.i64 == (int64_t)bits
                    : object->type == MSGPACK_OBJECT_POSITIVE_INTEGER && object->via.u64 == bits;
}

static bool object_is_record(const msgpack_object *object, const helio_record_type_t *type, const void *record);

static bool object_is_field(const msgpack_object *object, const helio_field_t *field, const void *at)
{
    const helio_text_t *text = at;
    const helio_list_t *list = at;
    switch (field->kind) {
    case HELIO_KIND_BOOL:
        return object->type == MSGPACK_OBJECT_BOOLEAN && object->via.boolean == *(const bool *)at;
    case HELIO_KIND_I32:
        return object_is_int(object, *(const int32_t *)at < 0, (uint64_t)(int64_t) * (const int32_t *)at);
    case HELIO_KIND_U32:
        return object_is_int(object, false, *(const uint32_t *)at);
    case HELIO_KIND_I64:
        return object_is_int(object, *(const int64_t *)at < 0, (uint64_t) * (const int64_t *)at);
    case HELIO_KIND_U64:
        return object_is_int(object, false, *(const uint64_t *)at);
    case HELIO_KIND_F64:
        return object->type == MSGPACK_OBJECT_FLOAT64 && memcmp(&object->via.f64, at, 8) == 0;
    case HELIO_KIND_UUID:
        return object_is_run(object, MSGPACK_OBJECT_BIN, at, 16);
    case HELIO_KIND_KEY:
        return object->type == MSGPACK_OBJECT_BIN && object->via.bin.size == 20 &&
               memcmp(object->via.bin.ptr, at, 16) == 0;
    case HELIO_KIND_TEXT:
        return object_is_run(object, MSGPACK_OBJECT_STR, text->data, text->size);
    case HELIO_KIND_BYTES:
        return object_is_run(object, MSGPACK_OBJECT_BIN, text->data, text->size);
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        if (object->type != MSGPACK_OBJECT_ARRAY || object->via.array.size != list->count)
            return false;
        for (uint32_t i = 0; i < list->count; i++) {
            const msgpack_object *item = &object->via.array.ptr[i];
            const char *value = (const char *)list->items + i * sample_item_size(field);
            if (field->kind == HELIO_KIND_U32S ? !object_is_int(item, false, ((const uint32_t *)list->items)[i])
                : field->kind == HELIO_KIND_F64S
                    ? item->type != MSGPACK_OBJECT_FLOAT64 || memcmp(&item->via.f64, value, 8) != 0
                    : !object_is_record(item, field->nested, value))
                return false;
        }
        return true;
    case HELIO_KIND_RECORD:
        return object_is_record(object, field->nested, at);
    }
    return false;
}

static bool object_is_record(const msgpack_object *object, const helio_record_type_t *type, const void *record)
{
    if (object->type != MSGPACK_OBJECT_ARRAY || object->via.array.size != type->field_count)
        return false;
    for (size_t i = 0; i < type->field_count; i++)
        if (!object_is_field(&object->via.array.ptr[i], &type->fields[i],
                             (const char *)record + type->fields[i].offset))
            return false;
    return true;
}

static void random__msgpack_c_reads_the_same_values(void **state)
{
    (void)state;
    helio_rng_t rng = {2};
    helio_arena_t *arena = helio_arena_new();
    for (unsigned round = 0; round < 100; round++)
        for (unsigned t = 0; t < TYPES; t++) {
            helio_arena_reset(arena);
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
            void *record = random_record(types[t], &rng, arena);
            assert_int_equal(helio_wire_pack(types[t], record, &out, NULL), HELIO_OK);
            msgpack_unpacked unpacked;
            msgpack_unpacked_init(&unpacked);
            size_t offset = 0;
            assert_int_equal(msgpack_unpack_next(&unpacked, out.data, out.size, &offset), MSGPACK_UNPACK_SUCCESS);
            assert_int_equal(offset, out.size);
            assert_true(object_is_record(&unpacked.data, types[t], record));
            msgpack_unpacked_destroy(&unpacked);
        }
    helio_arena_destroy(&arena);
}

/*  Decodes an exact heap copy; whatever is accepted must encode again. */
static bool survives(const helio_record_type_t *type, const char *bytes, size_t size, helio_arena_t *arena)
{
    char *copy = helio_grow(NULL, size, 1);
    memcpy(copy, bytes, size);
    void *back = helio_arena_alloc(arena, 1, type->size);
    helio_error_t err = {0};
    helio_rc rc = helio_wire_unpack(type, (helio_text_t){copy, (uint32_t)size}, arena, back, &err);
    if (rc) {
        assert_int_equal(rc, HELIO_PROTOCOL);
        assert_true(err.text[0] != '\0');
    } else {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t again = {0};
        assert_int_equal(helio_wire_pack(type, back, &again, NULL), HELIO_OK);
    }
    free(copy);
    return !rc;
}

static void random__every_truncation_is_refused(void **state)
{
    (void)state;
    helio_rng_t rng = {3};
    helio_arena_t *arena = helio_arena_new();
    for (unsigned t = 0; t < TYPES; t++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_arena_reset(arena);
        void *record = random_record(types[t], &rng, arena);
        assert_int_equal(helio_wire_pack(types[t], record, &out, NULL), HELIO_OK);
        for (size_t size = 0; size < out.size && size < 3000; size++) {
            helio_arena_reset(arena);
            assert_false(survives(types[t], out.data, size, arena));
        }
    }
    helio_arena_destroy(&arena);
}

static void random__a_corrupted_byte_gives_an_error_or_a_valid_record(void **state)
{
    (void)state;
    helio_rng_t rng = {4};
    helio_arena_t *arena = helio_arena_new();
    unsigned accepted = 0, refused = 0;
    for (unsigned round = 0; round < 100000;) {
        const helio_record_type_t *type = types[helio_rng_below(&rng, TYPES)];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_arena_reset(arena);
        void *record = random_record(type, &rng, arena);
        assert_int_equal(helio_wire_pack(type, record, &out, NULL), HELIO_OK);
        for (unsigned i = 0; i < 100 && out.size < 4000; i++, round++) {
            size_t at = helio_rng_below(&rng, helio_rng_below(&rng, 2) ? out.size : out.size < 24 ? out.size : 24);
            char saved = out.data[at];
            out.data[at] = (char)helio_rng_next(&rng);
            helio_arena_reset(arena);
            survives(type, out.data, out.size, arena) ? accepted++ : refused++;
            out.data[at] = saved;
        }
    }
    assert_true(accepted > 1000);
    assert_true(refused > 1000);
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__records_round_trip_and_encode_to_the_same_bytes_again),
        cmocka_unit_test(random__msgpack_c_reads_the_same_values),
        cmocka_unit_test(random__every_truncation_is_refused),
        cmocka_unit_test(random__a_corrupted_byte_gives_an_error_or_a_valid_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
