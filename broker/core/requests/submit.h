/*  submit.h -- submissions: checks, ids, idempotency keys. */
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

helio_uuid_t core_newest_job(const helio_broker_core_t *self); /* the last id given, by this leader or an earlier one */
void core_ids_continue_after(helio_broker_core_t *self, helio_uuid_t newest);
void core_on_submit(helio_broker_core_t *self, const helio_ev_submit_t *event);
/*  The queue, home site and time limit of a submission, with the defaults of queue and tenant. NULL: no such queue. */
queue_t *core_resolve(helio_broker_core_t *self, const tenant_t *tenant, const helio_submission_t *job,
                      helio_text_t *ret_home, uint64_t *ret_time_limit_ms);
tenant_t *core_tenant_of(helio_broker_core_t *self, const helio_ev_submit_t *event); /* NULL: it has replied */
/*  Replies that the queue does not exist. number: the job's number among several, from 1; 0 = the only one. */
void core_reply_queue(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                      uint32_t number);
/*  What makes the digests of idempotency keys unpredictable; before the first of them. */
void core_intake_secret(helio_broker_core_t *self, uint64_t secret);
/*  Remembers an idempotency key of a tenant, with the hash of its document and the job. */
void core_key_put(helio_broker_core_t *self, helio_text_t tenant, helio_text_t key, const uint8_t spec_hash[32],
                  helio_uuid_t job);
/*  Why a job cannot meet its deadline: it would end later even if it started now, or at not_before_ms, in every pool
 *  where it fits. NONE: it can. want: with the expected run time; number: as above. */
helio_detail_t core_deadline_fault(helio_broker_core_t *self, const helio_requirement_t *want, queue_t *queue,
                                   int64_t not_before_ms, uint32_t number);
/*  A shorter run does not help where the deadline is before any start. */
helio_detail_t core_deadline_remedy(const helio_broker_core_t *self, const helio_requirement_t *want,
                                    int64_t not_before_ms);
/*  Refuses for that fault. remedy: what to do about it; outcome: what the request has not done. */
void core_reply_deadline(helio_broker_core_t *self, uint64_t call, helio_detail_t fault, helio_detail_t remedy,
                         helio_detail_t outcome);
/*  The input warnings of an accepted submission. */
helio_details_t core_submit_note(helio_broker_core_t *self, const helio_submission_t *jobs, uint32_t count);

#endif
