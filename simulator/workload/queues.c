/*  queues.c -- operators change queues while everything else goes wrong: priorities for a limited time, by schedule, in
 *  one region or everywhere. They create and remove a queue, and set overflow groups. Every promise must hold in any
 *  scheduling order. */
#include "simulator/workload/internal.h"

enum { CHANGES = 16 };

static const char *const names[] = {"standard", "batch"};
static const char *const regions[] = {"", "EU", "US-CAL", "nowhere"};
static const char *const schedules[] = {"00:00-24:00", "Mon..Fri 00:00-12:00", "Sat,Sun 06:00-05:00",
                                        "12:00-13:00; Sun 00:00-01:00"};

static void set_rule(sim_workload_t *self, uint32_t number, uint64_t draw)
{
    bool lasts = draw / 64 % 2;
    helio_ev_queue_rule_t event = {
        .call = QUEUES_CALL + number,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(names[draw / 4 % 2]),
        .region = helio_text_of(regions[draw / 8 % 4]),
        .schedule = helio_text_of(lasts ? schedules[draw / 128 % 4] : ""),
        .for_ms = lasts ? 0 : 1 + draw / 1024 % 600000,
        .priority = (uint32_t)(draw / 4096 % 3 * 300),
        .remove = draw / 512 % 4 == 0,
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_QUEUE_RULE, &event);
}

static void set_queue(sim_workload_t *self, uint32_t number, uint64_t draw)
{
    bool other = draw / 4 % 2;
    helio_ev_queue_t event = {
        .call = QUEUES_CALL + number,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(other ? "other" : names[draw / 8 % 2]),
        .priority_given = true,
        .priority = (uint32_t)(draw / 64 % 4 * 200),
        .remove = other && draw / 16 % 2,
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_QUEUE, &event);
}

/*  Each group is bound to one tenant or queue, so that none blocks another. The last step names every site, so that
 *  every job can end. */
static void set_group(sim_workload_t *self, uint32_t number, uint64_t draw)
{
    static const char *const steps[] = {"site0; *,after=2m",
                                        "site1, site2; site0, after=1m; *, after=5m",
                                        "*",
                                        "site2; *,after=1s",
                                        "site0; site1; *",
                                        "nowhere; site3; *,after=3m"};
    uint32_t who = (uint32_t)(draw / 4 % 3);
    helio_ev_overflow_t event = {
        .call = QUEUES_CALL + number,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .name = helio_text_of(((const char *const[]){"one", "two", "three"})[who]),
        .queue = helio_text_of(who == 0   ? "standard"
                               : who == 1 ? "batch"
                                          : ""),
        .tenant = helio_text_of(who == 0   ? ""
                                : who == 1 ? "red"
                                           : "blue"),
        .steps = helio_text_of(steps[draw / 16 % 6]),
        .remove = draw / 128 % 4 == 0,
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_OVERFLOW, &event);
}

static void on_change(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = sim_draw(self->engine, 5, item->number);
    if (!workload_broker(self))
        return;
    if (draw % 4 == 1)
        set_group(self, (uint32_t)item->number, draw);
    else if (draw % 4)
        set_rule(self, (uint32_t)item->number, draw);
    else
        set_queue(self, (uint32_t)item->number, draw);
}

/*  In a third of the worlds. */
void workload_queues_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; i < CHANGES && sim_seed(self->engine) % 3 == 0; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 6, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, i < 4 ? 0 : at_ms, on_change, self)->number = i;
    }
}

/*  The queue to remove may not exist. */
void workload_queues_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK && reply->rc != HELIO_NOT_FOUND)
        workload_refused(self, reply, "a good change of a queue was refused");
}
