/*  labels.c -- a row for each label of a job. */
#include "broker/core/requests/labels.h"

#include "broker/core/state/emit.h"

void core_emit_labels(helio_broker_core_t *self, helio_uuid_t job, const helio_job_spec_t *spec)
{
    for (uint32_t i = 0; i < spec->labels.count; i++) {
        helio_row_label_t row = {.job = job, .name = spec->labels.items[i].name, .value = spec->labels.items[i].value};
        core_emit(self, HELIO_BROKER_FX_ROW_LABEL, &row);
    }
}
