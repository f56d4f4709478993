/*  happening.h -- something that targets can be told: read from what the broker says, and written as the body of a
 *  notification. Pure.
 *
 *  The same happening has the same key whenever and from wherever it is read, so that receivers can discard repeats.
 */
#ifndef HELIO_CLIENT_NOTIFY_HAPPENING_H
#define HELIO_CLIENT_NOTIFY_HAPPENING_H

#include <jansson.h>

#include "client/notify/core/targets.h"

enum { HELIO_HAPPENING_KEY_SIZE = 256, HELIO_MESSAGE_ID_SIZE = 1024, HELIO_HAPPENING_ABOUT_SIZE = 128 };

typedef struct helio_happening {
    helio_notify_event_t event;
    char key[HELIO_HAPPENING_KEY_SIZE];     /* among those of the event: the job, or the budget and its period */
    char about[HELIO_HAPPENING_ABOUT_SIZE]; /* what has an order: deliveries about one job follow one another */
    int64_t at_wall_ms;
    bool once;              /* no transition: it is true at every look, and is told once */
    int64_t forget_wall_ms; /* if once: later it cannot be seen again */
    json_t *job;            /* owned; NULL = none */
    json_t *more;           /* owned: of a deadline or a budget; NULL = none */
    char text[1024];        /* one sentence */
} helio_happening_t;

void helio_happening_clear(helio_happening_t *self);
/*  Borrowed from it. */
helio_notify_subject_t helio_happening_subject(const helio_happening_t *self);

/*  An event of /v1/events; false = it is none that can be told. */
HELIO_MUST_CHECK bool helio_happening_of_transition(const json_t *transition, helio_happening_t *ret_happening);
/*  Adds what GET /v1/jobs/{id} says; what the transition says stands. Then the sentence can be written. */
void helio_happening_add_job(helio_happening_t *self, const json_t *job);
/*  The state of a job, of those that became so at or after that time; of a held job, whenever it did. */
HELIO_MUST_CHECK bool helio_happening_of_job(const json_t *job, int64_t since_wall_ms,
                                             helio_happening_t *ret_happening);

/*  ---- deadlines and budgets ---- */

/*  job: of GET /v1/jobs/{id}. run: `run` of its explanation, what similar runs took; NULL = unknown, and the time limit
 *  counts, as it does when the broker places the job. False = the deadline is not at risk, or there is none. */
HELIO_MUST_CHECK bool helio_happening_of_deadline(const json_t *job, const json_t *run, int64_t now_wall_ms,
                                                  helio_happening_t *ret_happening);
/*  Its deadline; 0 = it is over, or has none. */
int64_t helio_deadline_of(const json_t *job);

/*  The highest threshold that a budget of a quota has reached. False = none. */
HELIO_MUST_CHECK bool helio_happening_of_budget(const json_t *quota, const json_t *budget, int64_t now_wall_ms,
                                                helio_happening_t *ret_happening);

/*  ---- bodies ---- */

void helio_happening_test(const char *target, int64_t now_wall_ms, helio_happening_t *ret_happening);

/*  "job_ended_01k9…": letters, digits, '_' and '-'. */
void helio_message_id(const helio_happening_t *self, helio_notify_event_t event, char ret_id[HELIO_MESSAGE_ID_SIZE]);
/*  {"id", "event", "at", "text", "job" …} */
void helio_message_write(const helio_happening_t *self, helio_notify_event_t event, const char *id,
                         helio_buffer_t *out);
/*  A message in a target's format. */
void helio_message_format(helio_text_t message, helio_notify_format_t format, helio_buffer_t *out);

#endif
