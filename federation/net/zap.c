/*  zap.c -- answers libzmq's authentication requests from the table of grants. */
#include "federation/net/zap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/net/internal.h"

/*  A request has seven parts with CURVE; PART_MAX is far larger than any part that is compared here. */
enum { PARTS = 7, PART_MAX = 255, BURST = 64, CURVE_BYTES = 32 };
enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, ROUTING_ID, MECHANISM, CREDENTIALS };

static const char ENDPOINT[] = "inproc://zeromq.zap.01"; /* as in RFC 27 */
static const char DOMAIN_FORM[] = "heliostat/%" PRIu64;

typedef struct part {
    char bytes[PART_MAX];
    size_t size;
} part_t;

struct helio_zap {
    void *socket;
    helio_source_t *source;
    helio_zap_fn *allowed;
    void *arg;
    uint64_t accepted, refused;
};

static bool part_is(const part_t *part, const char *text)
{
    return part->size == strlen(text) && memcmp(part->bytes, text, part->size) == 0;
}

/*  False if no request is left. A request of another shape leaves parts empty and is therefore refused. */
static bool receive(helio_zap_t *self, part_t parts[PARTS])
{
    memset(parts, 0, PARTS * sizeof parts[0]);
    for (int i = 0; i < PARTS; i++) {
        int size = zmq_recv(self->socket, parts[i].bytes, PART_MAX, ZMQ_DONTWAIT);
        if (size < 0)
            return false;
        parts[i].size = size <= PART_MAX ? (size_t)size : 0;
        int more = 0;
        size_t option = sizeof more;
        if (zmq_getsockopt(self->socket, ZMQ_RCVMORE, &more, &option) != 0 || !more)
            return true;
    }
    helio_socket_skip_parts(self->socket);
    return true;
}

void helio_zap_domain(uint64_t number, char ret_domain[HELIO_ZAP_DOMAIN_SIZE])
{
    (void)snprintf(ret_domain, HELIO_ZAP_DOMAIN_SIZE, DOMAIN_FORM, number);
}

/*  The domain is our own text, so it is compared with what we would write. */
static bool number_of(const part_t *domain, uint64_t *ret_number)
{
    char text[HELIO_ZAP_DOMAIN_SIZE] = "", again[HELIO_ZAP_DOMAIN_SIZE];
    if (domain->size >= sizeof text)
        return false;
    memcpy(text, domain->bytes, domain->size);
    const char *digits = strchr(text, '/');
    *ret_number = digits ? strtoull(digits + 1, NULL, 10) : 0;
    helio_zap_domain(*ret_number, again);
    return strcmp(text, again) == 0;
}

static helio_zap_answer_t judge(const helio_zap_t *self, const part_t parts[PARTS], char ret_key[HELIO_CURVE_SIZE])
{
    uint64_t number;
    if (!part_is(&parts[VERSION], "1.0") || !number_of(&parts[DOMAIN], &number) ||
        !part_is(&parts[MECHANISM], "CURVE") || parts[CREDENTIALS].size != CURVE_BYTES ||
        !zmq_z85_encode(ret_key, (const uint8_t *)parts[CREDENTIALS].bytes, CURVE_BYTES))
        return HELIO_ZAP_UNKNOWN;
    return self->allowed(self->arg, number, ret_key);
}

/*  If the answer cannot be sent, the handshake times out, and the peer is not admitted. */
static void answer(helio_zap_t *self, const part_t *request_id, helio_zap_answer_t verdict, const char *user)
{
    const char *code = verdict == HELIO_ZAP_KNOWN ? "200" : verdict == HELIO_ZAP_CLOSED ? "500" : "400";
    const char *text = verdict == HELIO_ZAP_KNOWN    ? "OK"
                       : verdict == HELIO_ZAP_CLOSED ? "no agent is admitted now"
                                                     : "key not known";
    const struct {
        const char *bytes;
        size_t size;
    } parts[] = {{"1.0", 3},           {request_id->bytes, request_id->size},
                 {code, strlen(code)}, {text, strlen(text)},
                 {user, strlen(user)}, {"", 0}};
    size_t count = sizeof parts / sizeof parts[0];
    for (size_t i = 0; i < count; i++)
        if (zmq_send(self->socket, parts[i].bytes, parts[i].size, ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0)) < 0)
            return;
}

static void on_request(void *arg)
{
    helio_zap_t *self = arg;
    part_t parts[PARTS];
    for (int i = 0; i < BURST && receive(self, parts); i++) {
        char key[HELIO_CURVE_SIZE] = "";
        helio_zap_answer_t verdict = judge(self, parts, key);
        self->accepted += verdict == HELIO_ZAP_KNOWN;
        self->refused += verdict != HELIO_ZAP_KNOWN;
        answer(self, &parts[REQUEST_ID], verdict, verdict == HELIO_ZAP_KNOWN ? key : "");
    }
}

helio_rc helio_zap_new(helio_net_t *net, helio_loop_t *loop, helio_zap_fn *allowed, void *arg, helio_zap_t **ret_zap,
                       helio_error_t *err)
{
    void *socket = zmq_socket(helio_net_context(net), ZMQ_REP);
    if (!socket)
        return helio_fail(err, HELIO_IO, "cannot create the authenticator's socket: %s", zmq_strerror(errno));
    if (!helio_socket_int(socket, ZMQ_LINGER, 0) || zmq_bind(socket, ENDPOINT) != 0) {
        bool taken = errno == EADDRINUSE;
        const char *why = zmq_strerror(errno);
        (void)zmq_close(socket);
        return taken ? helio_fail(err, HELIO_CONFLICT, "this net already has a server: use one net per server")
                     : helio_fail(err, HELIO_IO, "cannot bind the authenticator: %s", why);
    }
    helio_zap_t *self = helio_new(1, sizeof *self);
    *self = (helio_zap_t){.socket = socket, .allowed = allowed, .arg = arg};
    self->source = helio_source_of_socket(loop, socket, on_request, self);
    *ret_zap = self;
    return HELIO_OK;
}

void helio_zap_destroy(helio_zap_t **self_p)
{
    helio_zap_t *self = *self_p;
    if (!self)
        return;
    helio_source_destroy(&self->source);
    (void)zmq_unbind(self->socket, ENDPOINT); /* at once; zmq_close would do it some time later */
    (void)zmq_close(self->socket);
    free(self);
    *self_p = NULL;
}

void helio_zap_counters(const helio_zap_t *self, uint64_t *ret_accepted, uint64_t *ret_refused)
{
    *ret_accepted = self->accepted;
    *ret_refused = self->refused;
}
