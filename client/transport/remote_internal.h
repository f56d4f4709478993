/*  remote_internal.h -- the structs behind remote.h, for remote.c and remote_wait.c only. */
#ifndef HELIO_CLIENT_REMOTE_INTERNAL_H
#define HELIO_CLIENT_REMOTE_INTERNAL_H

#include <curl/curl.h>

#include "client/invocation/brokers.h"
#include "client/transport/remote.h"
#include "federation/base/rng.h"

/*  One transfer: of a request, or of a stream. */
struct helio_stream {
    helio_remote_t *remote;
    CURL *easy;
    struct curl_slist *headers;
    helio_response_t response; /* body: of a call, or of a stream's problem */
    helio_stream_options_t options;
    uint32_t broker; /* index */
    bool is_call;
    bool over;
    CURLcode result;
    char error[CURL_ERROR_SIZE];
};

struct helio_remote {
    const helio_client_io_t *io;
    const helio_settings_t *settings;
    CURLM *multi;
    struct curl_slist *headers; /* of every request */
    helio_rng_t rng;
    helio_arena_t *arena;
    helio_brokers_t brokers;
    uint32_t current; /* index of the broker in use */
};

/*  remote_wait.c */
/*  Whether another broker can do better. */
bool helio_transfer_is_away(const helio_stream_t *transfer);
/*  Leaves a broker that is away, unless another transfer has done so already. */
void helio_transfer_change_broker(helio_remote_t *self, const helio_stream_t *transfer);

#endif
