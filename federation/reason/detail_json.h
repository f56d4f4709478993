/*  detail_json.h -- details as JSON: the form in which SQL stores them and HTTP returns them to programs.
 *      [{"code": "QuotaInUse", "params": {"tenant": "acme", "used_gpus": 12, "limit_gpus": 16, "needed_gpus": 8}}]
 *  A parameter's kind defines its unit (detail.h). A time that is 0 and an empty text are left out. Pure. */
#ifndef HELIO_REASON_DETAIL_JSON_H
#define HELIO_REASON_DETAIL_JSON_H

#include "federation/base/json.h"
#include "federation/reason/detail.h"

/*  Writes the array, as a member of that name or as the outermost value (NULL). Codes that this program does not know
 *  are left out. */
void helio_details_write(helio_json_writer_t *json, const char *name, const helio_details_t *details);

/*  Reads what helio_details_write wrote, also in an older or newer release: unknown codes and parameters are left out,
 *  missing ones are zero. INVALID: not a JSON array. Units that JSON rounds are read as rounded. */
HELIO_MUST_CHECK helio_rc helio_details_read(helio_text_t json, helio_arena_t *arena, helio_details_t *ret_details);

#endif
