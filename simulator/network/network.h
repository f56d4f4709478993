/*  network.h -- ordered streams, one from each site to one broker. When a stream breaks, what is in flight is lost,
 *  both ends notice later, and the site dials a new one. A message is a kind and a record; the network reads neither.
 *
 *  The network reports to its ends through sim_ends_t. It reads the hosts to know which are up and which are paused.
 */
#ifndef HELIO_SIMULATOR_NETWORK_NETWORK_H
#define HELIO_SIMULATOR_NETWORK_NETWORK_H

#include "simulator/engine/host.h"

typedef struct sim_network sim_network_t;

enum { SIM_BROKERS_MAX = 2, SIM_EVERY_BROKER = SIM_BROKERS_MAX };

typedef struct sim_ends {
    void (*connected)(void *arg, uint32_t site);             /* to a site: it has a stream */
    void (*disconnected)(void *arg, uint32_t site);          /* to a site: it noticed that its stream is broken */
    void (*gone)(void *arg, uint32_t broker, uint64_t peer); /* to a broker: it noticed that this one is broken */
    bool (*admits)(void *arg, uint32_t broker);              /* a broker that does not lead refuses every site */
    void (*to_broker)(void *arg, uint32_t broker, uint32_t kind, const void *message);
    void (*to_site)(void *arg, uint32_t site, uint32_t kind, const void *message);
} sim_ends_t;

typedef struct sim_network_setup {
    sim_engine_t *engine;
    const sim_host_t *const *brokers; /* the hosts outlive the network */
    const sim_host_t *const *sites;
    uint32_t broker_count, site_count;
    /* the bounds of a site's back-off (federation/base/redial.h); 0: a site dials again after a short time */
    int64_t redial_least_ms, redial_most_ms;
    const sim_ends_t *ends;
    void *arg;
} sim_network_setup_t;

sim_network_t *sim_network_new(const sim_network_setup_t *setup); /* copied */
void sim_network_destroy(sim_network_t **self_p);

/*  A site dials until it has a stream. */
void sim_network_dial(sim_network_t *self, uint32_t site, int64_t delay_ms);
void sim_network_dial_all(sim_network_t *self, int64_t low_ms, int64_t high_ms); /* all sites without a stream */
void sim_network_break(sim_network_t *self, uint32_t site);
void sim_network_break_all(sim_network_t *self, uint32_t broker); /* all streams of this broker */
/*  The site gives its stream up, and dials the next broker. */
void sim_network_give_up(sim_network_t *self, uint32_t site);
/*  The broker refuses the peer. lasting: asking again does not help, so the site waits longer each time, until a broker
 *  has accepted it. */
void sim_network_refuse(sim_network_t *self, uint64_t peer, bool lasting);
void sim_network_accepted(sim_network_t *self, uint32_t site);

/*  Until then no stream can be made between the site and the broker, or SIM_EVERY_BROKER. BOTH: an existing one breaks.
 *  Otherwise one direction stands still, and the stream breaks when neither end has had an answer for long. */
typedef enum sim_way { SIM_WAY_BOTH, SIM_WAY_UP, SIM_WAY_DOWN } sim_way_t; /* UP: from the site to the broker */
void sim_network_cut(sim_network_t *self, uint32_t site, uint32_t broker, sim_way_t way, int64_t until_ms);
/*  The broker was paused: streams whose heartbeats it leaves unanswered for long are given up by their sites. */
void sim_network_paused(sim_network_t *self, uint32_t broker);

/*  One of `one_in` messages takes up to 15 s, and those behind it wait; 0 = none. Draws with sim_draw. */
void sim_network_congest(sim_network_t *self, uint64_t one_in);

void sim_network_up(sim_network_t *self, uint32_t site, uint32_t kind, const helio_record_type_t *type,
                    const void *message);
void sim_network_down(sim_network_t *self, uint64_t peer, uint32_t kind, const helio_record_type_t *type,
                      const void *message);

uint64_t sim_network_peer(const sim_network_t *self, uint32_t site); /* of its newest stream */
/*  True: the peer's stream exists, and *ret_site is its site. */
bool sim_network_site_of(const sim_network_t *self, uint64_t peer, uint32_t *ret_site);
uint64_t sim_network_streams(const sim_network_t *self); /* ever made */

#endif
