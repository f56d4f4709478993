/*  backend.c -- names of attempts, written and read. */
#include "federation/base/char.h"
#include "site-agent/backends/backend.h"

#include <stdio.h>
#include <string.h>

void helio_backend_destroy(helio_backend_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    helio_backend_t *self = *self_p;
    *self_p = NULL;
    self->class->destroy(self);
}

void helio_attempt_name(helio_job_key_t key, uint32_t epoch, char ret_name[HELIO_ATTEMPT_NAME_SIZE])
{
    char id[HELIO_ID_SIZE];
    helio_uuid_text(key.job, id);
    if (key.task == HELIO_NO_TASK)
        (void)snprintf(ret_name, HELIO_ATTEMPT_NAME_SIZE, "helio-%s-%u", id, epoch);
    else
        (void)snprintf(ret_name, HELIO_ATTEMPT_NAME_SIZE, "helio-%s-%d-%u", id, key.task, epoch);
}

/*  Digits up to the end or a '-'; at most `most`. */
static bool number(helio_text_t text, uint32_t *at, uint64_t most, uint64_t *ret_value)
{
    uint64_t value = 0;
    uint32_t begin = *at;
    for (; *at < text.size && helio_is_digit(text.data[*at]); ++*at) {
        value = value * 10 + (uint64_t)(text.data[*at] - '0');
        if (value > most)
            return false;
    }
    *ret_value = value;
    return *at > begin;
}

helio_rc helio_attempt_name_parse(helio_text_t name, helio_job_key_t *ret_key, uint32_t *ret_epoch)
{
    uint32_t at = 6 + HELIO_ID_CHARS + 1;
    if (name.size <= at || name.size >= HELIO_ATTEMPT_NAME_SIZE || memcmp(name.data, "helio-", 6) != 0 ||
        name.data[at - 1] != '-')
        return HELIO_INVALID;
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    if (helio_uuid_parse((helio_text_t){name.data + 6, HELIO_ID_CHARS}, &key.job) != HELIO_OK)
        return HELIO_INVALID;
    uint64_t first, epoch;
    if (!number(name, &at, UINT32_MAX, &first))
        return HELIO_INVALID;
    epoch = first;
    if (at < name.size) {
        if (name.data[at++] != '-' || first > INT32_MAX || !number(name, &at, UINT32_MAX, &epoch))
            return HELIO_INVALID;
        key.task = (int32_t)first;
    }
    /* Each name has one spelling only. A name that parses to the same attempt but is spelled otherwise is not the
     * federation's. */
    char again[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, (uint32_t)epoch, again);
    if (at != name.size || !helio_text_is(name, again))
        return HELIO_INVALID;
    *ret_key = key;
    *ret_epoch = (uint32_t)epoch;
    return HELIO_OK;
}
