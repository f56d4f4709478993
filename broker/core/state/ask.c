/*  ask.c -- a hypothetical question: what would become of a job that asked for this? */
#include "broker/core/state/ask.h"

#include "broker/core/state/classes.h"

ask_t core_ask_of(const job_class_t *class)
{
    return class->ask;
}

job_class_t core_class_of_ask(const ask_t *ask, const job_class_t *in_place_of)
{
    job_class_t class = {.id = 0};
    if (in_place_of)
        class = *in_place_of;
    if (class.account != ask->account || class.queue != ask->queue || class.priority != ask->priority)
        class.id = 0;
    class.ask = *ask;
    class.refs = 0; /* so that evaluation stores nothing in it */
    class.options = NULL;
    class.targets = NULL;
    class.line = NULL;
    class.deferred_round = 0;
    class.priority_level = 0; /* at every priority level */
    return class;
}
