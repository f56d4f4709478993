/*  submission.c -- splits, parses and hashes the documents of a submission. */
#include "broker/http/routes/submission.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_SIZE = 32 };

/*  SHA-256 of every document with a key: when the key comes again, it shows whether the document is the same. The
 *  algorithm is fetched once for each body, because OpenSSL's look-up takes locks and as long as the hashing. */
typedef struct hasher {
    EVP_MD *algorithm;
    EVP_MD_CTX *context;
} hasher_t;

static hasher_t hasher_new(void)
{
    hasher_t self = {EVP_MD_fetch(NULL, "SHA256", NULL), EVP_MD_CTX_new()};
    if (!self.algorithm || !self.context)
        abort(); /* out of memory */
    return self;
}

static void hasher_clear(hasher_t *self)
{
    EVP_MD_CTX_free(self->context);
    EVP_MD_free(self->algorithm);
}

/*  Labels that came beside the document are a part of what was asked for. */
static helio_text_t hash_of(hasher_t *self, helio_text_t text, const char *labels, helio_arena_t *arena)
{
    unsigned char *hash = helio_arena_alloc(arena, HASH_SIZE, 1);
    unsigned size = 0;
    int good = EVP_DigestInit_ex2(self->context, self->algorithm, NULL) == 1 &&
               EVP_DigestUpdate(self->context, text.data, text.size) == 1 &&
               EVP_DigestUpdate(self->context, labels, strlen(labels)) == 1 &&
               EVP_DigestFinal_ex(self->context, hash, &size) == 1;
    if (!good || size != HASH_SIZE)
        abort(); /* out of memory: nothing else can fail here */
    return (helio_text_t){(const char *)hash, HASH_SIZE};
}

static helio_text_t key_of(const char *key, uint32_t index, uint32_t count, helio_arena_t *arena)
{
    if (!*key)
        return (helio_text_t){0};
    return count == 1 ? helio_arena_text(arena, helio_text_of(key)) : helio_arena_printf(arena, "%s#%u", key, index);
}

static helio_rc too_many(uint64_t count, const char *what, int most, helio_diagnostics_t *ret_wrong)
{
    helio_diagnostic_t diagnostic = {.problem = HELIO_SPEC_TOO_BIG_PROBLEM, .span = 1};
    (void)helio_text_copy(HELIO_TEXT("request"), diagnostic.source_name, sizeof diagnostic.source_name);
    (void)snprintf(diagnostic.message, sizeof diagnostic.message, "%" PRIu64 " %s in one request; at most %d", count,
                   what, most);
    (void)helio_text_copy(HELIO_TEXT("send them in several requests"), diagnostic.hint, sizeof diagnostic.hint);
    ret_wrong->items[0] = diagnostic;
    return HELIO_TOO_BIG;
}

static helio_rc too_many_labels(helio_diagnostics_t *ret_wrong)
{
    (void)too_many(HELIO_LABELS_MAX + 1, "labels or more of a job", HELIO_LABELS_MAX, ret_wrong);
    (void)helio_text_copy(HELIO_TEXT("leave some out"), ret_wrong->items[0].hint, sizeof ret_wrong->items[0].hint);
    return HELIO_TOO_BIG;
}

static void put_label(helio_pair_t *pairs, uint32_t *count, helio_text_t name, helio_text_t value)
{
    uint32_t at = 0;
    while (at < *count && !helio_text_equal(pairs[at].name, name))
        at++;
    pairs[at] = (helio_pair_t){name, value};
    *count += at == *count;
}

/*  Adds the labels of the request to those of the document. INVALID: together they are too many. */
static helio_rc add_labels(const char *labels, helio_arena_t *arena, helio_job_spec_t *spec)
{
    helio_pair_t pairs[2 * HELIO_LABELS_MAX + 1];
    uint32_t count = spec->labels.count;
    helio_text_t name, value;
    for (uint32_t i = 0; i < count; i++)
        pairs[i] = spec->labels.items[i];
    for (const char *at = labels; *at; at += *at == ',') {
        uint32_t size = (uint32_t)strcspn(at, ",");
        if (count > 2 * HELIO_LABELS_MAX || !helio_label_split((helio_text_t){at, size}, false, &name, &value))
            return HELIO_INVALID;
        put_label(pairs, &count, name, value);
        at += size;
    }
    if (count > HELIO_LABELS_MAX)
        return HELIO_INVALID;
    spec->labels.items = helio_arena_alloc(arena, count ? count : 1, sizeof pairs[0]);
    for (uint32_t i = 0; i < count; i++)
        spec->labels.items[i] =
            (helio_pair_t){helio_arena_text(arena, pairs[i].name), helio_arena_text(arena, pairs[i].value)};
    spec->labels.count = count;
    return HELIO_OK;
}

helio_rc helio_submission_read(helio_text_t body, const char *idempotency_key, const char *labels, helio_arena_t *arena,
                               helio_ev_submit_t *ret_event, helio_diagnostics_t *ret_wrong, int *ret_document)
{
    helio_spec_parts_t parts;
    *ret_document = -1;
    ret_wrong->count = 1;
    ret_wrong->more = false;
    helio_rc rc =
        helio_spec_split((helio_spec_source_t){.text = body, .name = "request"}, arena, &parts, &ret_wrong->items[0]);
    if (rc != HELIO_OK)
        return rc;
    if (parts.count > HELIO_SUBMISSION_JOBS_MAX)
        return too_many(parts.count, "jobs", HELIO_SUBMISSION_JOBS_MAX, ret_wrong);
    helio_submission_t *jobs = helio_arena_alloc(arena, parts.count, sizeof *jobs);
    helio_job_spec_t defaults;
    helio_spec_defaults(&helio_spec_job_table, arena, &defaults);
    uint64_t tasks = 0;
    HELIO_AUTO(hasher_clear) hasher_t hasher = hasher_new();
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *reading = helio_arena_new();
    for (uint32_t i = 0; i < parts.count; i++) {
        /* What is kept of a document is a fraction of what its reading takes. */
        helio_job_spec_t spec;
        helio_arena_reset(reading);
        rc = helio_spec_read_from(&helio_spec_job_table, &defaults, parts.items[i], HELIO_JOB_SOURCE_MAX, reading,
                                  &spec, &ret_wrong->items[0]);
        if (rc != HELIO_OK) {
            /* A second reading finds all its errors; the path of correct documents stays short. */
            rc = helio_spec_judge(&helio_spec_job_table, parts.items[i], HELIO_JOB_SOURCE_MAX, arena, &jobs[i].spec,
                                  ret_wrong);
            *ret_document = parts.count == 1 ? -1 : (int)i;
            return rc;
        }
        helio_record_copy(&helio_job_spec_type, arena, &spec, &jobs[i].spec);
        if (*labels && add_labels(labels, arena, &jobs[i].spec) != HELIO_OK)
            return too_many_labels(ret_wrong);
        tasks += jobs[i].spec.tasks.count ? jobs[i].spec.tasks.count : 1;
#ifndef HELIO_MUTANT_tasks_of_any_number
        if (tasks > HELIO_SUBMISSION_TASKS_MAX)
            return too_many(tasks, "jobs or tasks", HELIO_SUBMISSION_TASKS_MAX, ret_wrong);
#endif
        jobs[i].source = parts.items[i].text;
        jobs[i].idempotency_key = key_of(idempotency_key, i, parts.count, arena);
        if (jobs[i].idempotency_key.size)
            jobs[i].spec_hash = hash_of(&hasher, jobs[i].source, labels, arena);
    }
    ret_event->jobs.items = jobs;
    ret_event->jobs.count = parts.count;
    return HELIO_OK;
}
