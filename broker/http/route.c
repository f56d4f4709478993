#include "broker/http/route.h"

#include <stdio.h>
#include <string.h>

#define JSON "application/json"

/* clang-format off */
static const helio_route_t routes[] = {
    {"GET", "/", HELIO_ACCESS_ANYONE, HELIO_BODY_NONE, "", "text/html", false, helio_console_page,
     "A page that says what this is."},
    {"GET", "/healthz", HELIO_ACCESS_ANYONE, HELIO_BODY_NONE, "", "text/plain", false, helio_health,
     "The process answers."},
    {"GET", "/readyz", HELIO_ACCESS_ANYONE, HELIO_BODY_NONE, "", "text/plain", false, helio_ready,
     "It leads, has loaded and reaches its database."},
    {"GET", "/metrics", HELIO_ACCESS_ANYONE, HELIO_BODY_NONE, "", "text/plain", false, helio_metrics_page,
     "Prometheus text."},
    {"GET", "/v1/whoami", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_whoami,
     "Whom the token stands for."},
    {"POST", "/v1/jobs", HELIO_ACCESS_USER, HELIO_BODY_JOBS, "", JSON, false, helio_jobs_submit,
     "Submit one job or many: all or none."},
    {"GET", "/v1/jobs", HELIO_ACCESS_USER, HELIO_BODY_NONE, "state queue name tenant limit cursor", JSON, false,
     helio_jobs_list, "Jobs, newest first, in pages."},
    {"GET", "/v1/jobs/{id}", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_jobs_show,
     "One job with its history."},
    {"DELETE", "/v1/jobs/{id}", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_jobs_cancel,
     "Cancel."},
    {"PATCH", "/v1/jobs/{id}", HELIO_ACCESS_USER, HELIO_BODY_JSON, "", JSON, false, helio_jobs_edit,
     "Change what a job asks for that has no place yet; what is not given stays."},
    {"POST", "/v1/jobs/{id}/release", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_jobs_release,
     "Let a held job run again."},
    {"GET", "/v1/jobs/{id}/explain", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_jobs_explain,
     "Why it is where it is, or waits."},
    {"GET", "/v1/jobs/{id}/logs", HELIO_ACCESS_USER, HELIO_BODY_NONE, "offset follow epoch", "text/plain", true,
     helio_jobs_logs, "What it printed."},
    {"POST", "/v1/plans", HELIO_ACCESS_USER, HELIO_BODY_JOBS, "", JSON, false, helio_plans_make,
     "What would become of a job: nothing is stored."},
    {"GET", "/v1/sites", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_sites_list,
     "Sites and what they offer."},
    {"POST", "/v1/sites", HELIO_ACCESS_ADMIN, HELIO_BODY_JSON, "", JSON, false, helio_sites_enrol,
     "Enrol a site's public key."},
    {"GET", "/v1/sites/{site}/forecast", HELIO_ACCESS_USER, HELIO_BODY_NONE, "days", JSON, false, helio_sites_forecast,
     "A site's series as last issued, and how far such series were off."},
    {"POST", "/v1/sites/{site}/drain", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_sites_drain,
     "No new work for a site."},
    {"POST", "/v1/sites/{site}/undrain", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_sites_undrain,
     "Work again."},
    {"POST", "/v1/sites/{site}/attest", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_sites_attest,
     "Swear that nothing of ours runs at a silent site any more."},
    {"GET", "/v1/gpus", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_gpus_list,
     "Pools that have GPUs."},
    {"GET", "/v1/queues", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_queues_list,
     "Queues and what waits in them."},
    {"PUT", "/v1/queues/{queue}", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_queues_set,
     "Make a queue or change it; what is not given stays."},
    {"DELETE", "/v1/queues/{queue}", HELIO_ACCESS_OPERATOR, HELIO_BODY_NONE, "", JSON, false, helio_queues_remove,
     "Remove a queue that has no open jobs."},
    {"PUT", "/v1/queues/{queue}/rules", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_queues_rule,
     "Another priority at some hours or for some time, in a region or everywhere; null: remove the rule."},
    {"GET", "/v1/overflows", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_overflows_list,
     "Overflow groups."},
    {"PUT", "/v1/overflows/{name}", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_overflows_set,
     "Make an overflow group or replace it."},
    {"DELETE", "/v1/overflows/{name}", HELIO_ACCESS_OPERATOR, HELIO_BODY_NONE, "", JSON, false, helio_overflows_remove,
     "Remove an overflow group."},
    {"GET", "/v1/quotas", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_quotas_list,
     "What tenants may hold, and hold."},
    {"PUT", "/v1/quotas/{tenant}", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_quotas_set,
     "Set what a tenant may hold; what is not given stays."},
    {"GET", "/v1/tenants", HELIO_ACCESS_OPERATOR, HELIO_BODY_NONE, "", JSON, false, helio_tenants_list,
     "Tenants, their homes and weights."},
    {"POST", "/v1/tenants", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_tenants_set,
     "Make a tenant or change it; what is not given stays."},
    {"GET", "/v1/data", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_data_list,
     "Which sites hold what lies under a URI prefix."},
    {"PUT", "/v1/data", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_data_set,
     "Say where the data under a prefix lies."},
    {"DELETE", "/v1/data", HELIO_ACCESS_OPERATOR, HELIO_BODY_NONE, "prefix", JSON, false, helio_data_remove,
     "Take a prefix out of the catalogue."},
    {"GET", "/v1/links", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", JSON, false, helio_links_list,
     "What leads from site to site, and its price."},
    {"PUT", "/v1/links", HELIO_ACCESS_OPERATOR, HELIO_BODY_JSON, "", JSON, false, helio_links_set,
     "Set a link."},
    {"DELETE", "/v1/links", HELIO_ACCESS_OPERATOR, HELIO_BODY_NONE, "from to", JSON, false, helio_links_remove,
     "Remove a link."},
    {"GET", "/v1/report", HELIO_ACCESS_USER, HELIO_BODY_NONE, "days", JSON, false, helio_report_totals,
     "Totals; by day, use and what the baselines would have used."},
    {"GET", "/v1/balance", HELIO_ACCESS_USER, HELIO_BODY_NONE, "days", JSON, false, helio_report_balance,
     "By day and site, the energy that is booked and what the site's meter says."},
    {"GET", "/v1/events", HELIO_ACCESS_USER, HELIO_BODY_NONE, "", "text/event-stream", true, helio_events_follow,
     "Transitions of jobs as they become durable."},
    {"GET", "/v1/tokens", HELIO_ACCESS_ADMIN, HELIO_BODY_NONE, "", JSON, false, helio_tokens_list,
     "Tokens, without their secrets."},
    {"POST", "/v1/tokens", HELIO_ACCESS_ADMIN, HELIO_BODY_JSON, "", JSON, false, helio_tokens_add,
     "Issue a token; its text is shown once."},
    {"DELETE", "/v1/tokens/{id}", HELIO_ACCESS_ADMIN, HELIO_BODY_NONE, "", JSON, false, helio_tokens_revoke,
     "Revoke a token, at once."},
    {"GET", "/v1/principals", HELIO_ACCESS_ADMIN, HELIO_BODY_NONE, "", JSON, false, helio_principals_list,
     "Users and sites that may ask something of the broker."},
    {"POST", "/v1/principals", HELIO_ACCESS_ADMIN, HELIO_BODY_JSON, "", JSON, false, helio_principals_set,
     "Disable a user, with every token of it, at once; or enable it again."},
    {"GET", "/v1/audit", HELIO_ACCESS_ADMIN, HELIO_BODY_NONE, "limit cursor", JSON, false, helio_audit_list,
     "Who did what, newest first, in pages."},
    {"GET", "/v1/audit/verify", HELIO_ACCESS_ADMIN, HELIO_BODY_NONE, "", JSON, false, helio_audit_verify,
     "Whether the chain of hashes is whole."},
};
/* clang-format on */

enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };
_Static_assert((int)ROUTE_COUNT < (int)HELIO_METRICS_ROUTES_MAX,
               "the counters of /metrics have room for every route and one more");

const helio_route_t *helio_routes(uint32_t *ret_count)
{
    *ret_count = ROUTE_COUNT;
    return routes;
}

uint32_t helio_route_index(const helio_route_t *route)
{
    return route ? (uint32_t)(route - routes) : ROUTE_COUNT;
}

static bool matches(const char *pattern, const helio_target_t *target, const char **ret_parameter)
{
    const char *parameter = NULL;
    const char *at = pattern + 1;
    for (uint32_t i = 0; i < target->segment_count; i++) {
        if (!*at)
            return false;
        size_t size = strcspn(at, "/");
        const char *segment = target->segments[i];
        if (*at == '{')
            parameter = segment;
        else if (strlen(segment) != size || memcmp(segment, at, size) != 0)
            return false;
        at += size + (at[size] == '/');
    }
    if (*at)
        return false;
    *ret_parameter = parameter;
    return true;
}

static void allow(char text[HELIO_ALLOW_SIZE], const char *method)
{
    size_t size = strlen(text);
    const char *more = strcmp(method, "GET") == 0 ? "GET, HEAD" : method;
    (void)snprintf(text + size, HELIO_ALLOW_SIZE - size, "%s%s", size ? ", " : "", more);
}

const helio_route_t *helio_route_find(const char *method, const helio_target_t *target,
                                      const char **ret_parameter, char ret_allow[HELIO_ALLOW_SIZE])
{
    ret_allow[0] = '\0';
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (uint32_t i = 0; i < ROUTE_COUNT; i++) {
        const char *parameter;
        if (!matches(routes[i].pattern, target, &parameter))
            continue;
        if (strcmp(routes[i].method, wanted) == 0) {
            *ret_parameter = parameter;
            return &routes[i];
        }
        allow(ret_allow, routes[i].method);
    }
    return NULL;
}

bool helio_route_takes_query(const helio_route_t *route, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = route->query; *at;) {
        size_t word = strcspn(at, " ");
        if (word == size && memcmp(at, name, size) == 0)
            return true;
        at += word + (at[word] == ' ');
    }
    return false;
}
