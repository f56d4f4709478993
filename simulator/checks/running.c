/*  running.c -- the promises on what runs now, checked after every step. */
#include "simulator/checks/internal.h"

enum { RUNNING_MAX = 64 }; /* more than the sites have GPUs, and CPU jobs in proportion */

static bool slots_clash(const sim_run_t *a, const sim_run_t *b)
{
    for (uint32_t i = 0; i < a->slot_count; i++)
        for (uint32_t k = 0; k < b->slot_count; k++)
            for (uint32_t g = 0; a->slots[i].node == b->slots[k].node && g < a->slots[i].gpus.count; g++)
                for (uint32_t h = 0; h < b->slots[k].gpus.count; h++)
                    if (a->slots[i].gpus.items[g] == b->slots[k].gpus.items[h])
                        return true;
    return false;
}

/*  Neither the database nor the site's agent can know of it: only a fence of the site itself could hold a second copy
 *  back. */
static bool is_known_to_nobody(const sim_checks_t *self, const sim_run_t *run)
{
    return run->orphan && sim_database_has_forgotten(self->database, run->id.key, run->id.epoch);
}

static void check_pair(sim_checks_t *self, const sim_run_t *a, const sim_run_t *b)
{
    /* an agent that cannot find what runs cannot know its GPUs either */
    bool clash = a->site == b->site && !a->orphan && !b->orphan && slots_clash(a, b);
    /* an eager job accepts that two attempts may overlap; strict and lease jobs never overlap */
    bool twice = helio_job_key_equal(a->id.key, b->id.key) && a->on_site_loss != HELIO_SITE_LOSS_EAGER &&
                 !is_known_to_nobody(self, a) && !is_known_to_nobody(self, b);
    if (!clash && !twice)
        return;
    char key[HELIO_KEY_SIZE];
    helio_job_key_text(a->id.key, key);
    if (clash)
        sim_violate(self->engine, "two attempts hold one GPU of %s: %s and another",
                    self->federation->profiles[a->site].name.data, key);
    if (twice)
        sim_violate(self->engine, "two copies of %s run at once: epochs %u and %u", key, a->id.epoch, b->id.epoch);
}

void checks_running(sim_checks_t *self)
{
    const sim_run_t *running[RUNNING_MAX];
    uint32_t count = 0;
    for (const sim_run_t *run = sim_backend_runs(self->federation->backend); run; run = run->hh.next) {
        if (run->times > 1)
            sim_violate(self->engine, "an attempt was started twice");
        if (run->running && count < RUNNING_MAX)
            running[count++] = run;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            check_pair(self, running[i], running[k]);
}
