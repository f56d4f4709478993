/*  option.c -- an option: one pool judged for one class. */
#include "broker/core/state/option.h"

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/queues.h"
#include "federation/base/clock.h"

int64_t core_judged_ms(const helio_broker_core_t *self, const job_class_t *class)
{
    return class->judged_ms > self->wall_ms ? class->judged_ms : self->wall_ms;
}

uint32_t core_option_gpus(const job_class_t *class, const option_t *option)
{
    return option->c.gpus_per_node * class->want.nodes;
}

bool core_is_at_priority_level(const job_class_t *class, const option_t *option)
{
    return core_queue_priority_at(class->queue, option->site->profile.region) >= class->priority_level;
}

const char *core_place_text(helio_broker_core_t *self, const option_t *option)
{
    return core_printf(self, "%s/%.*s", option->site->name, HELIO_TEXT_ARGS(option->pool->info.name));
}
