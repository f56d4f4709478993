/*  checkup.h -- what the checks of `doctor` share: their lines, and questions to the broker that answers. */
#ifndef HELIO_CLIENT_CHECKUP_H
#define HELIO_CLIENT_CHECKUP_H

#include <jansson.h>

#include "client/invocation/client.h"
#include "client/transport/remote.h"

typedef struct helio_checkup {
    helio_client_t *client;
    json_t *found;   /* what each check found, for the formats that programs read */
    int code;        /* of the first check that failed */
    uint32_t broker; /* the first that answers, counted from 1: the other checks ask it */
} helio_checkup_t;

void helio_checkup_good(const helio_checkup_t *self, const char *what, const char *text);
/*  It still works. remedy: NULL = none */
void helio_checkup_note(const helio_checkup_t *self, const char *what, const char *text, const char *remedy);
void helio_checkup_bad(helio_checkup_t *self, int code, const char *what, const char *text, const char *remedy);

HELIO_MUST_CHECK helio_rc helio_checkup_ask(const helio_checkup_t *self, uint32_t broker, const char *path,
                                            helio_response_t *ret_response, helio_error_t *err);
/*  Returns a JSON reply, or NULL and *ret_status (0 = no answer). */
json_t *helio_checkup_look(const helio_checkup_t *self, const char *path, long *ret_status);

#endif
