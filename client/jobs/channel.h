/*  channel.h -- one channel to a running job, over ordinary requests: opened by one that waits, read by long polls from an offset,
 *  written at an offset. What a broken connection lost is asked for again, so no byte is lost or repeated.
 *
 *  One thread. The requests go on in helio_remote_pump_with; helio_channel_turn does what is due between two of them. */
#ifndef HELIO_CLIENT_CHANNEL_H
#define HELIO_CLIENT_CHANNEL_H

#include <jansson.h>

#include "client/invocation/client.h"
#include "client/transport/remote.h"

enum { HELIO_CHANNEL_INPUT_MAX = 256 << 10 }; /* bytes that wait to be sent */

typedef struct helio_channel helio_channel_t;

/*  Output as it comes. stream: 1 = output, 2 = error. */
typedef void helio_channel_fn(void *arg, uint32_t stream, const char *bytes, size_t size);

/*  Asks for it, and waits for the answer. ask: the body of that request, which is consumed. Otherwise it prints why not,
 *  and returns the exit code. */
HELIO_MUST_CHECK int helio_channel_open(const helio_client_t *client, const char *job, json_t *ask,
                                        helio_channel_fn *on_output, void *arg, helio_channel_t **ret_channel);
void helio_channel_destroy(helio_channel_t **self_p); /* closes it, unless it has ended */

void helio_channel_turn(helio_channel_t *self);
/*  How long the caller may wait in the pump. */
uint32_t helio_channel_wait_ms(const helio_channel_t *self);
/*  While set, no more output is asked for. */
void helio_channel_pause(helio_channel_t *self, bool paused);

/*  How many bytes of input are taken now. */
size_t helio_channel_room(const helio_channel_t *self);
void helio_channel_write(helio_channel_t *self, const char *bytes, size_t size);
void helio_channel_write_end(helio_channel_t *self);
void helio_channel_resize(helio_channel_t *self, uint32_t rows, uint32_t columns);

bool helio_channel_is_open(const helio_channel_t *self); /* its agent has said so */
bool helio_channel_is_over(const helio_channel_t *self); /* all its output has come */
/*  Of one that is over. Prints why it failed, if it did, and returns the exit code: of the command, or helio's own. */
int helio_channel_exit(const helio_channel_t *self);

#endif
