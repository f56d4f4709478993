/*  reports.c -- reports in the order of their numbers: appended at the tail, acknowledged from the head. */
#include "site-agent/core/reports.h"

#include <assert.h>
#include <stdlib.h>

#include "federation/reason/codes.h"

/*  A report that is not yet acknowledged. */
typedef struct helio_pending {
    helio_report_t report; /* its texts are the arrays below */
    char explanation[257];
    char reason[257];
    char local_id[65];
    struct helio_pending *next;
} helio_pending_t;

struct helio_reports {
    helio_pending_t *first, *last;
    uint32_t count;
};

helio_reports_t *helio_reports_new(void)
{
    return helio_new(1, sizeof(helio_reports_t));
}

void helio_reports_destroy(helio_reports_t **self_p)
{
    helio_reports_t *self = *self_p;
    if (!self)
        return;
    while (self->first) {
        helio_pending_t *pending = self->first;
        self->first = pending->next;
        free(pending);
    }
    free(self);
    *self_p = NULL;
}

uint32_t helio_reports_count(const helio_agent_core_t *self)
{
    return self->reports->count;
}

bool helio_report_is_end(uint32_t kind)
{
    return kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED || kind == HELIO_REPORT_KIND_LOST;
}

/*  A text of a backend can hold any bytes. In a report people read it, and it must fit the journal and the wire. */
static void keep_text(helio_text_t *text, char *into, size_t capacity)
{
    (void)helio_text_copy(*text, into, capacity);
    for (char *c = into; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *c = '?';
    *text = helio_text_of(into);
}

static helio_pending_t *append(helio_reports_t *self, const helio_report_t *report)
{
    helio_pending_t *pending = helio_new(1, sizeof *pending);
    pending->report = *report;
    keep_text(&pending->report.explanation, pending->explanation, sizeof pending->explanation);
    pending->report.reason =
        helio_cause_text(pending->report.cause, pending->report.explanation, pending->reason, sizeof pending->reason);
    keep_text(&pending->report.local_id, pending->local_id, sizeof pending->local_id);
    if (self->last)
        self->last->next = pending;
    else
        self->first = pending;
    self->last = pending;
    self->count++;
    return pending;
}

void helio_reports_add(helio_agent_core_t *self, const helio_report_t *report)
{
    assert(report->kind < HELIO_REPORT_KIND_COUNT);
    helio_pending_t *pending = append(self->reports, report);
    pending->report.seq = ++self->meta.report_seq;
    pending->report.wall_ms = self->event->wall_ms;
    self->meta_changed = true;
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_REPORT, &pending->report);
    if (helio_session_is_open(self))
        helio_agent_emit(self, HELIO_AGENT_FX_SEND_REPORT, &pending->report);
}

void helio_reports_load(helio_agent_core_t *self, const helio_report_t *report)
{
    assert(!self->reports->last || self->reports->last->report.seq < report->seq); /* the journal loads in order */
    helio_report_t whole = *report;
    helio_cause_derive(report->reason, &whole.cause, &whole.explanation); /* written by an agent before version 4 */
    append(self->reports, &whole);
    if (report->seq > self->meta.report_seq)
        self->meta.report_seq = report->seq;
}

void helio_reports_loaded(helio_agent_core_t *self)
{
    for (const helio_pending_t *pending = self->reports->first; pending; pending = pending->next) {
        const helio_report_t *report = &pending->report;
        helio_attempt_t *attempt =
            helio_report_is_end(report->kind) ? helio_attempt_find(self, report->key, report->epoch) : NULL;
        if (attempt && !attempt->over)
            helio_attempt_over(self, attempt);
    }
}

bool helio_reports_resend(helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch)
{
    bool held = false;
    for (const helio_pending_t *pending = self->reports->first; pending; pending = pending->next)
        if (pending->report.epoch == epoch && helio_job_key_equal(pending->report.key, key)) {
            helio_agent_emit(self, HELIO_AGENT_FX_SEND_REPORT, &pending->report);
            held = true;
        }
    return held;
}

void helio_reports_resend_all(helio_agent_core_t *self)
{
    for (const helio_pending_t *pending = self->reports->first; pending; pending = pending->next)
        helio_agent_emit(self, HELIO_AGENT_FX_SEND_REPORT, &pending->report);
}

/*  The end of an attempt is in the ledger: nothing of it needs to be held any more. */
static void forget(helio_agent_core_t *self, const helio_report_t *report)
{
    if (!helio_report_is_end(report->kind))
        return;
    helio_attempt_t *attempt = helio_attempt_find(self, report->key, report->epoch);
    if (!attempt || !attempt->over)
        return;
    helio_jrow_attempt_t row = {.state = HELIO_JOB_QUEUED, .order = {.key = report->key, .epoch = report->epoch}};
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    helio_afx_forget_t gone = {report->key, report->epoch};
    helio_agent_emit(self, HELIO_AGENT_FX_FORGET, &gone);
    helio_attempt_remove(self, attempt);
}

void helio_reports_acknowledge(helio_agent_core_t *self, uint64_t seq)
{
    /* A number that was never used acknowledges nothing. */
    if (seq > self->meta.report_seq) {
        self->figures.ignored_total++;
        return;
    }
    bool any = false;
    while (self->reports->first && self->reports->first->report.seq <= seq) {
        helio_pending_t *pending = self->reports->first;
        self->reports->first = pending->next;
        if (!self->reports->first)
            self->reports->last = NULL;
        self->reports->count--;
        forget(self, &pending->report);
        free(pending);
        any = true;
    }
    if (!any)
        return;
    helio_jrow_acked_t row = {seq};
    helio_agent_emit(self, HELIO_AGENT_FX_ROW_ACKED, &row);
}

void helio_reports_check(const helio_agent_core_t *self)
{
    uint32_t count = 0, over = 0, ends = 0;
    uint64_t seq = 0;
    for (const helio_pending_t *pending = self->reports->first; pending; pending = pending->next) {
        const helio_report_t *report = &pending->report;
        assert(report->seq > seq && report->seq <= self->meta.report_seq);
        assert(pending->next || pending == self->reports->last);
        seq = report->seq;
        count++;
        const helio_attempt_t *attempt =
            helio_report_is_end(report->kind) ? helio_attempt_find(self, report->key, report->epoch) : NULL;
        assert(!attempt || attempt->over || !self->loaded);
        ends += attempt != NULL;
    }
    assert(count == self->reports->count);
    for (const helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next)
        over += attempt->over;
    assert(over == ends || !self->loaded);
}
