/*  held.h -- what became of a held job at each site. The decision that placed it last knows only the sites that it
 *  passed over, so the rest is in the job's history. */
#ifndef HELIO_CLIENT_HELD_H
#define HELIO_CLIENT_HELD_H

#include <jansson.h>

#include "federation/base/memory.h"

/*  Of a reply of `explain`. */
bool helio_is_held(const json_t *reply);
/*  A reply, a row or an entry of a history: held on purpose, by a user or an operator. */
bool helio_is_held_by_people(const json_t *object);
/*  Appends how the attempts ended that the job had at that site since it was last released: "its attempt here ended:
 *  NodeFailure: it did not start". Nothing if it had none. */
void helio_held_attempts(const json_t *reply, const char *site, helio_buffer_t *out);
/*  Appends why a job of a list is held, without the name of the site: the same cause has the same text everywhere. */
void helio_held_cause(const json_t *job, helio_buffer_t *out);

#endif
