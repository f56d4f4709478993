/*  columns.h -- how each kind of thing is shown; the keys are those of the HTTP API. */
#ifndef HELIO_CLIENT_COLUMNS_H
#define HELIO_CLIENT_COLUMNS_H

#include "client/output/output.h"

extern const helio_columns_t helio_columns_of_jobs;
extern const helio_columns_t helio_columns_of_job; /* one, as title and value */
extern const helio_columns_t helio_columns_of_history;
extern const helio_columns_t helio_columns_of_edits;
extern const helio_columns_t helio_columns_of_candidates;
extern const helio_columns_t helio_columns_of_plan;
extern const helio_columns_t helio_columns_of_events;
extern const helio_columns_t helio_columns_of_sites;
extern const helio_columns_t helio_columns_of_gpus;
extern const helio_columns_t helio_columns_of_desired;
extern const helio_columns_t helio_columns_of_queues;
extern const helio_columns_t helio_columns_of_forecast;
extern const helio_columns_t helio_columns_of_points; /* of forecasts, one by one */
extern const helio_columns_t helio_columns_of_rules;
extern const helio_columns_t helio_columns_of_overflows;
extern const helio_columns_t helio_columns_of_quotas;
extern const helio_columns_t helio_columns_of_budgets;
extern const helio_columns_t helio_columns_of_tenants;
extern const helio_columns_t helio_columns_of_data;
extern const helio_columns_t helio_columns_of_curtailments;
extern const helio_columns_t helio_columns_of_links;
extern const helio_columns_t helio_columns_of_report;
extern const helio_columns_t helio_columns_of_balance;
extern const helio_columns_t helio_columns_of_baselines; /* of a report: one line per day, tenant and baseline */
extern const helio_columns_t helio_columns_of_tokens;
extern const helio_columns_t helio_columns_of_keys;
extern const helio_columns_t helio_columns_of_principals;
extern const helio_columns_t helio_columns_of_audit;
extern const helio_columns_t helio_columns_of_audit_chain;
extern const helio_columns_t helio_columns_of_checks; /* of `helio doctor` */

#endif
