/*  depends.h -- the jobs that a submission names in `depends`: the question to the database, and its answer as fields
 *  of the core's SUBMIT. The look-up precedes the decision, because the core holds open jobs only and knows no prefixes
 *  of ids. Pure. */
#ifndef HELIO_BROKER_HTTP_ROUTES_DEPENDS_H
#define HELIO_BROKER_HTTP_ROUTES_DEPENDS_H

#include "broker/model/events.h"

/*  Bounds on the different names of one request. Names that are parts of ids are searched for among all open jobs, so
 *  their number is small. */
enum { HELIO_DEPENDS_WORDS_MAX = 20000, HELIO_DEPENDS_PARTS_MAX = 256 };

typedef struct helio_depends {
    helio_dependency_t **sorted; /* of all jobs, by name */
    uint32_t count;
    uint32_t words; /* different names */
    uint32_t parts; /* in those, without tasks: different parts of ids */
} helio_depends_t;

/*  Gives every job its list, which is not looked up yet. Everything lives in the arena. */
helio_depends_t helio_depends_of(helio_ev_submit_t *event, helio_arena_t *arena);
/*  The first parameter of read_dependencies: a JSON list of the different names. */
const char *helio_depends_question(const helio_depends_t *self, helio_arena_t *arena);
/*  Fills in the lists from the answer. HELIO_PROTOCOL: json is not an answer to that question. */
HELIO_MUST_CHECK helio_rc helio_depends_resolve(const helio_depends_t *self, helio_text_t json, helio_error_t *err);

#endif
