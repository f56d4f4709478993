/*  drafts.h -- job files in, accepted jobs out: what `submit`, `run`, `sbatch` and `plan` share. */
#ifndef HELIO_CLIENT_DRAFTS_H
#define HELIO_CLIENT_DRAFTS_H

#include "client/invocation/client.h"
#include "federation/base/id.h"
#include "federation/spec/spec.h"

enum {
    HELIO_SUBMIT_BATCH_BYTES = 8 << 20, /* the broker takes 16 MiB in one request */
    HELIO_SUBMIT_BATCH_JOBS = 1000,
    HELIO_SUBMIT_COMPLAINTS_MAX = 20,
    HELIO_SUBMIT_KEY_MAX = 112 /* the broker takes 120; batches add to it */
};

/*  One document that is known to be good. Lives in the client's arena. */
typedef struct helio_draft {
    helio_text_t text; /* exact bytes */
    bool json;
    bool is_array; /* of tasks */
    const char *name;
    const char *home; /* the site that it names as its home; "" = none */
    char id[HELIO_KEY_SIZE]; /* after it was accepted */
    bool existed;            /* the idempotency key was used for it before */
} helio_draft_t;

typedef struct helio_drafts {
    helio_draft_t *items;
    uint32_t count;
    uint32_t accepted; /* the first so many have ids */
} helio_drafts_t;

/*  Reads and checks files ("-" = standard input). USAGE after having printed every complaint (up to a bound).
 */
HELIO_MUST_CHECK int helio_drafts_read(helio_client_t *client, const char *const *paths, uint32_t count,
                                       helio_drafts_t *ret_drafts);

/*  As helio_drafts_read, of a document that is there already. */
HELIO_MUST_CHECK int helio_draft_make(helio_client_t *client, helio_text_t text, const char *name,
                                      helio_drafts_t *ret_drafts);
/*  The text of a file, or of standard input ("-"), in the client's arena. */
HELIO_MUST_CHECK int helio_source_read(helio_client_t *client, const char *path, helio_text_t *ret_text);
void helio_diagnostic_print(const helio_client_t *client, const helio_diagnostic_t *diagnostic);
/*  What was accepted, in the format that was asked for. */
int helio_drafts_print(helio_client_t *client, const helio_drafts_t *drafts);

/*  Sends them in batches, each of which is accepted as a whole or not at all. On failure says how many were
 * accepted before. */
HELIO_MUST_CHECK int helio_drafts_send(helio_client_t *client, helio_drafts_t *drafts);

/*  Says of each home that they name whether no such site is known: nothing forbids it, and it compares with nothing. */
void helio_drafts_note_home(const helio_client_t *client, const helio_drafts_t *drafts);

#endif
