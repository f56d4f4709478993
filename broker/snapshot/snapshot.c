/*  snapshot.c -- writes and reads parts. */
#include "broker/snapshot/snapshot.h"

#include <string.h>

#include "federation/wire/codec.h"

#define MAGIC "HELIOSNAP"
enum { MAGIC_SIZE = sizeof MAGIC - 1, START_SIZE = MAGIC_SIZE + 1, HEAD_SIZE = 6 };

HELIO_RECORD_DEFINE(helio_snapshot_options, HELIO_SNAPSHOT_OPTIONS_FIELDS)
HELIO_RECORD_DEFINE(helio_snapshot_taken, HELIO_SNAPSHOT_TAKEN_FIELDS)
HELIO_RECORD_DEFINE(helio_snapshot_past, HELIO_SNAPSHOT_PAST_FIELDS)
HELIO_RECORD_DEFINE(helio_snapshot_run, HELIO_SNAPSHOT_RUN_FIELDS)

helio_step_kind_t helio_snapshot_part(uint32_t kind)
{
    static const struct {
        uint32_t kind;
        helio_step_kind_t part;
    } parts[] = {
#define X(NAME, record) {HELIO_SNAPSHOT_##NAME, {.name = #NAME, .type = &record##_type}},
        HELIO_SNAPSHOT_PART_TABLE(X)
#undef X
    };
    if (kind < HELIO_BROKER_EV_LOADED)
        return helio_broker_events[kind];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].kind == kind)
            return parts[i].part;
    return (helio_step_kind_t){0};
}

static void put(uint8_t *at, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get(const uint8_t *at, size_t size)
{
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

void helio_snapshot_begin(helio_buffer_t *out)
{
    helio_buffer_reset(out);
    out->max = HELIO_SNAPSHOT_MAX;
    helio_buffer_append(out, MAGIC, MAGIC_SIZE);
    helio_buffer_append(out, &(uint8_t){HELIO_SNAPSHOT_VERSION}, 1);
}

/*  A URI without what can be a secret: user and password before the host, the query behind the path. Dataset catalogues
 *  have neither. */
static helio_text_t bare_uri(helio_text_t uri)
{
    const char *query = uri.size ? memchr(uri.data, '?', uri.size) : NULL;
    if (query)
        uri.size = (uint32_t)(query - uri.data);
    const char *scheme = uri.size ? memmem(uri.data, uri.size, "://", 3) : NULL;
    if (!scheme)
        return uri;
    const char *host = scheme + 3, *end = uri.data + uri.size, *path = memchr(host, '/', (size_t)(end - host));
    const char *user = memrchr(host, '@', (size_t)((path ? path : end) - host));
    return user ? (helio_text_t){user + 1, (uint32_t)(end - user - 1)} : uri;
}

/*  What a decision reads stays. The entries of `data` are copied to ret_data. */
static void strip(helio_ev_load_job_t *job, helio_data_ask_t ret_data[HELIO_JOB_LIST_MAX])
{
#ifdef HELIO_MUTANT_snapshot_tells_all
    return;
#endif
    job->row.source = job->row.spec_hash = job->row.idempotency_key = (helio_text_t){0};
    job->spec.run = (helio_text_t){0};
    job->spec.env.count = job->spec.secrets.count = 0;
    if (job->spec.image.size)
        job->spec.image = HELIO_TEXT("image"); /* that it has one decides; its name can have a password in it */
    for (uint32_t i = 0; i < job->spec.data.count; i++) {
        ret_data[i] = job->spec.data.items[i];
        ret_data[i].uri = bare_uri(ret_data[i].uri);
    }
    job->spec.data.items = ret_data;
}

helio_rc helio_snapshot_add(uint32_t kind, const void *record, helio_buffer_t *out, helio_error_t *err)
{
    uint8_t head[HEAD_SIZE] = {0};
    size_t start = out->size;
    helio_ev_load_job_t job;
    helio_data_ask_t data[HELIO_JOB_LIST_MAX];
    if (kind == HELIO_BROKER_EV_LOAD_JOB || kind == HELIO_SNAPSHOT_PAST_JOB) {
        job = *(const helio_ev_load_job_t *)record;
        if (job.spec.data.count > HELIO_JOB_LIST_MAX)
            return helio_fail(err, HELIO_INVALID, "a job has more than %d entries of data", HELIO_JOB_LIST_MAX);
        strip(&job, data);
        record = &job;
    }
    helio_buffer_append(out, head, sizeof head);
    helio_rc rc = helio_wire_pack(helio_snapshot_part(kind).type, record, out, err);
    if (rc == HELIO_OK && out->overflow)
        rc = helio_fail(err, HELIO_TOO_BIG, "the live state takes more than %d MiB", HELIO_SNAPSHOT_MAX >> 20);
    if (rc != HELIO_OK)
        return rc;
    put((uint8_t *)out->data + start, kind, 2);
    put((uint8_t *)out->data + start + 2, (uint32_t)(out->size - start - HEAD_SIZE), 4);
    return HELIO_OK;
}

static helio_rc check_start(helio_text_t bytes, helio_error_t *err)
{
    if (bytes.size < START_SIZE || memcmp(bytes.data, MAGIC, MAGIC_SIZE) != 0)
        return helio_fail(err, HELIO_INVALID, "this is no snapshot of a broker");
    if (bytes.data[MAGIC_SIZE] != HELIO_SNAPSHOT_VERSION)
        return helio_fail(err, HELIO_VERSION,
                          "the snapshot has version %d, this program reads version %d: use the release of the broker",
                          bytes.data[MAGIC_SIZE], HELIO_SNAPSHOT_VERSION);
    return HELIO_OK;
}

helio_rc helio_snapshot_each(helio_text_t bytes, helio_arena_t *arena, helio_snapshot_visit_fn *visit, void *arg,
                             helio_error_t *err)
{
    helio_rc rc = check_start(bytes, err);
    for (size_t at = START_SIZE; rc == HELIO_OK && at < bytes.size;) {
        const uint8_t *head = (const uint8_t *)bytes.data + at;
        size_t left = bytes.size - at;
        uint32_t size = left >= HEAD_SIZE ? get(head + 2, 4) : 0, kind = left >= HEAD_SIZE ? get(head, 2) : 0;
        const helio_record_type_t *type = helio_snapshot_part(kind).type;
        if (left < HEAD_SIZE || size > left - HEAD_SIZE || !type)
            return helio_fail(err, HELIO_INVALID, "the snapshot is damaged after %zu bytes", at);
        void *record = helio_arena_alloc(arena, 1, type->size);
        rc = helio_wire_unpack(type, (helio_text_t){bytes.data + at + HEAD_SIZE, size}, arena, record, err);
        if (rc == HELIO_OK)
            rc = visit(arg, kind, record, err);
        at += HEAD_SIZE + size;
    }
    return rc;
}
