/*  route.h -- what can be asked for: one table, from which come dispatch, 404 and 405, who may, and the
 * labels of /metrics. docs/openapi.yaml describes the same paths and methods; a test compares them.
 */
#ifndef HELIO_BROKER_HTTP_ROUTE_H
#define HELIO_BROKER_HTTP_ROUTE_H

#include "broker/http/exchange.h"

typedef enum helio_access {
    HELIO_ACCESS_ANYONE, /* no token */
    HELIO_ACCESS_USER,   /* any token; sees its tenant */
    HELIO_ACCESS_OPERATOR,
    HELIO_ACCESS_ADMIN
} helio_access_t;

typedef enum helio_body_kind {
    HELIO_BODY_NONE,
    HELIO_BODY_JSON, /* one small object, may be absent */
    HELIO_BODY_JOBS  /* documents */
} helio_body_kind_t;

struct helio_route {
    const char *method;
    const char *pattern; /* "/v1/jobs/{id}": a segment in braces matches any one segment */
    helio_access_t access;
    helio_body_kind_t body;
    const char *query;    /* names of its parameters, separated by spaces */
    const char *produces; /* media type of the answer that is not an error */
    bool stream;
    void (*start)(helio_exchange_t *exchange);
    const char *doc;
};

const helio_route_t *helio_routes(uint32_t *ret_count);
uint32_t helio_route_index(const helio_route_t *route); /* NULL: one past the last */

/*  NULL: no such path (*ret_allow is ""), or not by this method (*ret_allow lists those that are). HEAD is
 * GET. *ret_parameter: what stood for the braces, NULL when there are none. */
enum { HELIO_ALLOW_SIZE = 64 };
const helio_route_t *helio_route_find(const char *method, const helio_target_t *target,
                                      const char **ret_parameter, char ret_allow[HELIO_ALLOW_SIZE]);
bool helio_route_takes_query(const helio_route_t *route, const char *name);

/*  jobs.c */
void helio_jobs_submit(helio_exchange_t *exchange); /* submit.c */
void helio_jobs_list(helio_exchange_t *exchange);
void helio_jobs_show(helio_exchange_t *exchange);
void helio_jobs_explain(helio_exchange_t *exchange); /* explain.c */
void helio_plans_make(helio_exchange_t *exchange); /* plans.c */
void helio_jobs_cancel(helio_exchange_t *exchange);
void helio_jobs_release(helio_exchange_t *exchange);
void helio_jobs_edit(helio_exchange_t *exchange); /* edit.c */
/*  logs.c, events.c */
void helio_jobs_logs(helio_exchange_t *exchange);
void helio_events_follow(helio_exchange_t *exchange);
/*  sites.c */
void helio_sites_list(helio_exchange_t *exchange);
void helio_sites_enrol(helio_exchange_t *exchange);
void helio_sites_forecast(helio_exchange_t *exchange);
void helio_sites_drain(helio_exchange_t *exchange);
void helio_sites_undrain(helio_exchange_t *exchange);
void helio_sites_attest(helio_exchange_t *exchange);
void helio_gpus_list(helio_exchange_t *exchange);
void helio_queues_list(helio_exchange_t *exchange);
void helio_report_totals(helio_exchange_t *exchange);
void helio_report_balance(helio_exchange_t *exchange);
/*  data.c */
void helio_data_list(helio_exchange_t *exchange);
void helio_data_set(helio_exchange_t *exchange);
void helio_data_remove(helio_exchange_t *exchange);
void helio_links_list(helio_exchange_t *exchange);
void helio_links_set(helio_exchange_t *exchange);
void helio_links_remove(helio_exchange_t *exchange);
/*  queues.c */
void helio_queues_set(helio_exchange_t *exchange);
void helio_queues_remove(helio_exchange_t *exchange);
void helio_queues_rule(helio_exchange_t *exchange);
/*  overflows.c */
void helio_overflows_list(helio_exchange_t *exchange);
void helio_overflows_set(helio_exchange_t *exchange);
void helio_overflows_remove(helio_exchange_t *exchange);
/*  quotas.c */
void helio_quotas_list(helio_exchange_t *exchange);
void helio_quotas_set(helio_exchange_t *exchange);
void helio_tenants_list(helio_exchange_t *exchange);
void helio_tenants_set(helio_exchange_t *exchange);
/*  admin.c */
void helio_tokens_list(helio_exchange_t *exchange);
void helio_tokens_add(helio_exchange_t *exchange);
void helio_tokens_revoke(helio_exchange_t *exchange);
void helio_principals_list(helio_exchange_t *exchange);
void helio_principals_set(helio_exchange_t *exchange);
void helio_audit_list(helio_exchange_t *exchange);
void helio_audit_verify(helio_exchange_t *exchange);
void helio_whoami(helio_exchange_t *exchange);
/*  health.c */
void helio_health(helio_exchange_t *exchange);
void helio_ready(helio_exchange_t *exchange);
void helio_metrics_page(helio_exchange_t *exchange);
void helio_console_page(helio_exchange_t *exchange);

#endif
