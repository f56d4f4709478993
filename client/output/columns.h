/*  columns.h -- how each kind of thing is shown; the keys are those of the HTTP API. */
#ifndef HELIO_CLIENT_COLUMNS_H
#define HELIO_CLIENT_COLUMNS_H

#include "client/output/output.h"

helio_columns_t helio_columns_of_jobs(void);
helio_columns_t helio_columns_of_job(void); /* one, as title and value */
helio_columns_t helio_columns_of_history(void);
helio_columns_t helio_columns_of_edits(void);
helio_columns_t helio_columns_of_candidates(void);
helio_columns_t helio_columns_of_plan(void);
helio_columns_t helio_columns_of_events(void);
helio_columns_t helio_columns_of_sites(void);
helio_columns_t helio_columns_of_gpus(void);
helio_columns_t helio_columns_of_queues(void);
helio_columns_t helio_columns_of_forecast(void);
helio_columns_t helio_columns_of_points(void); /* of forecasts, one by one */
helio_columns_t helio_columns_of_rules(void);
helio_columns_t helio_columns_of_overflows(void);
helio_columns_t helio_columns_of_quotas(void);
helio_columns_t helio_columns_of_budgets(void);
helio_columns_t helio_columns_of_tenants(void);
helio_columns_t helio_columns_of_data(void);
helio_columns_t helio_columns_of_links(void);
helio_columns_t helio_columns_of_report(void);
helio_columns_t helio_columns_of_balance(void);
helio_columns_t helio_columns_of_baselines(void); /* of a report: a day, a team and a baseline each */
helio_columns_t helio_columns_of_tokens(void);
helio_columns_t helio_columns_of_principals(void);
helio_columns_t helio_columns_of_audit(void);
helio_columns_t helio_columns_of_audit_chain(void);

#endif
