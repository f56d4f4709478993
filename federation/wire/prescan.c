/*  prescan.c -- walks msgpack without decoding it, and checks its bounds. */
#include "federation/wire/prescan.h"

#include <stdbool.h>

/*  The head of an element: the number of value bytes or of elements that follow. */
typedef struct head {
    uint64_t payload;
    uint32_t children;
    uint32_t size; /* of the head itself */
    bool array;
    const char *refused; /* why this element is never allowed */
} head_t;

static uint64_t big_endian(const unsigned char *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | at[i];
    return value;
}

/*  Heads with a length in 1, 2 or 4 bytes after the tag. False if those bytes are missing. */
static bool sized(head_t *head, const unsigned char *at, uint64_t left, unsigned bytes)
{
    if (left < 1 + bytes)
        return false;
    head->size = 1 + bytes;
    head->payload = big_endian(at + 1, bytes);
    return true;
}

/*  False if the head itself is truncated. left >= 1. */
static bool read_head(head_t *head, const unsigned char *at, uint64_t left)
{
    unsigned tag = at[0];
    *head = (head_t){.size = 1};
    if (tag <= 0x7f || tag >= 0xe0)
        return true;
    if (tag <= 0x8f || tag == 0xde || tag == 0xdf) {
        head->refused = "a map";
    } else if (tag <= 0x9f) {
        head->array = true;
        head->children = tag & 0x0f;
    } else if (tag <= 0xbf) {
        head->payload = tag & 0x1f;
    } else if (tag == 0xc1) {
        head->refused = "an invalid tag";
    } else if (tag >= 0xc4 && tag <= 0xc6) { /* bin */
        return sized(head, at, left, 1u << (tag - 0xc4));
    } else if ((tag >= 0xc7 && tag <= 0xc9) || (tag >= 0xd4 && tag <= 0xd8)) {
        head->refused = "an extension type";
    } else if (tag == 0xca || tag == 0xcb) { /* float */
        head->payload = tag == 0xca ? 4 : 8;
    } else if (tag >= 0xcc && tag <= 0xd3) { /* uint, int */
        head->payload = 1u << ((tag - 0xcc) & 3);
    } else if (tag >= 0xd9 && tag <= 0xdb) { /* str */
        return sized(head, at, left, 1u << (tag - 0xd9));
    } else if (tag == 0xdc || tag == 0xdd) {
        if (!sized(head, at, left, tag == 0xdc ? 2 : 4))
            return false;
        head->array = true;
        head->children = (uint32_t)head->payload;
        head->payload = 0;
    }
    return true; /* also nil, false, true */
}

helio_rc helio_wire_prescan(helio_text_t bytes, uint32_t elements_max, helio_error_t *err)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    uint32_t remaining[HELIO_WIRE_DEPTH_MAX]; /* elements still to come of each open array */
    unsigned depth = 0;
    uint64_t pending = 1, seen = 0, at = 0; /* pending: announced at all depths and not yet read */

    while (pending) {
        head_t head;
        uint64_t left = bytes.size - at;
        if (!left || !read_head(&head, data + at, left) || head.payload > left - head.size)
            return helio_fail(err, HELIO_PROTOCOL, "the message is truncated in the element at byte %llu of %u",
                              (unsigned long long)at, bytes.size);
        if (head.refused)
            return helio_fail(err, HELIO_PROTOCOL, "%s at byte %llu: messages are arrays of plain values", head.refused,
                              (unsigned long long)at);
        if (!at && !head.array)
            return helio_fail(err, HELIO_PROTOCOL, "the message is not an array");
        if (++seen > elements_max)
            return helio_fail(err, HELIO_PROTOCOL, "the message has more than %u elements", elements_max);
        left -= head.size + head.payload;
        pending += head.children;
        pending--;
        /* Every element takes at least one byte, so an announced gigabyte is refused immediately. */
        if (pending > left)
            return helio_fail(err, HELIO_PROTOCOL, "after byte %llu more elements are announced than bytes remain",
                              (unsigned long long)at);
        if (depth)
            remaining[depth - 1]--;
        if (head.array && depth == HELIO_WIRE_DEPTH_MAX)
            return helio_fail(err, HELIO_PROTOCOL, "arrays are nested deeper than %d at byte %llu",
                              HELIO_WIRE_DEPTH_MAX, (unsigned long long)at);
        if (head.array)
            remaining[depth++] = head.children;
        while (depth && !remaining[depth - 1])
            depth--;
        at += head.size + head.payload;
    }
    if (at != bytes.size)
        return helio_fail(err, HELIO_PROTOCOL, "%llu bytes follow the end of the message",
                          (unsigned long long)(bytes.size - at));
    return HELIO_OK;
}
