/*  drafts.h -- reads and checks job files, and submits them: shared by `submit`, `run`, `sbatch` and `plan`. */
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

/*  One valid document. Lives in the client's arena. */
typedef struct helio_draft {
    helio_text_t text; /* exact bytes */
    bool json;
    bool is_array;    /* of tasks */
    const char *file; /* where it was read, "stdin", or what else it was made of */
    uint32_t line;    /* where it begins there */
    const char *name;
    const char *home;        /* the home site that the document names; "" = none */
    char id[HELIO_KEY_SIZE]; /* after it was accepted */
    bool existed;            /* it was submitted before with this idempotency key */
} helio_draft_t;

typedef struct helio_drafts {
    helio_draft_t *items;
    uint32_t count;
    uint32_t accepted; /* this many, from the first on, have ids */
} helio_drafts_t;

/*  Reads and checks files ("-" = standard input). USAGE after printing every error, up to a bound. */
HELIO_MUST_CHECK int helio_drafts_read(helio_client_t *client, const char *const *paths, uint32_t count,
                                       helio_drafts_t *ret_drafts);

/*  The same for a document that was read already. */
HELIO_MUST_CHECK int helio_draft_make(helio_client_t *client, helio_text_t text, const char *name,
                                      helio_drafts_t *ret_drafts);
/*  The text of a file, or of standard input ("-"), in the client's arena. */
HELIO_MUST_CHECK int helio_source_read(helio_client_t *client, const char *path, helio_text_t *ret_text);
void helio_diagnostic_print(const helio_client_t *client, const helio_diagnostic_t *diagnostic);
/*  Prints the accepted jobs in the requested format. */
int helio_drafts_print(helio_client_t *client, const helio_drafts_t *drafts);

/*  Submits the drafts in batches, each of which is accepted as a whole or not at all. On failure it prints how many
 *  were accepted before. */
HELIO_MUST_CHECK int helio_drafts_send(helio_client_t *client, helio_drafts_t *drafts);

/*  Prints a note for each home site that is unknown: it is allowed, but the job's accounting has no baseline there. */
void helio_drafts_note_home(const helio_client_t *client, const helio_drafts_t *drafts);

#endif
