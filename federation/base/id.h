/*  id.h -- UUIDv7 (RFC 9562) and job keys, and their text form: lower-case Crockford base32, 26 characters.
 *
 *  A job key names what runs: the job and, for an array, the task's index (HELIO_NO_TASK otherwise). Its text is
 *  "<id>" or "<id>.<index>". Pure: time and randomness are arguments.
 */
#ifndef HELIO_BASE_ID_H
#define HELIO_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "federation/base/error.h"
#include "federation/base/memory.h"

enum {
    HELIO_ID_CHARS = 26,
    HELIO_ID_SIZE = HELIO_ID_CHARS + 1,  /* with the NUL */
    HELIO_KEY_SIZE = HELIO_ID_SIZE + 12, /* with ".<index>" */
    HELIO_ID_PREFIX_MIN = 6,             /* shortest prefix or suffix that people may type */
    HELIO_NO_TASK = -1
};

typedef struct helio_uuid {
    uint8_t bytes[16];
} helio_uuid_t;

typedef struct helio_job_key {
    helio_uuid_t job;
    int32_t task; /* HELIO_NO_TASK, or the array index */
} helio_job_key_t;

/*  wall_ms: Unix time in ms (48 bits used); random: 10 bytes, of which 74 bits are used. */
helio_uuid_t helio_uuid_v7(int64_t wall_ms, const uint8_t random[10]);
bool helio_uuid_equal(helio_uuid_t a, helio_uuid_t b);
bool helio_uuid_is_nil(helio_uuid_t id);
int helio_uuid_compare(helio_uuid_t a, helio_uuid_t b); /* memcmp order = creation order to the millisecond */

void helio_uuid_text(helio_uuid_t id, char ret_text[HELIO_ID_SIZE]);
/*  Accepts 26 characters of Crockford base32 (any case; i, l read as 1, o as 0) and the 36-character hex form. */
HELIO_MUST_CHECK helio_rc helio_uuid_parse(helio_text_t text, helio_uuid_t *ret_id);

bool helio_job_key_equal(helio_job_key_t a, helio_job_key_t b);
void helio_job_key_text(helio_job_key_t key, char ret_text[HELIO_KEY_SIZE]);
HELIO_MUST_CHECK helio_rc helio_job_key_parse(helio_text_t text, helio_job_key_t *ret_key);

/*  FNV-1a, 64 bits; chain by passing the previous value, start with HELIO_HASH_SEED. Not for hostile keys. */
#define HELIO_HASH_SEED UINT64_C(0xcbf29ce484222325)
uint64_t helio_hash(uint64_t hash, const void *bytes, size_t size);

#endif
