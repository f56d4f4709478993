/*  nouns.h -- names of the core's nouns, so that each header can point at those of the others. */
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
typedef struct dependencies dependencies_t;
typedef struct preemptions preemptions_t;
typedef struct site_windows site_windows_t;
typedef struct evaluator evaluator_t;
typedef struct overflows overflows_t;
typedef struct intake intake_t;
typedef struct migrations migrations_t;
typedef struct option option_t;
typedef struct expected_end expected_end_t;
typedef struct reservation reservation_t;
typedef struct job job_t;
typedef struct job_class job_class_t;
typedef struct pool pool_t;
typedef struct site site_t;
typedef struct hold dependency_hold_t;
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
typedef struct accounted accounted_t;
typedef struct migrant migrant_t;
typedef struct targets targets_t;

#endif
