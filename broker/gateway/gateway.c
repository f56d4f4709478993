/*  gateway.c -- joins the ZeroMQ server, the table of site keys and the sessions. */
#include "broker/gateway/gateway.h"

#include <stdlib.h>

#include "federation/net/curve.h"
#include "federation/net/server.h"

/*  Of one key, over any few seconds. A busy site gathers a thousand reports a message, and a log that is followed is a
 *  few MB a second: neither comes near these. */
enum { RATE_MESSAGES_PER_S = 2000, RATE_BYTES_PER_S = 16 << 20 };

struct helio_gateway {
    helio_server_t *server;
    helio_sessions_t *sessions;
    helio_log_t *log;
    helio_log_limit_t bad_limit, refused_limit;
};

/* Agents that are refused ask again every second, for as long as a broker is without its database. */
enum { REFUSALS_LOGGED_A_SECOND = 2 };

static helio_rc send_frame(void *arg, uint64_t peer, helio_text_t frame)
{
    helio_gateway_t *self = arg;
    return helio_server_send(self->server, peer, frame);
}

static void bad_frame(void *arg, helio_text_t site, helio_bad_frame_t why, const char *text)
{
    helio_gateway_t *self = arg;
    uint32_t dropped;
    if (!helio_log_allowed(&self->bad_limit, 10, &dropped))
        return;
    char name[160], detail[600];
    helio_log(self->log, HELIO_WARN, "frame_dropped", "site=%s why=%s detail=%s not_logged=%u",
              helio_log_quote(site, name, sizeof name), helio_bad_frame_name(why),
              helio_log_quote(helio_text_of(text), detail, sizeof detail), dropped);
}

static void refused(void *arg, helio_text_t site, helio_rc rc, helio_text_t text)
{
    helio_gateway_t *self = arg;
    uint32_t dropped;
    if (!helio_log_allowed(&self->refused_limit, REFUSALS_LOGGED_A_SECOND, &dropped))
        return;
    char name[160], quoted[700];
    helio_log(self->log, HELIO_WARN, "agent_refused", "site=%s code=%s text=%s not_logged=%u",
              helio_log_quote(site, name, sizeof name), helio_rc_name(rc), helio_log_quote(text, quoted, sizeof quoted),
              dropped);
}

static void on_message(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame)
{
    helio_gateway_t *self = arg;
    helio_sessions_frame(self->sessions, principal, peer, frame);
}

static void on_gone(void *arg, uint64_t peer, helio_gone_t why)
{
    helio_gateway_t *self = arg;
    /* An agent whose key is revoked cannot come back: it is not awaited, as if it had said goodbye. */
    helio_sessions_gone(self->sessions, peer, helio_gone_name(why), why == HELIO_GONE_REVOKED);
}

helio_rc helio_gateway_new(helio_net_t *net, helio_loop_t *loop, const helio_gateway_options_t *options,
                           helio_gateway_t **ret_gateway, helio_error_t *err)
{
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    helio_rc rc = helio_keypair_load(options->secret_key_path, &pair, err);
    if (rc == HELIO_NOT_FOUND)
        return helio_fail(err, rc, "%s: the key file does not exist: create it with `helio-broker keygen %s`",
                          options->secret_key_path, options->secret_key_path);
    if (rc != HELIO_OK)
        return rc;
    helio_gateway_t *self = helio_new(1, sizeof *self);
    self->log = options->log;
    self->sessions = helio_sessions_new((helio_sessions_ports_t){.send = send_frame,
                                                                 .emit = options->emit,
                                                                 .bad = bad_frame,
                                                                 .refused = refused,
                                                                 .arg = self,
                                                                 .emit_arg = options->arg});
    helio_server_options_t server = {.endpoint = options->endpoint,
                                     .secret_key = pair.secret_key,
                                     .frame_max_bytes = HELIO_WIRE_FRAME_MAX,
                                     .rate = {RATE_MESSAGES_PER_S, RATE_BYTES_PER_S},
                                     .on_message = on_message,
                                     .on_gone = on_gone,
                                     .arg = self};
    rc = helio_server_new(net, loop, &server, &self->server, err);
    if (rc != HELIO_OK) {
        helio_gateway_destroy(&self);
        return rc;
    }
    *ret_gateway = self;
    return HELIO_OK;
}

void helio_gateway_destroy(helio_gateway_t **self_p)
{
    if (!*self_p)
        return;
    helio_sessions_destroy(&(*self_p)->sessions);
    helio_server_destroy(&(*self_p)->server);
    free(*self_p);
    *self_p = NULL;
}

void helio_gateway_site_key(helio_gateway_t *self, const helio_row_site_key_t *key)
{
    helio_error_t err = {0};
    char name[160];
    if (key->revoked_ms)
        helio_server_revoke(self->server, key->public_key);
    else if (key->site.size > HELIO_SITE_NAME_MAX ||
             helio_server_allow(self->server, key->public_key, key->site, &err) != HELIO_OK)
        helio_log(self->log, HELIO_ERROR, "site_key_unusable", "site=%s",
                  helio_log_quote(key->site, name, sizeof name));
}

uint64_t helio_gateway_slowed(const helio_gateway_t *self)
{
    helio_server_counters_t counters;
    helio_server_counters(self->server, &counters);
    return counters.slowed;
}

helio_sessions_t *helio_gateway_sessions(helio_gateway_t *self)
{
    return self->sessions;
}

const char *helio_gateway_endpoint(const helio_gateway_t *self)
{
    return helio_server_endpoint(self->server);
}

const char *helio_gateway_public_key(const helio_gateway_t *self)
{
    return helio_server_public_key(self->server);
}
