/*  lookup.c -- jobs of the workload, by index, source or id. */
#include <stdlib.h>

#include "simulator/workload/internal.h"

uint32_t sim_workload_count(const sim_workload_t *self)
{
    return self->job_count;
}

const sim_job_t *sim_workload_job(const sim_workload_t *self, uint32_t index)
{
    return &self->jobs[index];
}

const sim_job_t *sim_workload_of(const sim_workload_t *self, helio_text_t source)
{
    char text[64];
    (void)helio_text_copy(source, text, sizeof text);
    return &self->jobs[strtoul(text, NULL, 10)];
}

const sim_job_t *sim_workload_given(const sim_workload_t *self, helio_uuid_t id)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (helio_uuid_equal(self->jobs[i].given, id))
            return &self->jobs[i];
    return NULL;
}

helio_job_key_t sim_workload_on(const sim_workload_t *self, const sim_after_t *after, int32_t task)
{
    return (helio_job_key_t){self->jobs[after->job].id, after->after == HELIO_AFTER_TASK ? task : after->task};
}
