/*  scale.h -- grows and shrinks the elastic pools of a site by the provider's command (docs/sites/cloud.md). What happens
 *  when is decided in plan.h; this runs the commands, one at a time for each pool, and never blocks. Thread: one owner. */
#ifndef HELIO_SITE_AGENT_SCALE_H
#define HELIO_SITE_AGENT_SCALE_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/command.h"
#include "site-agent/scale/settings.h"

typedef struct helio_scaler helio_scaler_t;

typedef enum helio_scale_word {
    HELIO_SCALE_GROWS,   /* `count` instances are being created */
    HELIO_SCALE_SHRINKS, /* the instance `text` is being ended */
    HELIO_SCALE_FAILED,  /* a command failed: `text` */
    HELIO_SCALE_WELL,    /* it works again */
    HELIO_SCALE_TAKEN,   /* the provider takes the instance `text` away */
    HELIO_SCALE_IGNORED  /* others can write into the folder of notices, which counts as empty: `text` has the remedy */
} helio_scale_word_t;

typedef struct helio_scale_note {
    helio_scale_word_t word;
    helio_text_t pool;
    uint32_t count;  /* GROWS */
    uint32_t wanted; /* GROWS: nodes that waiting jobs need */
    const char *text;
} helio_scale_note_t;

typedef struct helio_scaler_options {
    const helio_scale_rules_t *rules; /* both live as long as the scaler */
    const helio_site_profile_t *site;
    void (*on_note)(void *arg, const helio_scale_note_t *note);
    void *arg;
} helio_scaler_options_t;

HELIO_MUST_CHECK helio_rc helio_scaler_new(const helio_scaler_options_t *options, helio_scaler_t **ret_scaler,
                                           helio_error_t *err);
void helio_scaler_destroy(helio_scaler_t **self_p); /* kills a running command; ends no instance */

void helio_scaler_demand(helio_scaler_t *self, const helio_pool_demand_t *pools, uint32_t count, int64_t now_boot_ms);
/*  An attempt waits at the engine for a node of the pool; then all nodes that it can start jobs on. */
void helio_scaler_waiting(helio_scaler_t *self, helio_text_t pool, uint32_t gpus);
void helio_scaler_nodes(helio_scaler_t *self, const helio_backend_node_t *nodes, uint32_t count, int64_t now_boot_ms);
void helio_scaler_order(helio_scaler_t *self, helio_text_t pool, int64_t now_boot_ms);
/*  Whether the provider takes the node away. */
bool helio_scaler_takes(const helio_scaler_t *self, const helio_backend_node_t *node);
/*  Takes the nodes that leave, or are taken away, out of a pool's figures. */
void helio_scaler_withhold(const helio_scaler_t *self, helio_pool_capacity_t *capacity);

int helio_scaler_fd(const helio_scaler_t *self);
int64_t helio_scaler_next_ms(const helio_scaler_t *self); /* CLOCK_BOOTTIME */
void helio_scaler_process(helio_scaler_t *self, int64_t now_boot_ms);

#endif
