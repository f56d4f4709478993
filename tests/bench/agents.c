/*  agents.c -- agent doubles: sites that speak the whole protocol and run nothing. They report every order as accepted,
 *  starting, running and ended (10 ms of run time) at once, so the benchmark measures the federation and not processes.
 *      bench_agents ENDPOINT BROKER_KEY SITE:SECRET_KEY…      runs until it is killed */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/net/dialer.h"
#include "federation/wire/codec.h"
#include "federation/wire/messages.h"

enum { SITES_MAX = 256, NODES = 2000, GPUS = 8 };

typedef struct double_ {
    char name[33];
    helio_dialer_t *dialer;
    helio_timer_t *timer;
    helio_arena_t *arena;
    helio_buffer_t frame;
    uint64_t report_seq, summary_seq, dispatch_seen;
    bool open;
} double_t;

static void send(double_t *self, uint32_t message, const void *record)
{
    helio_error_t err;
    helio_buffer_reset(&self->frame);
    if (helio_wire_encode(message, record, &self->frame, &err) != HELIO_OK) {
        fprintf(stderr, "bench_agents: %s\n", err.text);
        exit(1);
    }
    if (helio_dialer_send(self->dialer, helio_buffer_view(&self->frame)) != HELIO_OK)
        fprintf(stderr, "bench_agents: a frame was not taken\n");
}

static void summarise(void *arg)
{
    double_t *self = arg;
    if (!self->open)
        return;
    static uint32_t free_nodes[GPUS + 1] = {[GPUS] = NODES};
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("h100"),
                                  .nodes_up = NODES,
                                  .gpus_total = NODES * GPUS,
                                  .free_nodes = {free_nodes, GPUS + 1},
                                  .cpus_free = NODES * 64};
    helio_msg_summary_t summary = {.summary = {.seq = ++self->summary_seq,
                                               .wall_ms = helio_clock_wall_ms(),
                                               .dispatch_seen = self->dispatch_seen,
                                               .pools = {&pool, 1},
                                               .power_w = -1}};
    send(self, HELIO_MSG_SUMMARY, &summary);
}

static void on_connected(void *arg, const char *endpoint)
{
    (void)endpoint;
    double_t *self = arg;
    self->open = false;
    helio_pool_t pool = {.name = HELIO_TEXT("h100"),
                         .gpu = HELIO_TEXT("H100"),
                         .gpu_memory_bytes = UINT64_C(80000000000),
                         .nodes = NODES,
                         .gpus_per_node = GPUS,
                         .cpus_per_node = 64,
                         .price_usd_per_gpu_h = 2};
    helio_msg_hello_t hello = {.protocol = HELIO_PROTOCOL_VERSION,
                               .protocol_min = HELIO_PROTOCOL_VERSION_MIN,
                               .agent_version = HELIO_TEXT("double"),
                               .wall_ms = helio_clock_wall_ms(),
                               .profile = {.name = helio_text_of(self->name),
                                           .backend = HELIO_TEXT("local"),
                                           .region = HELIO_TEXT("EU-SE"),
                                           .timezone = HELIO_TEXT("UTC"),
                                           .pue = 1.1,
                                           .carbon_g_per_kwh = 50,
                                           .pools = {&pool, 1}}};
    send(self, HELIO_MSG_HELLO, &hello);
}

static void run_orders(double_t *self, const helio_msg_orders_t *orders)
{
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_ACCEPTED, HELIO_REPORT_KIND_STARTING, HELIO_REPORT_KIND_RUNNING,
                                     HELIO_REPORT_KIND_ENDED};
    int64_t now = helio_clock_wall_ms();
    helio_report_t *reports = helio_arena_alloc(self->arena, 1000, sizeof *reports);
    uint32_t count = 0;
    for (uint32_t i = 0; i < orders->orders.count; i++) {
        const helio_order_t *order = &orders->orders.items[i];
        self->dispatch_seen = order->dispatch_seq;
        for (uint32_t k = 0; k < 4; k++) {
            bool end = kinds[k] == HELIO_REPORT_KIND_ENDED;
            reports[count++] = (helio_report_t){.seq = ++self->report_seq,
                                                .key = order->key,
                                                .epoch = order->epoch,
                                                .kind = kinds[k],
                                                .wall_ms = now,
                                                .started_wall_ms = k >= 2 ? now - 10 : 0,
                                                .ended_wall_ms = end ? now : 0,
                                                .run_ms = end ? 10 : 0,
                                                .gpu_ms = end ? 10ULL * order->gpus_per_node * order->nodes : 0};
        }
        if (count == 1000 || i + 1 == orders->orders.count) {
            helio_msg_reports_t message = {.reports = {reports, count}};
            send(self, HELIO_MSG_REPORTS, &message);
            count = 0;
        }
    }
}

static void on_message(void *arg, helio_text_t frame)
{
    double_t *self = arg;
    uint32_t message;
    void *record;
    helio_error_t err;
    helio_arena_reset(self->arena);
    if (helio_wire_decode(frame, self->arena, &message, &record, &err) != HELIO_OK) {
        fprintf(stderr, "bench_agents: %s\n", err.text);
        exit(1);
    }
    if (message == HELIO_MSG_WELCOME) {
        helio_msg_inventory_t inventory = {.last = true};
        send(self, HELIO_MSG_INVENTORY, &inventory);
    } else if (message == HELIO_MSG_VERDICTS && ((helio_msg_verdicts_t *)record)->last) {
        self->open = true;
        self->dispatch_seen = 0;
        summarise(self);
    } else if (message == HELIO_MSG_ORDERS) {
        run_orders(self, record);
    } else if (message == HELIO_MSG_REFUSAL) {
        fprintf(stderr, "bench_agents: refused: %.*s\n", HELIO_TEXT_ARGS(((helio_msg_refusal_t *)record)->text));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_agents ENDPOINT BROKER_KEY SITE:SECRET_KEY…\n");
        return 2;
    }
    helio_error_t err;
    helio_net_t *net;
    helio_loop_t *loop;
    if (helio_net_new(0, &net, &err) != HELIO_OK || helio_loop_new(&loop, &err) != HELIO_OK) {
        fprintf(stderr, "bench_agents: %s\n", err.text);
        return 1;
    }
    helio_dialer_target_t target = {argv[1], argv[2]};
    static double_t doubles[SITES_MAX];
    for (int i = 3; i < argc && i - 3 < SITES_MAX; i++) {
        double_t *self = &doubles[i - 3];
        const char *colon = strchr(argv[i], ':');
        if (!colon)
            return 2;
        (void)helio_text_copy((helio_text_t){argv[i], (uint32_t)(colon - argv[i])}, self->name, sizeof self->name);
        self->arena = helio_arena_new();
        helio_dialer_options_t options = {.targets = &target,
                                          .target_count = 1,
                                          .secret_key = colon + 1,
                                          .queue_messages = 10000,
                                          .on_message = on_message,
                                          .on_connected = on_connected,
                                          .arg = self};
        if (helio_dialer_new(net, loop, &options, &self->dialer, &err) != HELIO_OK) {
            fprintf(stderr, "bench_agents: %s\n", err.text);
            return 1;
        }
        self->timer = helio_timer_new(loop, summarise, self);
        helio_timer_arm(self->timer, 1000, 1000);
    }
    return helio_loop_run(loop, &err) == HELIO_OK ? 0 : 1;
}
