/*  submit.h -- documents that are submitted. */
#ifndef HELIO_BROKER_CORE_REQUESTS_SUBMIT_H
#define HELIO_BROKER_CORE_REQUESTS_SUBMIT_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"
#include "federation/base/id.h"
#include "federation/base/memory.h"
#include "federation/policy/requirement.h"

intake_t *core_intake_new(void);
void core_intake_destroy(intake_t **self_p);

helio_uuid_t core_newest_job(const helio_broker_core_t *self); /* the last id given, by this leader or one before it */
void core_ids_continue_after(helio_broker_core_t *self, helio_uuid_t newest);
void core_on_submit(helio_broker_core_t *self, const helio_ev_submit_t *event);
/*  What a submission becomes once the queue's and the tenant's defaults are known. NULL: there is no such queue. */
queue_t *core_resolve(helio_broker_core_t *self, const tenant_t *tenant, const helio_submission_t *job,
                      helio_text_t *ret_home, uint64_t *ret_time_limit_ms);
tenant_t *core_tenant_of(helio_broker_core_t *self, const helio_ev_submit_t *event); /* NULL: answered */
void core_reply_queue(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                       const char *where); /* there is none of that name */
void core_key_put(helio_broker_core_t *self, helio_text_t tenant, helio_text_t key, const uint8_t spec_hash[32],
                  helio_uuid_t job);
/*  Where it fits, does its deadline forbid a start now (or at not_before_ms) everywhere? Answers, with the remedy,
 *  and is false. want: with what is expected of its run. */
bool core_deadline_check(helio_broker_core_t *self, uint64_t call, const char *where, const helio_requirement_t *want,
                         queue_t *queue, int64_t not_before_ms, const char *remedy);
/*  What who submits them should know though nothing is wrong; "" = nothing. */
const char *core_submit_note(helio_broker_core_t *self, const helio_submission_t *jobs, uint32_t count);

#endif
