/*  routes.h -- everything that can be asked for: the table of routes, and the handler of each.
 *
 *  A new route is a row in table.c, a handler in the file of what it is about, and its description in docs/openapi.yaml. The
 *  tests fail until all of them agree.
 */
#ifndef HELIO_BROKER_HTTP_ROUTES_H
#define HELIO_BROKER_HTTP_ROUTES_H

#include "broker/http/request/route.h"

const helio_route_table_t *helio_routes(void);

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
