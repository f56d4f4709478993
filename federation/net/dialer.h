/*  dialer.h -- one connection at a time to one of several servers, maintained by redialling.
 *
 *  DEALER with CURVE; the public key of each server is pinned. A connection counts once the CURVE handshake is
 *  complete. Until then nothing can be sent, so that no stale message waits for a server that returns. A lost
 *  connection drops messages that were not yet on the wire: protocols repeat them until they are acknowledged. After a
 *  loss or a failure, the next target is tried after a jittered back-off, which doubles from backoff_min_ms to
 *  backoff_max_ms and is reset once something has been received.
 *
 *  Thread: the loop's. Callbacks run in the loop, never inside a call of this header, and may call everything here
 *  except helio_dialer_destroy.
 */
#ifndef HELIO_NET_DIALER_H
#define HELIO_NET_DIALER_H

#include <stdbool.h>
#include <stdint.h>

#include "federation/base/memory.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

typedef struct helio_dialer helio_dialer_t;

typedef struct helio_dialer_target {
    const char *endpoint;   /* "tcp://broker.example:7443" */
    const char *server_key; /* its public key, Z85 */
} helio_dialer_target_t;

/*  Zero selects the default in brackets. Strings are copied; the secret key is wiped when the dialer is destroyed. */
typedef struct helio_dialer_options {
    const helio_dialer_target_t *targets; /* in order of preference; the first is tried first */
    size_t target_count;
    const char *secret_key;   /* own, Z85 */
    uint32_t frame_max_bytes; /* [1 MiB] */
    uint32_t queue_messages;  /* ZeroMQ's high-water mark per direction; beyond it, sending returns HELIO_BUSY [128] */
    uint32_t burst;           /* messages served per turn of the loop [256] */
    int64_t connect_ms;       /* limit of an attempt, including the handshake [10 s] */
    int64_t backoff_min_ms;   /* [250 ms] */
    int64_t backoff_max_ms;   /* [30 s] */
    int linger_ms;            /* how long destroying may wait for sent messages [1 s; -1 = not at all] */
    uint64_t seed;            /* of the jitter; different for each dialer [from its address and the clock] */
    void (*on_message)(void *arg, helio_text_t frame);     /* the view lives during this call */
    void (*on_connected)(void *arg, const char *endpoint); /* may be NULL */
    void (*on_disconnected)(void *arg, const char *endpoint,
                            const char *why);                            /* after on_connected only; may be NULL */
    void (*on_failed)(void *arg, const char *endpoint, const char *why); /* an attempt failed; may be NULL */
    void *arg;
} helio_dialer_options_t;

/*  Dials in the loop's next turn. HELIO_INVALID names the invalid endpoint or key. */
HELIO_MUST_CHECK helio_rc helio_dialer_new(helio_net_t *net, helio_loop_t *loop, const helio_dialer_options_t *options,
                                           helio_dialer_t **ret_dialer, helio_error_t *err);
void helio_dialer_destroy(helio_dialer_t **self_p); /* calls nothing back */

/*  Never blocks. HELIO_BUSY: the queue is full, try later; HELIO_UNAVAILABLE: not connected; HELIO_TOO_BIG;
 *  HELIO_INVALID: empty. HELIO_OK does not imply delivery. */
HELIO_MUST_CHECK helio_rc helio_dialer_send(helio_dialer_t *self, helio_text_t frame);
bool helio_dialer_is_connected(const helio_dialer_t *self);
/*  The endpoint in use or being dialled; lives as long as the dialer. */
const char *helio_dialer_endpoint(const helio_dialer_t *self);
/*  Hangs up and continues with the next target after the back-off: for a server that does not lead, or that has not
 *  answered for too long. on_disconnected follows if it was connected. times: how often in a row this was needed, 0
 *  or 1 for the first back-off; otherwise an established connection does not count as a failure. */
void helio_dialer_redial(helio_dialer_t *self, const char *why, uint32_t times);

#endif
