#include "broker/engine/refusals.h"

#include <string.h>

#include "federation/reason/detail.h"

enum { LINES_PER_S = 10 };

static const char SITE_ACTOR[] = "site:";

/*  The code of the cause and what the site says beside it; an agent of an older release gives no code. */
static bool read_refusal(const helio_details_t *why, helio_text_t *ret_code, helio_text_t *ret_explanation)
{
    enum { CAUSE, EXPLANATION }; /* their places among the parameters */
    const helio_detail_t *refused = helio_details_find(why, HELIO_DETAIL_REFUSED);
    const helio_detail_t *states = helio_details_find(why, HELIO_DETAIL_REFUSED_STATES);
    if (!refused && !states)
        return false;
    *ret_code = refused ? helio_detail_value(refused, CAUSE).text : (helio_text_t){0};
    *ret_explanation = refused ? helio_detail_value(refused, EXPLANATION).text : helio_detail_value(states, 0).text;
    return true;
}

static helio_text_t site_of(helio_text_t actor)
{
    const uint32_t prefix = sizeof SITE_ACTOR - 1;
    bool is_site = actor.size > prefix && memcmp(actor.data, SITE_ACTOR, prefix) == 0;
    return is_site ? (helio_text_t){actor.data + prefix, actor.size - prefix} : actor;
}

void helio_refusal_log(helio_log_t *log, helio_log_limit_t *limit, const helio_row_transition_t *transition)
{
    helio_text_t code, explanation;
    uint32_t dropped;
    if (!read_refusal(&transition->why, &code, &explanation) || !helio_log_allowed(limit, LINES_PER_S, &dropped))
        return;
    char key[HELIO_KEY_SIZE], code_text[80], site[160], text[600];
    helio_job_key_text(transition->key, key);
    helio_log(log, HELIO_WARN, "site_refused", "code=%s site=%s job=%s attempt=%u explanation=%s not_logged=%u",
              helio_log_quote(code, code_text, sizeof code_text),
              helio_log_quote(site_of(transition->actor), site, sizeof site), key, transition->epoch,
              helio_log_quote(explanation, text, sizeof text), dropped);
}
