/*  array_commands.h -- a command on one job, or on the open tasks of an array.
 *
 *  On a large array it acts batch by batch (state/portion.h), by turns with those of other tenants, and is answered with
 *  its last task: so an answer that it was accepted says, as for one job, that all of it is durable. Of a leader that ends
 *  before that there is no answer, and whoever gave the command gives it again: every command can be repeated, though of a
 *  signal some tasks get two then. While one is under way, another on the same array is refused, unless it cancels it. Of
 *  a tenant one that counts (tenant_rate.h) is under way at a time, so that the tenant is behind its rate by one array at
 *  most. Whoever waits for an answer does not wait for ever, so those that do not count are bounded as well. */
#ifndef HELIO_BROKER_CORE_REQUESTS_ARRAY_COMMANDS_H
#define HELIO_BROKER_CORE_REQUESTS_ARRAY_COMMANDS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

enum {
    CORE_ARRAY_LOOKS = 10,        /* tasks looked at and not changed take as much of a batch as one that is changed */
    CORE_ARRAY_SMALL = 100,       /* tasks: a command on so many acts at once, whatever the batch has taken */
    CORE_ARRAYS_TASKS_MAX = 30000 /* of one tenant, with commands under way; one more is let in if none is */
};

/*  What a command did to one job. HINDERED: it was refused, for something that the answer explains if no job accepted it. */
typedef enum effect { REFUSED, HINDERED, AS_IT_WAS, CHANGED } effect_t;

typedef effect_t act_fn(helio_broker_core_t *self, const helio_ev_command_t *event, job_t *job);

typedef struct affected {
    uint32_t jobs;                  /* on which the command was accepted */
    uint32_t changed;               /* of these, those that it changed */
    uint32_t hindered;              /* others */
    helio_job_key_t first_hindered; /* if there is one */
} affected_t;

typedef struct command {
    const char *action; /* in the audit, if it changed something */
    act_fn *act;
    void (*answer)(helio_broker_core_t *self, const helio_ev_command_t *event, const affected_t *affected);
    const helio_record_type_t *type; /* of the event, whose first member the command is; NULL = it is a command alone */
    helio_text_t (*described)(helio_broker_core_t *self,
                              const helio_ev_command_t *event); /* in the audit; NULL = not */
    bool free;                                                  /* of its tenant's rate */
    bool last_first; /* on a large array, its last task is the first: those that wait come before those that run */
} command_t;

void core_command_run(helio_broker_core_t *self, const helio_ev_command_t *event, const command_t *how);
void core_array_commands_resolve(helio_broker_core_t *self); /* end of a step: goes on, as far as the batch has room */
void core_array_commands_recheck(
    helio_broker_core_t *self); /* at a check: resolve goes on though no batch was sealed */
void core_array_commands_free(helio_broker_core_t *self);

#endif
