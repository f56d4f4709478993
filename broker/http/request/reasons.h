/*  reasons.h -- details in responses: sentences for people, and beside them codes and values for programs. */
#ifndef HELIO_BROKER_HTTP_REQUEST_REASONS_H
#define HELIO_BROKER_HTTP_REQUEST_REASONS_H

#include "federation/base/json.h"
#include "federation/reason/detail.h"

/*  Two members: the sentences as `text_name`, and the details as `details_name`. Without details both are null. */
void helio_put_details(helio_json_writer_t *json, const char *text_name, const char *details_name,
                       const helio_details_t *details);
/*  "note" and "note_details": input warnings of an accepted request. Without details nothing is written. */
void helio_put_note(helio_json_writer_t *json, const helio_details_t *details);

#endif
