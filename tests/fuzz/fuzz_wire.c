/*  fuzz_wire.c -- any bytes as a frame. What the pre-scan accepts msgpack-c must decode to the last byte;
 * what the codec accepts must encode again, and to a record that equals the first. */
#include <assert.h>
#include <msgpack.h>

#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "federation/wire/prescan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void witness(const uint8_t *data, size_t size)
{
    msgpack_unpacked unpacked;
    size_t offset = 0;
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return got = msgpack_unpack_next(&unpacked, (const char *)data, size, &offset);
    assert(got == MSGPACK_UNPACK_SUCCESS && offset == size);
    msgpack_unpacked_destroy(&unpacked);
}

static void round_trip(helio_text_t frame, helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t again = {0}, dump = {0};
    uint32_t number = 0, number_again = 0;
    void *record = NULL, *record_again = NULL;
    uint32_t least, most;
    (void)helio_wire_hello_versions(frame, &least, &most);
    helio_error_t err;
    if (helio_wire_decode(frame, arena, &number, &record, &err))
        return;
    const helio_record_type_t *type = helio_message_type(number);
    helio_rc rc = helio_wire_encode(number, record, &again, &err);
    if (rc == HELIO_TOO_BIG && frame.size > HELIO_WIRE_FRAME_MAX - 4096)
        return; /* an older peer's, to which what it left out is added */
    assert(!rc);
    rc = helio_wire_decode(helio_buffer_view(&again), arena, &number_again, &record_again, &err);
    assert(!rc && number == number_again && helio_record_equal(type, record, record_again));
    helio_wire_dump(type, record, &dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > HELIO_WIRE_FRAME_MAX)
        return 0;
    helio_text_t frame = {(const char *)data, (uint32_t)size};
    helio_arena_t *arena = helio_arena_new();
    if (!helio_wire_prescan(frame, HELIO_WIRE_ELEMENTS_MAX, NULL))
        witness(data, size);
    round_trip(frame, arena);
    helio_arena_destroy(&arena);
    return 0;
}
