/*  values.h -- values of an answer that are made of the core's. NULL when the memory is short or the text is no
 *  UTF-8. */
#ifndef HELIO_BROKER_HTTP_VALUES_H
#define HELIO_BROKER_HTTP_VALUES_H

#include <jansson.h>

#include "federation/base/memory.h"

json_t *helio_text_json(helio_text_t text); /* null when it is empty */
json_t *helio_time_json(int64_t wall_ms); /* as RFC 3339; null when it is 0 */

#endif
