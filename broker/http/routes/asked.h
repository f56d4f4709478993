/*  asked.h -- what a job asks for beside its shape: from its document, and from what was edited since. */
#ifndef HELIO_ROUTES_ASKED_H
#define HELIO_ROUTES_ASKED_H

#include <jansson.h>

#include "federation/base/memory.h"
#include "federation/model/job.h"

/*  read: what the query read_job gives. Appends the job, and instead of its document the members goal, flexible_s, deadline, max_cost_usd and
 *  max_carbon_g_per_kwh; without them where its document is of a release whose documents this one does not read. */
void helio_asked_job(helio_text_t read, helio_buffer_t *out);
/*  asked: {"source": the document, "edit": {…} or null}. What the job asks for today; *ret_spec points into arena. False: this release does
 *  not read the document. */
bool helio_asked_spec(const json_t *asked, helio_arena_t *arena, helio_job_spec_t *ret_spec);

#endif
