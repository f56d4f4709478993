/*  leader_watch.h -- what is found at the address that the leader gives: asked each second with a probe.
 *
 *  | the probe's answer                 | the way is | forwards | ready to follow |
 *  |------------------------------------|------------|----------|-----------------|
 *  | none so far                        | UNKNOWN    | go       | no              |
 *  | of a broker that leads             | LEADS      | go       | yes             |
 *  | of another one, for some seconds   | LEADS      | go       | yes: it takes over |
 *  | of another one, for longer         | ELSEWHERE  | go       | no              |
 *  | of this process                    | ITSELF     | refused  | no, for some seconds |
 *  | of no broker                       | NO_BROKER  | refused  | no              |
 *  | none in time, or no connection     | SILENT     | refused  | no              |
 *
 *  The thread of the waiting requests drives it, the forwarder's answers, and any can ask. */
#ifndef HELIO_BROKER_HTTP_REQUEST_LEADER_WATCH_H
#define HELIO_BROKER_HTTP_REQUEST_LEADER_WATCH_H

#include "broker/forward/forwarder.h"
#include "broker/http/request/leadership.h"
#include "broker/http/request/options.h"
#include "federation/base/log.h"
#include "federation/reason/detail.h"

typedef struct helio_leader_watch helio_leader_watch_t;

/*  instance: this process, as its forwards name it; it must outlive self, as the log must. */
helio_leader_watch_t *helio_leader_watch_new(const char *instance, helio_log_t *log);
void helio_leader_watch_destroy(helio_leader_watch_t **self_p); /* after the forwarder has ended */

/*  Sends a probe when one is due. leader: the broker that this one follows; NULL: none, or one that advertises no
 *  address. */
void helio_leader_watch_drive(helio_leader_watch_t *self, const helio_http_ports_t *ports,
                              const helio_leader_view_t *leader, int64_t now_ms);

/*  Why this broker does not forward to leader now, or with is_strict why it is not ready to: a detail whose value is the
 *  address. NONE: nothing is wrong. */
helio_detail_code_t helio_leader_watch_objection(helio_leader_watch_t *self, const helio_leader_view_t *leader,
                                                 bool is_strict, int64_t now_ms);

#endif
