/*  reasons.h -- details in answers: a sentence for people, and beside it the codes and values for programs. */
#ifndef HELIO_BROKER_HTTP_REQUEST_REASONS_H
#define HELIO_BROKER_HTTP_REQUEST_REASONS_H

#include "federation/base/json.h"
#include "federation/reason/detail.h"

/*  Two members: the sentences as `text_name`, and the details as `details_name`. Both null: there are none. */
void helio_put_details(helio_json_writer_t *json, const char *text_name, const char *details_name,
                       const helio_details_t *details);
/*  "note" and "note_details": what is accepted but probably not meant. Nothing is written when there are no details. */
void helio_put_note(helio_json_writer_t *json, const helio_details_t *details);

#endif
