/*  attempts.h -- the attempts that a site holds, from their acceptance until the broker has acknowledged their end. */
#ifndef HELIO_AGENT_ATTEMPTS_H
#define HELIO_AGENT_ATTEMPTS_H

#include "site-agent/core/internal.h"

struct helio_attempt {
    helio_known_t *known;
    helio_attempt_t *sibling;     /* of the same key, with other epochs */
    helio_attempt_t *prev, *next; /* of all, in the order of acceptance */
    uint64_t incarnation;
    helio_order_t order; /* its texts lie in `bytes` */
    helio_slot_t *slots; /* one block with their GPU lists; NULL if the core did not allocate them */
    uint32_t slot_count;
    uint32_t state;      /* helio_job_state_t, as in attempt_state.def */
    bool over;           /* it ended; only its report is held */
    bool start_due;      /* to be started once a session is open (again) */
    bool unproven;       /* the backend did not find it before its survey was complete: it is to look again */
    bool found;          /* reported by the backend, unknown to the journal: its size is unknown */
    uint32_t found_gpus; /* of all nodes, as its backend says; 0 = unknown */
    bool fenced;
    bool kept; /* found, and the broker counts on it here */
    uint32_t stop_mode;
    uint32_t stop_cause; /* helio_cause_t; NONE unless STOPPING */
    char stop_explanation[65];
    char stop_reason[65]; /* both as one text, which its row keeps for agents before version 4 */
    int64_t started_wall_ms;
    helio_evidence_t evidence;
    char bytes[];
};

helio_attempt_t *helio_attempt_find(const helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch);
/*  Copies the order; takes ownership of slots (a block of helio_slots_copy, can be NULL). */
helio_attempt_t *helio_attempt_add(helio_agent_core_t *self, uint64_t incarnation, const helio_order_t *order,
                                   helio_slot_t *slots, uint32_t slot_count);
void helio_attempt_load(helio_agent_core_t *self, const helio_jrow_attempt_t *row);
/*  Why it is to stop. */
void helio_attempt_explain_stop(helio_attempt_t *attempt, uint32_t cause, helio_text_t explanation);
void helio_attempt_over(helio_agent_core_t *self, helio_attempt_t *attempt); /* from now on only its report is held */
void helio_attempt_remove(helio_agent_core_t *self, helio_attempt_t *attempt);
void helio_attempt_row(helio_agent_core_t *self, const helio_attempt_t *attempt);

void helio_attempts_check(const helio_agent_core_t *self); /* see helio_agent_core_check */

/*  The tables of attempt_state.def. */
bool helio_attempt_edge(uint32_t from, uint32_t to);
bool helio_attempt_may_end(uint32_t from, uint32_t report);
bool helio_attempt_leased(const helio_attempt_t *attempt); /* stops when its lease ends */

/*  An epoch of the job was accepted or refused: records it, and stores its row. */
void helio_epoch_seen(helio_agent_core_t *self, helio_known_t *known, uint32_t epoch);

#endif
