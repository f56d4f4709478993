/*  ports.c -- the ports to the real engine, reader and forwarder. A file of its own, so that a test with other ports
 *  links none of them. */
#include "broker/http/http.h"

static helio_rc post(void *engine, helio_call_t *call)
{
    return helio_engine_post(engine, call);
}

static helio_rc read_from(void *reader, helio_read_t *read)
{
    return helio_reader_post(reader, read);
}

static helio_rc forward_to(void *forwarder, helio_forward_t *forward)
{
    return helio_forwarder_post(forwarder, forward);
}

helio_http_ports_t helio_http_ports(helio_engine_t *engine, helio_reader_t *reader, helio_forwarder_t *forwarder)
{
    return (helio_http_ports_t){.post = post,
                                .read = read_from,
                                .engine = engine,
                                .reader = reader,
                                .forward = forward_to,
                                .forwarder = forwarder,
                                .core = helio_engine_core_options(engine)};
}
