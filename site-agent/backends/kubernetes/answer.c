/*  answer.c -- a status and a Status become one word. */
#include "federation/spec/value.h"
#include "site-agent/backends/kubernetes/answer.h"
#include "site-agent/backends/kubernetes/document.h"

enum { PAUSE_MS = 1000, PAUSE_MOST_S = 60 };

static bool says(const json_t *document, const char *reason)
{
    return helio_text_is(helio_kube_text(json_object_get(document, "reason")), reason);
}

/*  403 of the authorizer names a user who "cannot" do it; that of an admission (a webhook, a quota, a policy) is about the
 *  object, and has no kind in its details, or says what was exceeded. */
static bool is_about_rights(const json_t *document)
{
    helio_text_t message = helio_kube_text(json_object_get(document, "message"));
    const json_t *kind = HELIO_KUBE_AT(document, "details", "kind");
    static const char user[] = ": User \"";
    for (uint32_t at = 0; kind && at + sizeof user - 1 <= message.size; at++)
        if (helio_text_is((helio_text_t){message.data + at, sizeof user - 1}, user))
            return true;
    return !kind && !message.size;
}

static helio_kube_answer_t of_client(long status, const json_t *document)
{
    switch (status) {
    case 401:
        return HELIO_KUBE_STRANGER;
    case 403:
        return is_about_rights(document) ? HELIO_KUBE_DENIED : HELIO_KUBE_REFUSED;
    case 404: /* an unknown path or resource names no object */
        return says(document, "NotFound") && HELIO_KUBE_AT(document, "details", "name") ? HELIO_KUBE_ABSENT
                                                                                        : HELIO_KUBE_UNKNOWN;
    case 408:
        return HELIO_KUBE_UNKNOWN;
    case 409:
        return says(document, "AlreadyExists") ? HELIO_KUBE_EXISTS : HELIO_KUBE_CONFLICT;
    case 410:
        return HELIO_KUBE_EXPIRED;
    case 429:
        return HELIO_KUBE_BUSY;
    default:
        return HELIO_KUBE_REFUSED;
    }
}

helio_kube_answer_t helio_kube_answer(long status, const json_t *document, helio_text_t *ret_message)
{
    *ret_message = helio_kube_text(json_object_get(document, "message"));
    if (status >= 200 && status < 300)
        return HELIO_KUBE_DONE;
    if (status >= 400 && status < 500)
        return of_client(status, document);
    return HELIO_KUBE_UNKNOWN;
}

uint64_t helio_kube_pause_ms(helio_text_t retry_after)
{
    uint64_t seconds;
    if (helio_u64_parse(retry_after, &seconds))
        return PAUSE_MS;
    return (seconds > PAUSE_MOST_S ? PAUSE_MOST_S : seconds) * 1000;
}
