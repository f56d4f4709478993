/*  decode.c -- the decoding half of codec.h: a cursor over bytes that the pre-scan has accepted.
 *
 *  After the pre-scan every head and every payload is known to be complete. The cursor therefore does not check for the
 *  end, only whether each element matches the description. msgpack-c's unpacker would first build a tree of objects;
 *  the tests use it as an independent reference instead.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "federation/base/utf8.h"
#include "federation/wire/codec.h"
#include "federation/wire/messages.h"
#include "federation/wire/prescan.h"

enum { KEY_BYTES = 20, UUID_BYTES = 16 };

typedef struct reader {
    const unsigned char *at;
    const unsigned char *end;
    helio_arena_t *arena;
    helio_error_t *err;
    const helio_record_type_t *type; /* for errors: the innermost record and field */
    const helio_field_t *field;
} reader_t;

static helio_rc refuse(const reader_t *self, const char *what)
{
    return helio_fail(self->err, HELIO_PROTOCOL, "%s.%s: %s", self->type->name, self->field->name, what);
}

static uint64_t take_be(reader_t *self, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | self->at[i];
    self->at += size;
    return value;
}

/*  An integer of any form, as sign and 64 bits in two's complement. False, and nothing is consumed, for anything
 *  else. */
static bool take_int(reader_t *self, bool *ret_negative, uint64_t *ret_bits)
{
    unsigned tag = self->at[0];
    if (tag <= 0x7f || tag >= 0xe0) {
        self->at++;
        *ret_negative = tag >= 0xe0;
        *ret_bits = tag <= 0x7f ? tag : (uint64_t)(int64_t)(int8_t)tag;
        return true;
    }
    if (tag < 0xcc || tag > 0xd3)
        return false;
    unsigned size = 1u << ((tag - 0xcc) & 3);
    self->at++;
    uint64_t bits = take_be(self, size);
    *ret_negative = tag >= 0xd0 && bits >> (8 * size - 1);
    if (*ret_negative && size < 8)
        bits |= ~UINT64_C(0) << (8 * size);
    *ret_bits = bits;
    return true;
}

static bool take_array(reader_t *self, uint32_t *ret_count)
{
    unsigned tag = self->at[0];
    if (tag >= 0x90 && tag <= 0x9f) {
        self->at++;
        *ret_count = tag & 0x0f;
    } else if (tag == 0xdc || tag == 0xdd) {
        self->at++;
        *ret_count = (uint32_t)take_be(self, tag == 0xdc ? 2 : 4);
    } else {
        return false;
    }
    return true;
}

/*  str (text) or bin: a view into the frame. */
static bool take_run(reader_t *self, bool text, helio_text_t *ret_view)
{
    unsigned tag = self->at[0], first = text ? 0xd9 : 0xc4;
    uint32_t size;
    if (text && tag >= 0xa0 && tag <= 0xbf) {
        self->at++;
        size = tag & 0x1f;
    } else if (tag >= first && tag < first + 3) {
        self->at++;
        size = (uint32_t)take_be(self, 1u << (tag - first));
    } else {
        return false;
    }
    *ret_view = (helio_text_t){(const char *)self->at, size};
    self->at += size;
    return true;
}

static void skip_one(reader_t *self)
{
    uint64_t todo = 1;
    while (todo--) {
        helio_text_t view;
        uint32_t count;
        uint64_t bits;
        bool negative;
        unsigned tag = self->at[0];
        if (take_array(self, &count))
            todo += count;
        else if (!take_run(self, true, &view) && !take_run(self, false, &view) && !take_int(self, &negative, &bits))
            self->at += tag == 0xca ? 5 : tag == 0xcb ? 9 : 1; /* floats; nil, false, true */
    }
}

static helio_rc read_u64(reader_t *self, uint64_t max, uint64_t *ret_value)
{
    bool negative;
    uint64_t bits;
    if (!take_int(self, &negative, &bits))
        return refuse(self, "is not an integer");
    if (negative || bits > max)
        return refuse(self, "is out of range");
    *ret_value = bits;
    return HELIO_OK;
}

static helio_rc read_i64(reader_t *self, int64_t min, int64_t max, int64_t *ret_value)
{
    bool negative;
    uint64_t bits;
    if (!take_int(self, &negative, &bits))
        return refuse(self, "is not an integer");
    if ((!negative && bits > INT64_MAX) || (int64_t)bits < min || (int64_t)bits > max)
        return refuse(self, "is out of range");
    *ret_value = (int64_t)bits;
    return HELIO_OK;
}

static helio_rc read_f64(reader_t *self, double *ret_value)
{
    if (self->at[0] != 0xcb)
        return refuse(self, "is not a float 64");
    self->at++;
    uint64_t bits = take_be(self, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        return refuse(self, "is not a finite number");
    *ret_value = value;
    return HELIO_OK;
}

static helio_rc read_id(reader_t *self, void *at)
{
    helio_text_t view;
    bool key = self->field->kind == HELIO_KIND_KEY;
    if (!take_run(self, false, &view) || view.size != (key ? KEY_BYTES : UUID_BYTES))
        return refuse(self, key ? "is not a bin of 20 bytes" : "is not a bin of 16 bytes");
    memcpy(at, view.data, UUID_BYTES);
    if (key) {
        const unsigned char *task = (const unsigned char *)view.data + UUID_BYTES;
        helio_job_key_t *into = at;
        into->task = (int32_t)((uint32_t)task[0] << 24 | (uint32_t)task[1] << 16 | (uint32_t)task[2] << 8 | task[3]);
    }
    return HELIO_OK;
}

static helio_rc read_text(reader_t *self, helio_text_t *ret_text)
{
    bool text = self->field->kind == HELIO_KIND_TEXT;
    helio_text_t view;
    if (!take_run(self, text, &view))
        return refuse(self, text ? "is not a str" : "is not a bin");
    if (self->field->bound && view.size > self->field->bound)
        return refuse(self, "is longer than its bound");
    if (text && !helio_utf8_is_text(view))
        return refuse(self, "is not UTF-8 without NUL");
    *ret_text = view;
    return HELIO_OK;
}

static helio_rc read_record(reader_t *self, const helio_record_type_t *type, char *record);

static helio_rc read_list(reader_t *self, helio_list_t *ret_list)
{
    const helio_field_t *field = self->field;
    size_t size = field->kind == HELIO_KIND_U32S   ? sizeof(uint32_t)
                  : field->kind == HELIO_KIND_F64S ? sizeof(double)
                                                   : field->nested->size;
    size_t least = field->kind == HELIO_KIND_U32S   ? 1
                   : field->kind == HELIO_KIND_F64S ? 9
                                                    : 1 + helio_wire_fields(field->nested, HELIO_PROTOCOL_VERSION_MIN);
    uint32_t count;
    if (!take_array(self, &count))
        return refuse(self, "is not an array");
    if (field->bound && count > field->bound)
        return refuse(self, "has more items than its bound");
    /* Allocate only for items that can really follow: a short message must not reserve much memory. */
    if (count > (size_t)(self->end - self->at) / least)
        return refuse(self, "announces more items than follow");
    char *items = count ? helio_arena_alloc(self->arena, count, size) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        helio_rc rc;
        if (field->kind == HELIO_KIND_U32S) {
            uint64_t value;
            if (!(rc = read_u64(self, UINT32_MAX, &value)))
                ((uint32_t *)(void *)items)[i] = (uint32_t)value;
        } else if (field->kind == HELIO_KIND_F64S) {
            rc = read_f64(self, (double *)(void *)items + i);
        } else {
            rc = read_record(self, field->nested, items + i * size);
        }
        if (rc)
            return rc;
    }
    *ret_list = (helio_list_t){items, count};
    return HELIO_OK;
}

static helio_rc read_field(reader_t *self, void *at)
{
    helio_rc rc;
    uint64_t u64;
    int64_t i64;
    switch (self->field->kind) {
    case HELIO_KIND_BOOL:
        if ((self->at[0] & 0xfe) != 0xc2)
            return refuse(self, "is not a bool");
        *(bool *)at = *self->at++ & 1;
        return HELIO_OK;
    case HELIO_KIND_I32:
        if (!(rc = read_i64(self, INT32_MIN, INT32_MAX, &i64)))
            *(int32_t *)at = (int32_t)i64;
        return rc;
    case HELIO_KIND_U32: {
        uint64_t bound = self->field->bound;
        if (!(rc = read_u64(self, bound && bound < UINT32_MAX ? bound : UINT32_MAX, &u64)))
            *(uint32_t *)at = (uint32_t)u64;
        return rc;
    }
    case HELIO_KIND_I64:
        return read_i64(self, INT64_MIN, INT64_MAX, at);
    case HELIO_KIND_U64:
        return read_u64(self, UINT64_MAX, at);
    case HELIO_KIND_F64:
        return read_f64(self, at);
    case HELIO_KIND_UUID:
    case HELIO_KIND_KEY:
        return read_id(self, at);
    case HELIO_KIND_TEXT:
    case HELIO_KIND_BYTES:
        return read_text(self, at);
    case HELIO_KIND_U32S:
    case HELIO_KIND_F64S:
    case HELIO_KIND_LIST:
        return read_list(self, at);
    case HELIO_KIND_RECORD:
        return read_record(self, self->field->nested, at);
    }
    assert(false);
    return HELIO_PROTOCOL;
}

/*  `present` fields follow. If the description has more, the writer is older: the missing fields stay zero, as
 *  `record` is. If it has fewer, the writer is newer. */
static helio_rc read_fields(reader_t *self, const helio_record_type_t *type, uint32_t present, char *record)
{
    size_t fields = helio_wire_fields(type, HELIO_PROTOCOL_VERSION), known = present < fields ? present : fields;
    if (present < helio_wire_fields(type, HELIO_PROTOCOL_VERSION_MIN))
        return helio_fail(self->err, HELIO_PROTOCOL, "%s.%s: is missing (%u of %zu fields)", type->name,
                          type->fields[present].name, present, fields);
    for (size_t i = 0; i < known; i++) {
        self->type = type;
        self->field = &type->fields[i];
        helio_rc rc = read_field(self, record + self->field->offset);
        if (rc)
            return rc;
    }
    for (size_t i = known; i < present; i++)
        skip_one(self);
    return HELIO_OK;
}

/*  A list calls this for each item and then continues with its own field, so the position for errors is restored. */
static helio_rc read_record(reader_t *self, const helio_record_type_t *type, char *record)
{
    const helio_record_type_t *outer_type = self->type;
    const helio_field_t *outer_field = self->field;
    uint32_t present;
    if (!take_array(self, &present))
        return refuse(self, "is not an array");
    helio_rc rc = read_fields(self, type, present, record);
    self->type = outer_type;
    self->field = outer_field;
    return rc;
}

static reader_t reader_of(helio_text_t bytes, helio_arena_t *arena, helio_error_t *err)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    return (reader_t){.at = data, .end = data + bytes.size, .arena = arena, .err = err};
}

helio_rc helio_wire_unpack(const helio_record_type_t *type, helio_text_t bytes, helio_arena_t *arena, void *ret_record,
                           helio_error_t *err)
{
    helio_rc rc = helio_wire_prescan(bytes, HELIO_WIRE_ELEMENTS_MAX, err);
    if (rc)
        return rc;
    reader_t reader = reader_of(bytes, arena, err);
    char *record = helio_arena_alloc(arena, 1, type->size);
    uint32_t present = 0;
    bool array = take_array(&reader, &present);
    assert(array); /* the pre-scan has seen it */
    rc = read_fields(&reader, type, present, record);
    if (!rc)
        memcpy(ret_record, record, type->size);
    return rc;
}

bool helio_wire_hello_versions(helio_text_t frame, uint32_t *ret_least, uint32_t *ret_most)
{
    if (frame.size > HELIO_WIRE_FRAME_MAX || helio_wire_prescan(frame, HELIO_WIRE_ELEMENTS_MAX, NULL) != HELIO_OK)
        return false;
    reader_t reader = reader_of(frame, NULL, NULL);
    uint32_t present = 0;
    bool negative[3] = {false, false, false}, array = take_array(&reader, &present);
    uint64_t values[3] = {0, 0, 0}; /* the message, its newest and its oldest version */
    assert(array);
    (void)array;
    for (uint32_t i = 0; i < 3; i++)
        if (present <= i || !take_int(&reader, &negative[i], &values[i]) || negative[i] || values[i] > UINT32_MAX)
            return false;
    if (values[0] != HELIO_MSG_HELLO)
        return false;
    *ret_most = (uint32_t)values[1];
    *ret_least = (uint32_t)values[2];
    return true;
}

helio_rc helio_wire_decode(helio_text_t frame, helio_arena_t *arena, uint32_t *ret_message, void **ret_record,
                           helio_error_t *err)
{
    if (frame.size > HELIO_WIRE_FRAME_MAX)
        return helio_fail(err, HELIO_PROTOCOL, "the frame has %u bytes, at most %d are allowed", frame.size,
                          HELIO_WIRE_FRAME_MAX);
    helio_rc rc = helio_wire_prescan(frame, HELIO_WIRE_ELEMENTS_MAX, err);
    if (rc)
        return rc;
    reader_t reader = reader_of(frame, arena, err);
    uint32_t present = 0;
    bool negative = false, array = take_array(&reader, &present);
    uint64_t number = 0;
    assert(array);
    if (!present || !take_int(&reader, &negative, &number) || negative || number > UINT32_MAX)
        return helio_fail(err, HELIO_PROTOCOL, "the frame does not begin with a message number");
    const helio_record_type_t *type = helio_message_type((uint32_t)number);
    if (!type) {
        *ret_message = (uint32_t)number;
        return helio_fail(err, HELIO_VERSION, "unknown message number %u", (uint32_t)number);
    }
    char *record = helio_arena_alloc(arena, 1, type->size);
    if ((rc = read_fields(&reader, type, present - 1, record)))
        return rc;
    *ret_message = (uint32_t)number;
    *ret_record = record;
    return HELIO_OK;
}
