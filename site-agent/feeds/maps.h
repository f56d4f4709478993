/*  maps.h -- the responses of known services: `map: electricitymaps` in place of a url and fields. docs/energy.md shows
 *  each. */
#ifndef HELIO_FEEDS_MAPS_H
#define HELIO_FEEDS_MAPS_H

#include "site-agent/feeds/settings.h"

typedef struct helio_feed_map {
    const char *name;
    const char *url, *forecast_url; /* placeholders: url.h; NULL = the feed names its own */
    const char *login_url, *token;
    const char *kind, *factor, *unit;
    helio_feed_fields_t fields;
} helio_feed_map_t;

const helio_feed_map_t *helio_feed_map_of(helio_text_t name); /* NULL: no service has that name */
const helio_feed_map_t *helio_feed_map_row(uint32_t index);   /* NULL beyond the end */

#endif
