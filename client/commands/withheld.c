/*  withheld.c -- why a pool of a site offers nothing. */
#include "client/commands/withheld.h"

#include <string.h>

#include "client/output/output.h"

helio_detail_code_t helio_withheld_code(const json_t *pool)
{
    const json_t *first = json_array_get(json_object_get(pool, "withheld_details"), 0);
    return helio_detail_code_of(helio_text_of(helio_output_string(first, "code")));
}

const char *helio_withheld_text(const json_t *site, const json_t *pool)
{
    const char *state = helio_output_string(site, "state");
    bool silent = strcmp(state, "silent") == 0 || strcmp(state, "lost") == 0;
    bool is_news =
        strcmp(state, "ready") == 0 || (silent && helio_withheld_code(pool) == HELIO_DETAIL_WITHHELD_STATE_GONE);
    return is_news ? helio_output_string(pool, "withheld") : "";
}
