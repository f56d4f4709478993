/*  listener.c -- what the engine tells the HTTP server: transitions wake streams, and who may ask and who leads is kept. */
#include "broker/http/http.h"
#include "broker/http/request/request.h"
#include "broker/http/request/waiting_requests.h"
#include "federation/base/clock.h"

static void on_transition(void *arg, const helio_row_transition_t *transition)
{
    helio_http_t *self = arg;
    if (transition->to < HELIO_JOB_STATE_COUNT)
        (void)atomic_fetch_add_explicit(&self->metrics.transitions[transition->to], 1, memory_order_relaxed);
    helio_waiting_requests_notify(self->waiting_requests, transition->seq);
}

static void on_token(void *arg, const helio_row_token_t *token)
{
    helio_http_t *self = arg;
    helio_token_table_put(self->tokens, token);
    if (token->revoked_ms)
        helio_waiting_requests_notify(self->waiting_requests, 0); /* its streams end now, not at their next event */
}

static void on_principal(void *arg, const helio_row_principal_t *principal)
{
    helio_http_t *self = arg;
    helio_token_table_disable(self->tokens, principal);
    if (principal->disabled_ms)
        helio_waiting_requests_notify(self->waiting_requests, 0); /* as for a revoked token */
}

static void on_access_begin(void *arg)
{
    helio_http_t *self = arg;
    helio_token_table_begin(self->tokens);
}

static void on_access_end(void *arg)
{
    helio_http_t *self = arg;
    helio_token_table_end(self->tokens, helio_clock_wall_ms());
    helio_waiting_requests_notify(self->waiting_requests, 0); /* streams whose token is gone end now */
}

static void on_leading(void *arg)
{
    helio_http_t *self = arg;
    helio_leadership_lead(self->leadership);
}

/*  The leader's transitions wake the streams of this broker, too. */
static void on_following(void *arg, const helio_leader_t *leader)
{
    helio_http_t *self = arg;
    helio_leadership_follow(self->leadership, leader, leader ? leader->looked_ms : helio_clock_boot_ms());
    if (leader && leader->last_seq > helio_waiting_requests_seq(self->waiting_requests))
        helio_waiting_requests_notify(self->waiting_requests, leader->last_seq);
}

helio_engine_listener_t helio_http_listener(helio_http_t *self)
{
    return (helio_engine_listener_t){.on_transition = on_transition,
                                     .on_token = on_token,
                                     .on_principal = on_principal,
                                     .on_access_begin = on_access_begin,
                                     .on_access_end = on_access_end,
                                     .on_following = on_following,
                                     .on_leading = on_leading,
                                     .arg = self};
}
