/*  withheld.h -- why a pool of a site offers nothing, as the site's agent said it last. */
#ifndef HELIO_CLIENT_COMMANDS_WITHHELD_H
#define HELIO_CLIENT_COMMANDS_WITHHELD_H

#include <jansson.h>

#include "federation/reason/detail.h"

/*  "" = nothing keeps it back, or it is no news: a silent site offers nothing anyway. Its agent's last word is news, if that
 *  says why it is silent. Views into the reply of /v1/sites. */
const char *helio_withheld_text(const json_t *site, const json_t *pool);
helio_detail_code_t helio_withheld_code(const json_t *pool); /* as helio_detail_code_of */

#endif
