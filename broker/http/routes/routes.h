/*  routes.h -- the table of routes, and the handler of each.
 *
 *  A new route is a row in table.c, a handler in the file of its resource, and its description in docs/openapi.yaml.
 *  The tests fail until all three agree. */
#ifndef HELIO_BROKER_HTTP_ROUTES_H
#define HELIO_BROKER_HTTP_ROUTES_H

#include "broker/http/request/route.h"

const helio_route_table_t *helio_routes(void);

/*  jobs.c */
void helio_jobs_submit(helio_request_context_t *context); /* submit.c */
void helio_jobs_list(helio_request_context_t *context);
void helio_jobs_show(helio_request_context_t *context);
void helio_jobs_explain(helio_request_context_t *context); /* explain.c */
void helio_plans_make(helio_request_context_t *context);   /* plans.c */
void helio_jobs_plan(helio_request_context_t *context);    /* replan.c */
void helio_jobs_attempts(helio_request_context_t *context);
void helio_jobs_cancel(helio_request_context_t *context);
void helio_jobs_hold(helio_request_context_t *context);
void helio_jobs_requeue(helio_request_context_t *context);
void helio_jobs_signal(helio_request_context_t *context);
void helio_channels_create(helio_request_context_t *context); /* channels.c */
void helio_channels_output_read(helio_request_context_t *context);
void helio_channels_input_write(helio_request_context_t *context);
void helio_channels_resize(helio_request_context_t *context);
void helio_channels_shut(helio_request_context_t *context);
void helio_jobs_release(helio_request_context_t *context);
void helio_jobs_edit(helio_request_context_t *context); /* edit.c */
/*  logs.c, events.c */
void helio_jobs_logs(helio_request_context_t *context);
void helio_events_follow(helio_request_context_t *context);
/*  sites.c */
void helio_sites_list(helio_request_context_t *context);
void helio_sites_forecast(helio_request_context_t *context);
void helio_sites_drain(helio_request_context_t *context);
void helio_sites_undrain(helio_request_context_t *context);
void helio_sites_curtail(helio_request_context_t *context);
void helio_sites_uncurtail(helio_request_context_t *context);
void helio_curtailments_list(helio_request_context_t *context);
void helio_sites_attest(helio_request_context_t *context);
void helio_gpus_list(helio_request_context_t *context);
void helio_queues_list(helio_request_context_t *context);
void helio_report_totals(helio_request_context_t *context);
void helio_report_balance(helio_request_context_t *context);
void helio_history(helio_request_context_t *context);
/*  desired.c */
void helio_desired_list(helio_request_context_t *context);
/*  snapshot.c */
void helio_snapshot_show(helio_request_context_t *context);
/*  data.c */
void helio_data_list(helio_request_context_t *context);
void helio_data_set(helio_request_context_t *context);
void helio_data_remove(helio_request_context_t *context);
void helio_links_list(helio_request_context_t *context);
void helio_links_set(helio_request_context_t *context);
void helio_links_remove(helio_request_context_t *context);
/*  queues.c */
void helio_queues_set(helio_request_context_t *context);
void helio_queues_remove(helio_request_context_t *context);
void helio_queues_rule(helio_request_context_t *context);
/*  overflows.c */
void helio_overflows_list(helio_request_context_t *context);
void helio_overflows_set(helio_request_context_t *context);
void helio_overflows_remove(helio_request_context_t *context);
/*  quotas.c */
void helio_quotas_list(helio_request_context_t *context);
void helio_quotas_set(helio_request_context_t *context);
void helio_tenants_list(helio_request_context_t *context);
void helio_tenants_set(helio_request_context_t *context);
/*  keys.c */
void helio_keys_list(helio_request_context_t *context);
void helio_keys_enrol(helio_request_context_t *context);
void helio_keys_revoke(helio_request_context_t *context);
/*  admin.c */
void helio_tokens_list(helio_request_context_t *context);
void helio_tokens_add(helio_request_context_t *context);
void helio_tokens_revoke(helio_request_context_t *context);
void helio_principals_list(helio_request_context_t *context);
void helio_principals_set(helio_request_context_t *context);
void helio_audit_list(helio_request_context_t *context);
void helio_audit_verify(helio_request_context_t *context);
void helio_whoami(helio_request_context_t *context);
/*  health.c */
void helio_health(helio_request_context_t *context);
void helio_ready(helio_request_context_t *context);
void helio_broker_show(helio_request_context_t *context);
void helio_metrics_page(helio_request_context_t *context);
/*  console.c */
void helio_console_enter(helio_request_context_t *context);
void helio_console_page(helio_request_context_t *context);
void helio_console_file(helio_request_context_t *context);

#endif
