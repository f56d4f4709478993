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
typedef struct moves moves_t;
typedef struct option option_t;
typedef struct release release_t;
typedef struct reservation reservation_t;
typedef struct job job_t;
typedef struct job_class job_class_t;
typedef struct pool pool_t;
typedef struct site site_t;
typedef struct gate gate_t;
typedef struct dataset dataset_t;
typedef struct link_entry link_entry_t;
typedef struct eviction eviction_t;
typedef struct overflow overflow_t;
typedef struct account account_t;
typedef struct tenant tenant_t;
typedef struct queue queue_t;
typedef struct kept kept_t;
typedef struct prey prey_t;
typedef struct rated rated_t;
typedef struct signal_past signal_past_t;
typedef struct booked booked_t;
typedef struct mover mover_t;
typedef struct spots spots_t;

#endif
