/*  test_any_broker.c -- an agent's core between a broker that may say anything that decodes and a backend
 * that may say anything at all: it holds its invariants, and all that it says and writes can be sent and
 * stored. */
#include "federation/wire/codec.h"
#include "site-agent/uplink/mapping.h"
#include "tests/unit/federation/wire/sample.h"
#include "tests/unit/site-agent/core/harness.h"

enum { KEYS = 5, SEEDS = 60, STEPS = 400 };

static const uint32_t messages[] = {HELIO_MSG_WELCOME,     HELIO_MSG_VERDICTS, HELIO_MSG_ORDERS, HELIO_MSG_STOPS,
                                    HELIO_MSG_REPORTS_ACK, HELIO_MSG_RENEWED,  HELIO_MSG_RESYNC};
enum { MESSAGES = sizeof messages / sizeof messages[0] };

typedef struct world {
    site_t site;
    helio_rng_t rng;
    uint64_t seed;
    uint32_t at;
    helio_framer_t *framer;
    helio_arena_t *arena;
    uint64_t frames, rows;
    uint64_t heard[MESSAGES]; /* that the core took, by their kind */
} world_t;

static uint32_t pick(world_t *world, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&world->rng, bound);
}

static helio_rc on_frame(void *arg, helio_text_t frame)
{
    world_t *world = arg;
    uint32_t message;
    void *record;
    helio_error_t err = {0};
    if (frame.size > HELIO_WIRE_FRAME_MAX ||
        helio_wire_decode(frame, world->arena, &message, &record, &err) != HELIO_OK)
        fail_msg("seed %llu, step %u: a frame of %u bytes that no broker reads: %s", (unsigned long long)world->seed,
                 world->at, frame.size, err.text);
    world->frames++;
    return HELIO_OK;
}

/*  Most of what a broker says concerns a few jobs and epochs; the rest is left as it is. */
static void bring_near(world_t *world, const helio_record_type_t *type, char *record)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const helio_field_t *field = &type->fields[i];
        char *at = record + field->offset;
        if (pick(world, 8) == 0)
            continue;
        if (field->kind == HELIO_KIND_KEY)
            *(helio_job_key_t *)(void *)at = key_of((uint8_t)pick(world, KEYS));
        else if (field->kind == HELIO_KIND_U32 && strcmp(field->name, "epoch") == 0)
            *(uint32_t *)(void *)at = 1 + pick(world, 4);
        else if (field->kind == HELIO_KIND_U32 && strstr(field->name, "nodes"))
            *(uint32_t *)(void *)at = pick(world, 4);
        else if (field->kind == HELIO_KIND_U32 && strcmp(field->name, "gpus_per_node") == 0)
            *(uint32_t *)(void *)at = pick(world, 5);
        else if (field->kind == HELIO_KIND_U64 &&
                 (strcmp(field->name, "incarnation") == 0 || strcmp(field->name, "broker_epoch") == 0))
            *(uint64_t *)(void *)at = 1 + (pick(world, 40) == 0);
        else if (field->kind == HELIO_KIND_TEXT && strcmp(field->name, "pool") == 0)
            *(helio_text_t *)(void *)at = pick(world, 2) ? HELIO_TEXT("gpu") : HELIO_TEXT("cpu");
        else if (field->kind == HELIO_KIND_LIST)
            for (uint32_t n = 0; n < ((helio_list_t *)(void *)at)->count; n++)
                bring_near(world, field->nested, (char *)((helio_list_t *)(void *)at)->items + n * field->nested->size);
    }
}

static void *any(world_t *world, const helio_record_type_t *type)
{
    char *record = helio_arena_alloc(world->arena, 1, type->size);
    sample_random(type, &world->rng, world->arena, record);
    bring_near(world, type, record);
    return record;
}

/*  What the core said: rows are stored, the rest is sent. */
static void listen(world_t *world)
{
    for (uint32_t i = 0; i < world->site.log_count; i++) {
        const entry_t *entry = &world->site.log[i];
        const helio_step_kind_t *kind = &helio_agent_effects[entry->kind];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
        helio_effect_t effect = {entry->kind, kind->release, entry->batch, entry->record};
        helio_error_t err = {0};
        if (helio_wire_pack(kind->type, entry->record, &bytes, &err) != HELIO_OK)
            fail_msg("seed %llu, step %u: %s", (unsigned long long)world->seed, world->at, err.text);
        if (helio_framer_takes(entry->kind) &&
            helio_framer_put(world->framer, &effect, world->site.wall_ms, &err) != HELIO_OK)
            fail_msg("seed %llu, step %u: not sent: %s", (unsigned long long)world->seed, world->at, err.text);
        world->rows += kind->release == HELIO_RELEASE_ROW;
    }
    assert_int_equal(helio_framer_flush(world->framer, NULL), HELIO_OK);
    clear_log(&world->site);
}

/*  Through the codec both ways, as from a socket. */
static void broker_speaks(world_t *world)
{
    uint32_t m = pick(world, MESSAGES), message = messages[m], event = 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t frame = {0};
    void *record = NULL;
    const void *payload = NULL;
    assert_int_equal(helio_wire_encode(message, any(world, helio_message_type(message)), &frame, NULL), HELIO_OK);
    assert_int_equal(helio_wire_decode(helio_buffer_view(&frame), world->arena, &message, &record, NULL), HELIO_OK);
    assert_int_equal(helio_mapping_event(message, record, world->arena, &event, &payload), HELIO_OK);
    uint64_t ignored = figures(&world->site).ignored_total;
    step(&world->site, event, payload);
    world->heard[m] += figures(&world->site).ignored_total == ignored;
    listen(world);
}

static void backend_speaks(world_t *world)
{
    static const uint32_t events[] = {HELIO_AGENT_EV_BACKEND, HELIO_AGENT_EV_BACKEND, HELIO_AGENT_EV_CAPACITY,
                                      HELIO_AGENT_EV_SERIES};
    uint32_t event = events[pick(world, 4)];
    step(&world->site, event, any(world, helio_agent_events[event].type));
    listen(world);
}

static void time_passes(world_t *world)
{
    static const int64_t steps_ms[] = {0, 1, 999, 30000, 600000, 900000, 86400000};
    int64_t ms = steps_ms[pick(world, 7)];
    world->site.now_ms += ms;
    world->site.wall_ms += pick(world, 8) ? ms : -ms; /* somebody sets the clock */
    step(&world->site, HELIO_AGENT_EV_TICK, NULL);
    listen(world);
}

static void connection_changes(world_t *world)
{
    site_t *site = &world->site;
    if (pick(world, 4) == 0) {
        step(site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    } else if (pick(world, 3) == 0) {
        step(site, HELIO_AGENT_EV_CONNECTED, NULL);
    } else { /* all the way */
        step(site, HELIO_AGENT_EV_CONNECTED, NULL);
        helio_aev_welcome_t welcome = welcome_of(2, 2);
        step(site, HELIO_AGENT_EV_WELCOME, &welcome);
        rule_on(site, 0, 0, 0, true);
    }
    listen(world);
}

static void live(world_t *world)
{
    uint32_t what = pick(world, 20);
    if (what < 9)
        broker_speaks(world);
    else if (what < 13)
        backend_speaks(world);
    else if (what < 15)
        time_passes(world);
    else if (what < 17)
        connection_changes(world);
    else if (what < 19 || pick(world, 4))
        commit(&world->site);
    else
        restart(&world->site);
    listen(world);
}

static void run_world(bool allocates, uint64_t *ret_frames, uint64_t heard[MESSAGES])
{
    static world_t world;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(&world, 0, sizeof world);
        world.seed = seed;
        world.rng.state = seed + (allocates ? 0 : 1000);
        world.arena = helio_arena_new();
        site_begin_with(&world.site,
                        (helio_agent_options_t){.allocates = allocates, .attempts_max = 6, .kill_margin_ms = 60000});
        helio_identity_t identity = {.agent_version = "0.1.0", .profile = &world.site.profile};
        world.framer = helio_framer_new(&identity, on_frame, &world);
        helio_framer_speak(world.framer, pick(&world, 2) ? HELIO_PROTOCOL_VERSION : HELIO_PROTOCOL_VERSION_MIN);
        for (world.at = 0; world.at < STEPS; world.at++) {
            helio_arena_reset(world.arena);
            live(&world);
        }
        *ret_frames += world.frames;
        for (uint32_t m = 0; m < MESSAGES; m++)
            heard[m] += world.heard[m];
        helio_framer_destroy(&world.framer);
        helio_arena_destroy(&world.arena);
        site_end(&world.site);
    }
}

/*  Every kind of message was taken and not only passed over; else the worlds would show little. */
static void expect_heard(uint64_t frames, const uint64_t heard[MESSAGES])
{
    assert_true(frames > 1000);
    for (uint32_t m = 0; m < MESSAGES; m++)
        if (heard[m] < 5)
            fail_msg("message %u was taken %llu times", messages[m], (unsigned long long)heard[m]);
}

static void agent__that_places_attempts_says_nothing_that_cannot_be_sent_or_stored(void **state)
{
    (void)state;
    uint64_t frames = 0, heard[MESSAGES] = {0};
    run_world(true, &frames, heard);
    expect_heard(frames, heard);
}

static void agent__of_a_batch_scheduler_says_nothing_that_cannot_be_sent_or_stored(void **state)
{
    (void)state;
    uint64_t frames = 0, heard[MESSAGES] = {0};
    run_world(false, &frames, heard);
    expect_heard(frames, heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agent__that_places_attempts_says_nothing_that_cannot_be_sent_or_stored),
        cmocka_unit_test(agent__of_a_batch_scheduler_says_nothing_that_cannot_be_sent_or_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
