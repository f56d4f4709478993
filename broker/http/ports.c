/*  In a file of its own, so that a test with other ports links neither engine nor database. */
#include "broker/http/http.h"

static helio_rc post(void *engine, helio_call_t *call)
{
    return helio_engine_post(engine, call);
}

static helio_rc read_from(void *reader, helio_read_t *read)
{
    return helio_reader_post(reader, read);
}

helio_http_ports_t helio_http_ports(helio_engine_t *engine, helio_reader_t *reader)
{
    return (helio_http_ports_t){.post = post, .read = read_from, .engine = engine, .reader = reader};
}
