/*  labels.h -- writes the labels of submitted jobs. The core keeps none: nothing that it decides depends on them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_LABELS_H
#define HELIO_BROKER_CORE_REQUESTS_LABELS_H

#include "broker/core/state/core.h"

void core_emit_labels(helio_broker_core_t *self, helio_uuid_t job, const helio_job_spec_t *spec);

#endif
