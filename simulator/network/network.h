/*  network.h -- ordered streams between the sites and the broker, which break: what is in flight is lost, both ends
 *  notice later, and a new stream is made. A message is a kind and a record; the network reads neither.
 *
 *  The network tells its ends through sim_ends_t. It reads the hosts to know who lives and who stands still.
 */
#ifndef HELIO_SIMULATOR_NETWORK_NETWORK_H
#define HELIO_SIMULATOR_NETWORK_NETWORK_H

#include "simulator/engine/host.h"

typedef struct sim_network sim_network_t;

typedef struct sim_ends {
    void (*connected)(void *arg, uint32_t site);    /* to a site: it has a stream */
    void (*disconnected)(void *arg, uint32_t site); /* to a site: it noticed that its stream is broken */
    void (*gone)(void *arg, uint64_t peer);         /* to the broker: it noticed that this stream is broken */
    void (*to_broker)(void *arg, uint32_t kind, const void *message);
    void (*to_site)(void *arg, uint32_t site, uint32_t kind, const void *message);
} sim_ends_t;

/*  The hosts, in the order of the sites, outlive the network. */
sim_network_t *sim_network_new(sim_engine_t *engine, const sim_host_t *broker, const sim_host_t *const *sites,
                               uint32_t site_count, const sim_ends_t *ends, void *arg);
void sim_network_destroy(sim_network_t **self_p);

/*  A site dials until it has a stream. */
void sim_network_dial(sim_network_t *self, uint32_t site, int64_t delay_ms);
void sim_network_dial_all(sim_network_t *self, int64_t low_ms, int64_t high_ms); /* all sites without a stream */
void sim_network_break(sim_network_t *self, uint32_t site);
void sim_network_break_all(sim_network_t *self);
/*  Cut: nothing passes and no stream can be made. */
void sim_network_cut(sim_network_t *self, uint32_t site, bool cut);

/*  One message in so many takes up to 15 s, and those behind it wait; 0 = none. It draws by sim_draw. */
void sim_network_congest(sim_network_t *self, uint64_t one_in);

void sim_network_up(sim_network_t *self, uint32_t site, uint32_t kind, const helio_record_type_t *type,
                    const void *message);
void sim_network_down(sim_network_t *self, uint64_t peer, uint32_t kind, const helio_record_type_t *type,
                      const void *message);

uint64_t sim_network_peer(const sim_network_t *self, uint32_t site); /* of its newest stream */
/*  True: the peer's stream exists, and this is its site. */
bool sim_network_site_of(const sim_network_t *self, uint64_t peer, uint32_t *ret_site);
uint64_t sim_network_streams(const sim_network_t *self); /* ever made */

#endif
