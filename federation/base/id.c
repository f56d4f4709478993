/*  id.c -- UUIDs and job keys: creation, text forms, hashing. */
#include "federation/base/char.h"
#include "federation/base/id.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 helio_u128_t;

static const char crockford[] = "0123456789abcdefghjkmnpqrstvwxyz";

helio_uuid_t helio_uuid_v7(int64_t wall_ms, const uint8_t random[10])
{
    helio_uuid_t id;
    uint64_t ms = (uint64_t)wall_ms;
    for (int i = 0; i < 6; i++)
        id.bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    memcpy(id.bytes + 6, random, 10);
    id.bytes[6] = (uint8_t)(0x70 | (id.bytes[6] & 0x0f));
    id.bytes[8] = (uint8_t)(0x80 | (id.bytes[8] & 0x3f));
    return id;
}

bool helio_uuid_equal(helio_uuid_t a, helio_uuid_t b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool helio_uuid_is_nil(helio_uuid_t id)
{
    return helio_uuid_equal(id, (helio_uuid_t){{0}});
}

int helio_uuid_compare(helio_uuid_t a, helio_uuid_t b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes);
}

/*  128 bits in 26 characters of 5 bits: the first character carries the top 3 bits only. */
void helio_uuid_text(helio_uuid_t id, char ret_text[HELIO_ID_SIZE])
{
    helio_u128_t value = 0;
    for (int i = 0; i < 16; i++)
        value = value << 8 | id.bytes[i];
    for (int i = HELIO_ID_CHARS - 1; i >= 0; i--) {
        ret_text[i] = crockford[(unsigned)value & 31];
        value >>= 5;
    }
    ret_text[HELIO_ID_CHARS] = '\0';
}

static int crockford_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    if (c == 'i' || c == 'l')
        c = '1';
    if (c == 'o')
        c = '0';
    const char *at = c ? strchr(crockford, c) : NULL;
    return at ? (int)(at - crockford) : -1;
}

static helio_rc parse_hex(helio_text_t text, helio_uuid_t *ret_id)
{
    helio_uuid_t id;
    size_t byte = 0;
    for (uint32_t i = 0; i < text.size;) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.data[i++] != '-')
                return HELIO_INVALID;
            continue;
        }
        int high = helio_hex_digit(text.data[i]);
        int low = helio_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return HELIO_INVALID;
        id.bytes[byte++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    *ret_id = id;
    return HELIO_OK;
}

helio_rc helio_uuid_parse(helio_text_t text, helio_uuid_t *ret_id)
{
    if (text.size == 36)
        return parse_hex(text, ret_id);
    if (text.size != HELIO_ID_CHARS)
        return HELIO_INVALID;
    helio_u128_t value = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        int digit = crockford_digit(text.data[i]);
        if (digit < 0 || (i == 0 && digit > 7))
            return HELIO_INVALID;
        value = value << 5 | (unsigned)digit;
    }
    for (int i = 15; i >= 0; i--) {
        ret_id->bytes[i] = (uint8_t)value;
        value >>= 8;
    }
    return HELIO_OK;
}

bool helio_job_key_equal(helio_job_key_t a, helio_job_key_t b)
{
    return a.task == b.task && helio_uuid_equal(a.job, b.job);
}

void helio_job_key_text(helio_job_key_t key, char ret_text[HELIO_KEY_SIZE])
{
    helio_uuid_text(key.job, ret_text);
    if (key.task != HELIO_NO_TASK)
        (void)snprintf(ret_text + HELIO_ID_CHARS, HELIO_KEY_SIZE - HELIO_ID_CHARS, ".%d", key.task);
}

helio_rc helio_job_key_parse(helio_text_t text, helio_job_key_t *ret_key)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    const char *dot = text.size ? memchr(text.data, '.', text.size) : NULL;
    helio_text_t id = {text.data, dot ? (uint32_t)(dot - text.data) : text.size};
    if (helio_uuid_parse(id, &key.job) != HELIO_OK)
        return HELIO_INVALID;
    if (dot) {
        const char *digit = dot + 1, *end = text.data + text.size;
        if (digit == end || end - digit > 9)
            return HELIO_INVALID;
        for (key.task = 0; digit < end; digit++) {
            if (*digit < '0' || *digit > '9')
                return HELIO_INVALID;
            key.task = key.task * 10 + (*digit - '0');
        }
    }
    *ret_key = key;
    return HELIO_OK;
}

uint64_t helio_hash(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}
