/*  depends.h -- the jobs that a submission names in `depends`: what the database is asked of them, and its
 * answer written into the core's SUBMIT. The core holds open jobs only and knows no prefixes, so this is
 * looked up before it decides. Pure.
 */
#ifndef HELIO_BROKER_HTTP_ROUTES_DEPENDS_H
#define HELIO_BROKER_HTTP_ROUTES_DEPENDS_H

#include "broker/model/events.h"

/*  Different words of one request; the ends of ids are searched for among all open jobs, so of those there may be
 *  few. */
enum { HELIO_DEPENDS_WORDS_MAX = 10000, HELIO_DEPENDS_PARTS_MAX = 256 };

typedef struct helio_depends {
    helio_dependency_t **sorted; /* of all jobs, by word */
    uint32_t count;
    uint32_t words; /* different ones */
    uint32_t parts; /* of those, not whole ids */
} helio_depends_t;

/*  Gives every job its list, not looked up yet. All in the arena. */
helio_depends_t helio_depends_of(helio_ev_submit_t *event, helio_arena_t *arena);
/*  The first parameter of read_dependencies: a JSON list of the different words. */
const char *helio_depends_question(const helio_depends_t *self, helio_arena_t *arena);
/*  HELIO_PROTOCOL: not an answer to that question. */
HELIO_MUST_CHECK helio_rc helio_depends_resolve(const helio_depends_t *self, helio_text_t json,
                                               helio_error_t *err);

#endif
