/*  test_sessions_model.c -- sessions beside a model that a person can check: any run of hellos, goodbyes, garbage, keys
 *  that change hands and log reads; and more sites than there is room for. */
#include "tests/unit/broker/gateway/sessions_testing.h"

#include <stdio.h>

enum { PEERS = 6, SITES = 4, STEPS = 3000, READS_MAX = 64 };

static const char *const names[SITES] = {"lulea", "oregon", "kiruna", "jena"};

/*  Which site has a session on which connection; -1 = none. reads: those that wait for an answer of that peer. */
typedef struct model {
    int site_of[PEERS];
    uint32_t reads[PEERS];
    helio_rng_t rng;
    world_t *world;
    char did[96];
} model_t;

static void forget_what_happened(world_t *world)
{
    while (world->sent_count)
        free(world->sent[--world->sent_count].bytes);
    world->event_count = 0;
    world->log_replies = 0;
}

static uint32_t sessions_of(const model_t *model)
{
    uint32_t count = 0;
    for (int peer = 0; peer < PEERS; peer++)
        count += model->site_of[peer] >= 0;
    return count;
}

static int peer_of(const model_t *model, int site)
{
    for (int peer = 0; peer < PEERS; peer++)
        if (model->site_of[peer] == site)
            return peer;
    return -1;
}

/*  What the core must have been told, in order; 0 ends it. */
static void expect(const model_t *model, const uint32_t *events, uint32_t frames)
{
    const world_t *world = model->world;
    uint32_t count = 0;
    while (events[count])
        count++;
    bool equal = world->event_count == count && world->sent_count == frames;
    for (uint32_t i = 0; equal && i < count; i++)
        equal = world->events[i] == events[i];
    if (!equal || session_count(model->world) != sessions_of(model))
        fail_msg("%s: %u events (first %u), %u frames, %u sessions; not %u, %u, %u", model->did, world->event_count,
                 world->events[0], world->sent_count, (uint32_t)session_count(model->world), count, frames,
                 sessions_of(model));
}
#define EXPECT(model, frames, ...) expect(model, (const uint32_t[]){__VA_ARGS__, 0}, frames)

/*  Whoever waited for a log of that session has been answered. */
static void leave(model_t *model, int peer)
{
    assert_int_equal(model->world->log_replies, model->reads[peer]);
    if (model->reads[peer])
        assert_int_equal(model->world->log_rc, HELIO_UNAVAILABLE);
    model->reads[peer] = 0;
    model->site_of[peer] = -1;
}

/* ---- what can happen ----------------------------------------------------------------------------------- */

static void say_hello(model_t *model, int peer, int site)
{
    int older = peer_of(model, site), before = model->site_of[peer];
    bool wrong_file = helio_rng_below(&model->rng, 5) == 0;
    helio_msg_hello_t hello = hello_of(wrong_file ? "elsewhere" : names[site]);
    arrive(model->world, names[site], (uint64_t)peer + 1, HELIO_MSG_HELLO, &hello);
    if (before >= 0) { /* whatever the key or the file says: both sides have lost count */
        leave(model, peer);
        EXPECT(model, 1, HELIO_BROKER_EV_SITE_GONE);
    } else if (wrong_file) {
        EXPECT(model, 1, HELIO_BROKER_EV_SITE_REFUSED);
    } else {
        model->site_of[peer] = site;
        EXPECT(model, older >= 0, HELIO_BROKER_EV_SITE_HELLO); /* a frame that finds whether the older one lives */
        assert_string_equal(model->world->event_texts[0], names[site]);
        assert_int_equal(model->world->event_peers[0], peer + 1);
        if (older >= 0) { /* as the core does, if it is the same agent */
            helio_fx_peer_t refusal = {(uint64_t)older + 1, HELIO_CONFLICT, HELIO_TEXT("another connection")};
            helio_effect_t effect = {.kind = HELIO_BROKER_FX_REFUSAL, .payload = &refusal};
            helio_sessions_carry(model->world->sessions, &effect, 0);
            leave(model, older);
            forget_what_happened(model->world);
        }
    }
}

static void send_message(model_t *model, int peer, int site, bool bye)
{
    helio_msg_renew_t renew = {5};
    helio_msg_bye_t goodbye = {HELIO_TEXT("upgrade")};
    uint64_t strangers = bad_of(model->world, HELIO_BAD_FRAME_NO_SESSION);
    arrive(model->world, names[site], (uint64_t)peer + 1, bye ? HELIO_MSG_BYE : HELIO_MSG_RENEW,
           bye ? (const void *)&goodbye : &renew);
    if (model->site_of[peer] < 0) {
        EXPECT(model, 0, 0);
        assert_int_equal(bad_of(model->world, HELIO_BAD_FRAME_NO_SESSION), strangers + 1);
    } else if (model->site_of[peer] != site || bye) { /* the key was given to another site, or it says goodbye */
        leave(model, peer);
        EXPECT(model, 0, HELIO_BROKER_EV_SITE_GONE);
    } else {
        EXPECT(model, 0, HELIO_BROKER_EV_SITE_RENEW);
        assert_int_equal(model->world->event_peers[0], peer + 1);
    }
}

static void send_garbage(model_t *model, int peer, int site)
{
    helio_sessions_frame(model->world->sessions, helio_text_of(names[site]), (uint64_t)peer + 1,
                         HELIO_TEXT("\xc1\xc1"));
    if (model->site_of[peer] < 0) {
        EXPECT(model, 0, 0);
        return;
    }
    leave(model, peer);
    EXPECT(model, 1, HELIO_BROKER_EV_SITE_REFUSED, HELIO_BROKER_EV_SITE_GONE);
}

static void lose(model_t *model, int peer)
{
    bool had = model->site_of[peer] >= 0;
    helio_sessions_gone(model->world->sessions, (uint64_t)peer + 1, "unreachable", false);
    if (had)
        leave(model, peer);
    EXPECT(model, 0, had ? HELIO_BROKER_EV_SITE_GONE : 0);
}

/*  An order, and perhaps a stop behind it, which goes in a frame of its own. */
static void send_order(model_t *model, int peer)
{
    helio_fx_order_t order = {.peer = (uint64_t)peer + 1, .incarnation = 1};
    helio_fx_stop_t stop = {.peer = (uint64_t)peer + 1};
    bool both = helio_rng_below(&model->rng, 2);
    helio_effect_t effect = {HELIO_BROKER_FX_ORDER, HELIO_RELEASE_HELD, 1, &order};
    helio_sessions_carry(model->world->sessions, &effect, 1000);
    effect = (helio_effect_t){HELIO_BROKER_FX_STOP, HELIO_RELEASE_HELD, 1, &stop};
    if (both)
        helio_sessions_carry(model->world->sessions, &effect, 1000);
    helio_sessions_flush(model->world->sessions);
    EXPECT(model, model->site_of[peer] < 0 ? 0 : 1 + both, 0);
    for (uint32_t i = 0; i < model->world->sent_count; i++)
        assert_int_equal(model->world->sent[i].peer, peer + 1);
}

static void on_log(void *arg, helio_rc rc, const helio_msg_log_data_t *piece)
{
    world_t *world = arg;
    assert_true((piece != NULL) == (rc == HELIO_OK));
    world->log_replies++;
    world->log_rc = rc;
}

static void read_log(model_t *model, int site)
{
    int peer = peer_of(model, site);
    if (peer >= 0 && model->reads[peer] == READS_MAX)
        return;
    helio_log_ask_t ask = {.site = names[site], .size_max = 100, .done = on_log, .arg = model->world};
    helio_rc rc = helio_sessions_read_log(model->world->sessions, &ask, 0);
    assert_int_equal(rc, peer < 0 ? HELIO_UNAVAILABLE : HELIO_OK);
    if (peer >= 0)
        model->reads[peer]++;
    EXPECT(model, peer >= 0, 0);
    assert_int_equal(model->world->log_replies, 0);
}

/*  Each read is answered, and none twice. */
static void time_out(model_t *model)
{
    uint32_t waiting = 0;
    for (int peer = 0; peer < PEERS; peer++) {
        waiting += model->reads[peer];
        model->reads[peer] = 0;
    }
    helio_sessions_tick(model->world->sessions, HELIO_LOG_READ_TIMEOUT_MS);
    assert_int_equal(model->world->log_replies, waiting);
    EXPECT(model, 0, 0);
}

static void session__any_run_of_messages_leaves_what_the_model_says(void **state)
{
    (void)state;
    static const char *const words[] = {"hello", "renew", "bye", "garbage", "lost", "order", "log", "time"};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        model_t model = {
            .rng = {seed},
        };
        (void)set_up((void **)&model.world);
        memset(model.site_of, -1, sizeof model.site_of);
        for (uint32_t step = 0; step < STEPS; step++) {
            int peer = (int)helio_rng_below(&model.rng, PEERS), site = (int)helio_rng_below(&model.rng, SITES);
            uint32_t what = (uint32_t)helio_rng_below(&model.rng, 8);
            if (model.site_of[peer] >= 0 && helio_rng_below(&model.rng, 4))
                site = model.site_of[peer]; /* mostly its own */
            (void)snprintf(model.did, sizeof model.did, "seed %u, step %u: %s on %d by %s", (uint32_t)seed, step,
                           words[what], peer + 1, names[site]);
            switch (what) {
            case 0:
                say_hello(&model, peer, site);
                break;
            case 1:
            case 2:
                send_message(&model, peer, site, what == 2);
                break;
            case 3:
                send_garbage(&model, peer, site);
                break;
            case 4:
                lose(&model, peer);
                break;
            case 5:
                send_order(&model, peer);
                break;
            case 6:
                read_log(&model, site);
                break;
            default:
                time_out(&model);
            }
            forget_what_happened(model.world);
        }
        (void)tear_down((void **)&model.world);
    }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

static void session__beyond_the_bound_is_refused_until_one_ends(void **state)
{
    world_t *world = *state;
    char name[16];
    for (uint32_t i = 0; i < HELIO_SESSIONS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        open_session(world, name, i + 1);
        forget_what_happened(world);
    }
    assert_int_equal(session_count(world), HELIO_SESSIONS_MAX);
    open_session(world, "late", 9000);
    assert_int_equal(world->event_count, 0);
    const helio_msg_refusal_t *refusal = sent_at(world, 0, 9000, HELIO_MSG_REFUSAL);
    assert_int_equal(refusal->rc, HELIO_BUSY);
    assert_true(refusal->text.size > 0);
    forget_what_happened(world);
    open_session(world, "s7", 9001); /* one that is in may still change its connection */
    assert_int_equal(world->events[0], HELIO_BROKER_EV_SITE_HELLO);
    assert_int_equal(session_count(world), HELIO_SESSIONS_MAX);
    helio_sessions_gone(world->sessions, 1, "idle", false);
    forget_what_happened(world);
    open_session(world, "late", 9000);
    assert_int_equal(world->event_count, 1);
    assert_int_equal(world->sent_count, 0);
    forget_what_happened(world);
}

static void session__a_principal_that_is_no_name_of_a_site_opens_nothing(void **state)
{
    world_t *world = *state;
    char longest[HELIO_SITE_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest);
    longest[HELIO_SITE_NAME_MAX] = '\0';
    open_session(world, longest, 1);
    assert_int_equal(session_count(world), 1);
    longest[HELIO_SITE_NAME_MAX] = 'a';
    longest[HELIO_SITE_NAME_MAX + 1] = '\0';
    helio_msg_hello_t hello = hello_of("lulea");
    arrive(world, longest, 2, HELIO_MSG_HELLO, &hello);
    arrive(world, "", 3, HELIO_MSG_HELLO, &hello);
    assert_int_equal(session_count(world), 1);
    assert_int_equal(world->event_count, 1);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_IDENTITY), 2);
}

/*  As a connection that is gone, which the transport tells later. */
static helio_rc refuse_to_send(void *arg, uint64_t peer, helio_text_t frame)
{
    (void)arg;
    (void)peer;
    (void)frame;
    return HELIO_UNAVAILABLE;
}

static void session__whose_connection_takes_nothing_any_more_holds_nobody(void **state)
{
    world_t *world = *state;
    helio_sessions_destroy(&world->sessions);
    world->sessions =
        helio_sessions_new((helio_sessions_ports_t){refuse_to_send, record_event, NULL, NULL, world, world});
    open_session(world, "lulea", 1);
    helio_log_ask_t ask = {.site = "lulea", .size_max = 100, .done = on_log, .arg = world};
    assert_int_equal(helio_sessions_read_log(world->sessions, &ask, 0), HELIO_OK);
    helio_fx_welcome_t welcome = {.peer = 1};
    helio_effect_t effect = {HELIO_BROKER_FX_WELCOME, HELIO_RELEASE_HELD, 1, &welcome};
    helio_sessions_carry(world->sessions, &effect, 1000);
    helio_sessions_figures_t figures;
    helio_sessions_figures(world->sessions, &figures);
    assert_int_equal(figures.frames_out_total, 0);
    assert_int_equal(figures.sessions, 1);
    assert_int_equal(world->log_replies, 0);
    helio_sessions_gone(world->sessions, 1, "unreachable", false);
    assert_int_equal(world->log_replies, 1);
    assert_int_equal(world->log_rc, HELIO_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session__any_run_of_messages_leaves_what_the_model_says),
        CASE(session__beyond_the_bound_is_refused_until_one_ends),
        CASE(session__a_principal_that_is_no_name_of_a_site_opens_nothing),
        CASE(session__whose_connection_takes_nothing_any_more_holds_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
