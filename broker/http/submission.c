#include "broker/http/submission.h"

#include <openssl/sha.h>
#include <stdio.h>

static helio_text_t key_of(const char *key, uint32_t index, uint32_t count, helio_arena_t *arena)
{
    if (!*key)
        return (helio_text_t){0};
    return count == 1 ? helio_arena_text(arena, helio_text_of(key))
                      : helio_arena_printf(arena, "%s#%u", key, index);
}

static helio_rc too_many(uint32_t count, helio_diagnostic_t *ret_diagnostic)
{
    helio_diagnostic_t diagnostic = {.problem = HELIO_SPEC_TOO_BIG_PROBLEM, .span = 1};
    (void)helio_text_copy(HELIO_TEXT("request"), diagnostic.source_name, sizeof diagnostic.source_name);
    (void)snprintf(diagnostic.message, sizeof diagnostic.message, "%u jobs in one request; at most %d", count,
                   HELIO_SUBMISSION_JOBS_MAX);
    (void)helio_text_copy(HELIO_TEXT("send them in several requests"), diagnostic.hint,
                          sizeof diagnostic.hint);
    *ret_diagnostic = diagnostic;
    return HELIO_TOO_BIG;
}

helio_rc helio_submission_read(helio_text_t body, const char *idempotency_key, helio_arena_t *arena,
                               helio_ev_submit_t *ret_event, helio_diagnostic_t *ret_diagnostic,
                               int *ret_document)
{
    helio_spec_parts_t parts;
    *ret_document = -1;
    helio_rc rc = helio_spec_split((helio_spec_source_t){.text = body, .name = "request"}, arena, &parts,
                                   ret_diagnostic);
    if (rc != HELIO_OK)
        return rc;
    if (parts.count > HELIO_SUBMISSION_JOBS_MAX)
        return too_many(parts.count, ret_diagnostic);
    helio_submission_t *jobs = helio_arena_alloc(arena, parts.count, sizeof *jobs);
    for (uint32_t i = 0; i < parts.count; i++) {
        rc = helio_spec_parse_job(parts.items[i], arena, &jobs[i].spec, ret_diagnostic);
        if (rc != HELIO_OK) {
            *ret_document = parts.count == 1 ? -1 : (int)i;
            return rc;
        }
        helio_text_t source = parts.items[i].text;
        unsigned char *hash = helio_arena_alloc(arena, SHA256_DIGEST_LENGTH, 1);
        (void)SHA256((const unsigned char *)source.data, source.size, hash);
        jobs[i].source = source;
        jobs[i].spec_hash = (helio_text_t){(const char *)hash, SHA256_DIGEST_LENGTH};
        jobs[i].idempotency_key = key_of(idempotency_key, i, parts.count, arena);
    }
    ret_event->jobs.items = jobs;
    ret_event->jobs.count = parts.count;
    return HELIO_OK;
}
