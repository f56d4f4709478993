/*  capacity.h -- nodes and GPUs of a site whose backend leaves allocation to the core: what is held, what is free.
 *
 *  Best fit: the node with the fewest free GPUs that still fits, so that whole nodes stay free for gangs. A gang gets
 *  distinct nodes, all or none. Memory and CPUs are counted if both the pool and the order name them. Pure; one owner.
 */
#ifndef HELIO_AGENT_CAPACITY_H
#define HELIO_AGENT_CAPACITY_H

#include "site-agent/core/agent_core.h"

typedef struct helio_capacity helio_capacity_t;

helio_capacity_t *helio_capacity_new(const helio_site_profile_t *profile); /* borrowed: must outlive the capacity */
void helio_capacity_destroy(helio_capacity_t **self_p);

/*  Allocates for an order: *ret_slots is one block with its GPU lists, freed with free(). HELIO_NOT_FOUND: no such
 *  pool; HELIO_INFEASIBLE: larger than the whole pool; HELIO_BUSY: not now. The text says what is missing. */
HELIO_MUST_CHECK helio_rc helio_capacity_take(helio_capacity_t *self, const helio_order_t *order,
                                              helio_slot_t **ret_slots, uint32_t *ret_count, helio_error_t *err);
/*  Marks what a restored attempt holds. Parts that the site no longer has are skipped. */
void helio_capacity_retake(helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                           uint32_t count);
void helio_capacity_give_back(helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                              uint32_t count);

/*  Others use those of these GPUs of one node that are free: they are neither offered nor taken until the next call for
 *  that node. Returns their number. */
uint32_t helio_capacity_leave_to_others(helio_capacity_t *self, uint32_t pool, const helio_slot_t *busy);
/*  The number that was left to others, in the whole pool. */
uint32_t helio_capacity_of_others(const helio_capacity_t *self, uint32_t pool);

/*  Whether all of it is allocated, except for parts that the site no longer has. */
bool helio_capacity_holds(const helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                          uint32_t count);

/*  As in a summary, without jobs; free_nodes lies in the arena. Pools are in the profile's order. */
void helio_capacity_pool(const helio_capacity_t *self, uint32_t pool, helio_arena_t *arena,
                         helio_pool_capacity_t *ret_capacity);

/*  Index in the profile, or UINT32_MAX. */
uint32_t helio_site_pool_index(const helio_site_profile_t *profile, helio_text_t name);
/*  One block: slots and their lists. */
helio_slot_t *helio_slots_copy(const helio_slot_t *slots, uint32_t count);

#endif
