/*  copy.c -- finds sites, jobs and runs in a snapshot. */
#include "simulator/rehearsal/copy.h"

#include <stdlib.h>

reh_site_copy_t *reh_copy_site(const reh_copy_t *self, helio_text_t name)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (helio_text_equal(self->sites[i].profile.name, name))
            return &self->sites[i];
    return NULL;
}

reh_job_copy_t *reh_copy_job(const reh_copy_t *self, helio_uuid_t id)
{
    reh_job_copy_t *job = NULL;
    HASH_FIND(hh, self->jobs, &id, sizeof id, job);
    return job;
}

bool reh_copy_is_up(const reh_copy_t *self, const reh_site_copy_t *site)
{
    return self->is_past || site->row->state == HELIO_SITE_STATE_READY || site->row->state == HELIO_SITE_STATE_DRAINING;
}

uint64_t reh_copy_run_ms(const reh_copy_t *self, helio_job_key_t key)
{
    reh_past_run_t *run = NULL;
    HASH_FIND(hh, self->past_runs, &key, sizeof key, run);
    return run ? run->run_ms : 0;
}

void reh_copy_clear(reh_copy_t *self)
{
    HASH_CLEAR(hh, self->jobs);
    HASH_CLEAR(hh, self->past_runs);
    free(self->past_jobs);
    for (uint32_t i = 0; i < self->site_count; i++)
        free(self->sites[i].series);
    free(self->sites);
    free(self->parts);
    free(self->attempts);
    free(self->over);
    helio_arena_destroy(&self->arena);
    *self = (reh_copy_t){0};
}
