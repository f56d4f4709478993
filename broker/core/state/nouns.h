/*  nouns.h -- the names of the core's nouns, so that each header can point at those of the others. */
#ifndef HELIO_BROKER_CORE_STATE_NOUNS_H
#define HELIO_BROKER_CORE_STATE_NOUNS_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"

typedef struct helio_broker_core helio_broker_core_t;
typedef struct core_moments core_moments_t;
typedef struct submission submission_t;
typedef struct array array_t;
typedef struct catalogue catalogue_t;
typedef struct copy copy_t;
typedef struct dependencies dependencies_t;
typedef struct recent_end recent_end_t;
typedef struct preemptions preemptions_t;
typedef struct site_windows site_windows_t;
typedef struct evaluator evaluator_t;
typedef struct overflows overflows_t;
typedef struct intake intake_t;
typedef struct array_command array_command_t;
typedef struct desired_table desired_table_t;
typedef struct migrations migrations_t;
typedef struct migration_pass migration_pass_t;
typedef struct option option_t;
typedef struct need need_t;
typedef struct line line_t;
typedef struct expected_ends expected_ends_t;
typedef struct expected_starts expected_starts_t;
typedef struct reservation reservation_t;
typedef struct job job_t;
typedef struct job_class job_class_t;
typedef struct pool pool_t;
typedef struct site site_t;
typedef struct dependency_hold dependency_hold_t;
typedef struct dataset dataset_t;
typedef struct link_entry link_entry_t;
typedef struct preemption preemption_t;
typedef struct overflow overflow_t;
typedef struct account account_t;
typedef struct tenant tenant_t;
typedef struct queue queue_t;
typedef struct site_window site_window_t;
typedef struct preemptible preemptible_t;
typedef struct priced_hour priced_hour_t;
typedef struct signal_history signal_history_t;
typedef struct energy_issue energy_issue_t;
typedef struct migrant migrant_t;
typedef struct targets targets_t;
typedef struct estimate estimate_t;
typedef struct curtailment curtailment_t;
typedef struct wanted wanted_t;
typedef struct channel channel_t;

#endif
