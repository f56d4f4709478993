/*  test_channels.c -- bytes of channels between clients and sites: windows, offsets, ends, and agents that lie. */
#include <stdio.h>

#include "tests/unit/broker/gateway/sessions_testing.h"

enum { LULEA = 7, PARIS = 8 };
#define ID "0123456789abcdef0123456789abcdef"
#define ADA HELIO_TEXT("user:acme/ada")

typedef struct answered {
    uint32_t count;
    helio_channel_answer_t last;
    char frames[HELIO_CHANNEL_WINDOW + 4096];
    uint32_t frames_size;
    char why[600];
} answered_t;

static answered_t got; /* of the client's requests */

static void keep_answer(void *arg, const helio_channel_answer_t *answer)
{
    (void)arg;
    got.count++;
    got.last = *answer;
    assert_true(answer->frames.size <= sizeof got.frames);
    if (answer->frames.size)
        memcpy(got.frames, answer->frames.data, answer->frames.size);
    got.frames_size = answer->frames.size;
    (void)helio_text_copy(helio_text_of(answer->why), got.why, sizeof got.why);
}

static helio_channels_t *channels_of(world_t *world)
{
    return helio_sessions_channels(world->sessions);
}

static bool flag_of(const void *credential)
{
    return *(const bool *)credential;
}

static bool ada_is_in_force; /* her token is */

static uint64_t prepare_of(world_t *world, const char *tenant, const char *id)
{
    helio_argument_t words[] = {{HELIO_TEXT("cat")}, {HELIO_TEXT("--secret=1")}};
    helio_channel_opening_t opening = {.principal = ADA,
                                       .tenant = helio_text_of(tenant),
                                       .credential = &ada_is_in_force,
                                       .is_in_force = flag_of,
                                       .command = words,
                                       .command_count = 2,
                                       .term = HELIO_TEXT("xterm")};
    (void)helio_text_copy(helio_text_of(id), opening.id, sizeof opening.id);
    return helio_channels_prepare(channels_of(world), &opening, 1000);
}

static uint64_t prepare(world_t *world, const char *id)
{
    ada_is_in_force = true;
    return prepare_of(world, "acme", id);
}

static void forget_sent(world_t *world)
{
    for (uint32_t i = 0; i < world->sent_count; i++)
        free(world->sent[i].bytes);
    world->sent_count = 0;
}

/*  One that runs at Luleå, beside a session of Paris; nothing of it was sent yet but its opening. */
static uint64_t opened(world_t *world)
{
    memset(&got, 0, sizeof got);
    open_session(world, "lulea", LULEA);
    open_session(world, "paris", PARIS);
    forget_sent(world);
    uint64_t number = prepare(world, ID);
    assert_int_not_equal(number, 0);
    helio_fx_channel_t fx = {.peer = LULEA, .channel = number, .epoch = 3, .limit_ms = 100000, .idle_ms = 5000};
    helio_channels_open(channels_of(world), &fx);
    const helio_msg_channel_open_t *open = sent_at(world, 0, LULEA, HELIO_MSG_CHANNEL_OPEN);
    assert_true(open->channel == number && open->epoch == 3 && open->limit_ms == 100000 && open->idle_ms == 5000);
    assert_true(open->command.count == 2 && helio_text_is(open->command.items[1].text, "--secret=1"));
    assert_true(helio_text_is(open->term, "xterm"));
    forget_sent(world);
    return number;
}

static void ask_as(world_t *world, helio_text_t principal, helio_channel_ask_t ask, int64_t now_ms)
{
    ask.id = ask.id ? ask.id : ID;
    ask.principal = principal;
    ask.done = keep_answer;
    helio_channels_ask(channels_of(world), &ask, now_ms);
}

static void read_from(world_t *world, uint64_t offset, uint32_t wait_ms)
{
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_READ, .offset = offset, .wait_ms = wait_ms}, 1000);
}

static void write_at(world_t *world, uint64_t offset, helio_text_t data, bool end)
{
    ask_as(
        world, ADA,
        (helio_channel_ask_t){.verb = HELIO_CHANNEL_WRITE, .offset = offset, .data = data, .end = end, .wait_ms = 5000},
        1000);
}

static void output(world_t *world, const char *site, uint64_t peer, uint64_t number, uint32_t stream, helio_text_t data,
                   uint64_t taken)
{
    helio_msg_channel_output_t message = {number, stream, data, taken};
    arrive(world, site, peer, HELIO_MSG_CHANNEL_OUTPUT, &message);
}

static void assert_frames(const char *expected, size_t size)
{
    assert_int_equal(got.frames_size, size);
    assert_memory_equal(got.frames, expected, size);
}
#define ASSERT_FRAMES(text) assert_frames(text, sizeof(text) - 1)

static void channel__output_is_kept_until_it_is_acknowledged(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    output(world, "lulea", LULEA, number, 0, (helio_text_t){0}, 0);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("one"), 0);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("two"), 0);
    output(world, "lulea", LULEA, number, 2, HELIO_TEXT("bad"), 0);
    for (uint32_t again = 0; again < 2; again++) {
        read_from(world, 0, 10000);
        ASSERT_FRAMES("\1\0\0\0\6onetwo\2\0\0\0\3bad");
        assert_true(got.last.opened && !got.last.ended && got.last.offset == 9);
    }
    read_from(world, 4, 10000); /* in the middle */
    ASSERT_FRAMES("\1\0\0\0\2wo\2\0\0\0\3bad");
    const helio_msg_channel_input_t *input = sent_at(world, 0, LULEA, HELIO_MSG_CHANNEL_INPUT);
    assert_true(input->received == 4 && !input->data.size && !input->end);
    read_from(world, 3, 0);
    assert_true(got.last.rc == HELIO_CONFLICT && got.last.least == 4 && got.last.offset == 9);
    read_from(world, 10, 0);
    assert_int_equal(got.last.rc, HELIO_CONFLICT);
}

static void channel__a_reader_waits_for_output(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    read_from(world, 0, 10000);
    assert_int_equal(got.count, 0);
    output(world, "lulea", LULEA, number, 0, (helio_text_t){0}, 0); /* the news that it is open */
    assert_true(got.count == 1 && got.last.opened && got.frames_size == 0);
    read_from(world, 0, 10000);
    read_from(world, 0, 10000); /* the first connection broke */
    assert_int_equal(got.count, 2);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("x"), 0);
    assert_int_equal(got.count, 3);
    ASSERT_FRAMES("\1\0\0\0\1x");
    read_from(world, 1, 10000);
    helio_sessions_tick(world->sessions, 10999);
    assert_int_equal(got.count, 3);
    helio_sessions_tick(world->sessions, 11000);
    assert_true(got.count == 4 && got.last.rc == HELIO_OK && got.last.offset == 1);
}

static void channel__input_goes_on_as_far_as_the_window_has_room(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    static char bytes[HELIO_CHANNEL_DATA_MAX];
    helio_text_t whole = {bytes, sizeof bytes};
    write_at(world, 0, HELIO_TEXT("hello"), false);
    assert_true(got.count == 1 && got.last.offset == 5);
    write_at(world, 0, HELIO_TEXT("hello"), false); /* its answer was lost */
    assert_true(got.count == 2 && got.last.offset == 5 && world->sent_count == 1);
    write_at(world, 3, HELIO_TEXT("lo you"), false);
    const helio_msg_channel_input_t *input = sent_at(world, 1, LULEA, HELIO_MSG_CHANNEL_INPUT);
    assert_true(helio_text_is(input->data, " you") && got.last.offset == 9);
    write_at(world, 10, HELIO_TEXT("gap"), false);
    assert_true(got.last.rc == HELIO_CONFLICT && got.last.offset == 9 && world->sent_count == 2);
    for (uint32_t i = 0; i < 4; i++)
        write_at(world, got.last.offset, whole, false);
    assert_int_equal(got.last.offset, HELIO_CHANNEL_WINDOW);
    uint32_t answers = got.count;
    write_at(world, HELIO_CHANNEL_WINDOW, HELIO_TEXT("more"), true);
    assert_int_equal(got.count, answers); /* no room */
    output(world, "lulea", LULEA, number, 0, (helio_text_t){0}, 3);
    assert_true(got.count == answers + 1 && got.last.offset == HELIO_CHANNEL_WINDOW + 3);
    write_at(world, HELIO_CHANNEL_WINDOW, HELIO_TEXT("more"), true);
    output(world, "lulea", LULEA, number, 0, (helio_text_t){0}, 100);
    input = sent_at(world, world->sent_count - 1, LULEA, HELIO_MSG_CHANNEL_INPUT);
    assert_true(helio_text_is(input->data, "e") && input->end && got.last.offset == HELIO_CHANNEL_WINDOW + 4);
}

static void channel__an_end_is_told_to_client_and_core(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    helio_ev_channel_ended_t event;
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("bye"), 0);
    helio_msg_channel_end_t end = {.channel = number, .exit_code = 42};
    arrive(world, "lulea", LULEA, HELIO_MSG_CHANNEL_END, &end);
    assert_true(helio_channels_next_end(channels_of(world), &event));
    assert_true(event.channel == number && event.exit_code == 42 && event.bytes_out == 3 && !event.text.size);
    assert_false(helio_channels_next_end(channels_of(world), &event));
    read_from(world, 0, 10000);
    ASSERT_FRAMES("\1\0\0\0\3bye");
    assert_true(got.last.ended && got.last.exit_code == 42 && got.last.end_rc == HELIO_OK && !got.why[0]);
    helio_sessions_tick(world->sessions, 10999);
    read_from(world, 0, 0); /* that answer was lost */
    assert_true(got.last.ended && got.frames_size == 8);
    helio_sessions_tick(world->sessions, 40000);
    read_from(world, 3, 0);
    assert_int_equal(got.last.rc, HELIO_NOT_FOUND);
}

static void channel__ends_with_the_session_of_its_site(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    helio_ev_channel_ended_t event;
    read_from(world, 0, 10000);
    helio_sessions_gone(world->sessions, PARIS, "away", false);
    helio_channels_settle(channels_of(world), 1000);
    assert_int_equal(got.count, 0);
    helio_sessions_gone(world->sessions, LULEA, "away", false);
    helio_channels_settle(channels_of(world), 1000);
    assert_true(got.count == 1 && got.last.ended && got.last.end_rc == HELIO_UNAVAILABLE && strstr(got.why, "session"));
    assert_true(helio_channels_next_end(channels_of(world), &event) && event.channel == number);
    number = prepare(world, "another-id-of-thirty-two-letters");
    helio_channels_open(channels_of(world), &(helio_fx_channel_t){.peer = LULEA, .channel = number});
    assert_true(helio_channels_next_end(channels_of(world), &event) && event.channel == number);
}

static void channel__a_client_that_vanished_ends_it(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    helio_sessions_tick(world->sessions, 60999);
    assert_int_equal(world->sent_count, 0);
    helio_sessions_tick(world->sessions, 61000);
    const helio_msg_channel_close_t *closed = sent_at(world, 0, LULEA, HELIO_MSG_CHANNEL_CLOSE);
    assert_int_equal(closed->channel, number);
    read_from(world, 0, 0);
    assert_true(got.last.ended && got.last.end_rc == HELIO_TIMEOUT);
}

static void channel__belongs_to_one_principal(void **state)
{
    world_t *world = *state;
    (void)opened(world);
    static const helio_channel_verb_t verbs[] = {HELIO_CHANNEL_READ, HELIO_CHANNEL_WRITE, HELIO_CHANNEL_RESIZE,
                                                 HELIO_CHANNEL_SHUT};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        ask_as(world, HELIO_TEXT("user:acme/bob"), (helio_channel_ask_t){.verb = verbs[i]}, 1000);
        assert_int_equal(got.last.rc, HELIO_NOT_FOUND);
        ask_as(world, ADA, (helio_channel_ask_t){.verb = verbs[i], .id = "0123"}, 1000);
        assert_int_equal(got.last.rc, HELIO_NOT_FOUND);
    }
    assert_int_equal(world->sent_count, 0);
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_RESIZE, .rows = 50, .columns = 132}, 1000);
    const helio_msg_channel_input_t *input = sent_at(world, 0, LULEA, HELIO_MSG_CHANNEL_INPUT);
    assert_true(input->rows == 50 && input->columns == 132);
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_SHUT}, 1000);
    (void)sent_at(world, 1, LULEA, HELIO_MSG_CHANNEL_CLOSE);
    assert_true(got.last.ended);
}

static void channel__that_was_refused_is_dropped(void **state)
{
    world_t *world = *state;
    memset(&got, 0, sizeof got);
    open_session(world, "lulea", LULEA);
    uint64_t number = prepare(world, ID);
    assert_int_equal(prepare(world, ID), 0); /* the same secret twice */
    read_from(world, 0, 0);
    assert_int_equal(got.last.rc, HELIO_NOT_FOUND); /* it is not open */
    helio_channels_drop(channels_of(world), number);
    assert_int_equal(prepare(world, ID), number + 1);
}

/* ---- what is kept of ended ones ---------------------------------------------------------------------------- */

static uint32_t told; /* of the ends that the core was told of */

static const char *id_of(char kind, uint32_t i)
{
    static char id[HELIO_CHANNEL_ID_SIZE];
    (void)snprintf(id, sizeof id, "%c%031u", kind, i);
    return id;
}

static void open_of(world_t *world, const char *tenant, const char *id)
{
    uint64_t number = prepare_of(world, tenant, id);
    assert_int_not_equal(number, 0);
    helio_channels_open(channels_of(world),
                        &(helio_fx_channel_t){.peer = LULEA, .channel = number, .limit_ms = 100000});
    helio_msg_channel_end_t end = {.channel = number, .exit_code = 7};
    arrive(world, "lulea", LULEA, HELIO_MSG_CHANNEL_END, &end);
    helio_ev_channel_ended_t event;
    while (helio_channels_next_end(channels_of(world), &event))
        told++;
    forget_sent(world);
}

static bool is_kept(world_t *world, const char *id)
{
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_RESIZE, .id = id}, 1000);
    return got.last.rc == HELIO_OK && got.last.ended && got.last.exit_code == 7;
}

/*  A tenant that opens thousands takes its own results from itself: first those that were read. */
static void kept__a_tenant_displaces_no_result_of_another(void **state)
{
    world_t *world = *state;
    told = 0;
    (void)opened(world);
    open_of(world, "paris", id_of('p', 0));
    for (uint32_t i = 0; i < HELIO_CHANNELS_KEPT_MAX - 2; i++)
        open_of(world, "acme", id_of('a', i));
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_READ, .id = id_of('a', 5)}, 1000);
    assert_true(got.last.ended);
    open_of(world, "acme", id_of('b', 0));
    assert_false(is_kept(world, id_of('a', 5)));
    assert_true(is_kept(world, id_of('a', 0)));
    open_of(world, "paris", id_of('p', 1));
    for (uint32_t i = 1; i < 300; i++)
        open_of(world, "acme", id_of('b', i));
    for (uint32_t i = 0; i < 2; i++)
        assert_true(is_kept(world, id_of('p', i)));
    assert_true(is_kept(world, id_of('b', 299)));
    assert_int_equal(told, HELIO_CHANNELS_KEPT_MAX - 2 + 302);
    read_from(world, 0, 0); /* the one that is open */
    assert_true(got.last.rc == HELIO_OK && !got.last.ended);
}

static void kept__nothing_makes_room_for_what_is_not_admitted(void **state)
{
    world_t *world = *state;
    (void)opened(world);
    for (uint32_t i = 0; i < HELIO_CHANNELS_KEPT_MAX - 1; i++)
        open_of(world, "acme", id_of('a', i));
    for (uint32_t i = 0; i < 300; i++) {
        uint64_t number = prepare_of(world, "acme", id_of('x', i));
        assert_int_not_equal(number, 0);
        if (i % 2)
            helio_channels_drop(channels_of(world), number);
    }
    for (uint32_t i = 0; i < HELIO_CHANNELS_KEPT_MAX - 1; i++)
        assert_true(is_kept(world, id_of('a', i)));
}

static void kept__what_is_asked_for_at_once_has_a_bound(void **state)
{
    world_t *world = *state;
    (void)opened(world);
    for (uint32_t i = 0; i < HELIO_CHANNELS_KEPT_MAX - 1; i++)
        assert_int_not_equal(prepare_of(world, "acme", id_of('x', i)), 0);
    assert_int_equal(prepare_of(world, "acme", id_of('y', 0)), 0);
}

static void channel__ends_with_the_token_that_opened_it(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    read_from(world, 0, 10000);
    helio_sessions_tick(world->sessions, 2000);
    assert_int_equal(world->sent_count + got.count, 0);
    ada_is_in_force = false;
    helio_sessions_tick(world->sessions, 3000);
    const helio_msg_channel_close_t *closed = sent_at(world, 0, LULEA, HELIO_MSG_CHANNEL_CLOSE);
    assert_int_equal(closed->channel, number);
    assert_true(got.count == 1 && got.last.ended && got.last.end_rc == HELIO_FORBIDDEN);
    assert_string_equal(got.why, "the token that opened it is not in force any more");
    helio_ev_channel_ended_t event;
    assert_true(helio_channels_next_end(channels_of(world), &event) && event.channel == number);
    helio_sessions_tick(world->sessions, 4000);
    assert_int_equal(world->sent_count, 1);
}

/* ---- agents that lie --------------------------------------------------------------------------------------- */

static void assert_lie(world_t *world, uint64_t peer, uint64_t bad)
{
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_CHANNEL), bad);
    assert_int_equal(session_count(world), 2); /* it costs the channel, not the session */
    (void)sent_at(world, world->sent_count - 1, peer, HELIO_MSG_CHANNEL_CLOSE);
}

static void lie__output_beyond_the_window_ends_the_channel(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    static char bytes[HELIO_CHANNEL_DATA_MAX];
    for (uint32_t i = 0; i < 4; i++)
        output(world, "lulea", LULEA, number, 1 + i % 2, (helio_text_t){bytes, sizeof bytes}, 0);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_CHANNEL), 0);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("x"), 0);
    assert_lie(world, LULEA, 1);
    read_from(world, 0, 0);
    assert_true(got.last.ended && got.last.end_rc == HELIO_PROTOCOL && got.last.offset == HELIO_CHANNEL_WINDOW);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("x"), 0);
    assert_lie(world, LULEA, 2);
}

static void lie__a_site_reaches_no_channel_of_another(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    output(world, "paris", PARIS, number, 1, HELIO_TEXT("x"), 0);
    helio_msg_channel_end_t end = {.channel = number};
    arrive(world, "paris", PARIS, HELIO_MSG_CHANNEL_END, &end);
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_CHANNEL), 2);
    read_from(world, 0, 0);
    assert_true(!got.last.ended && !got.last.opened && got.frames_size == 0);
    uint64_t next = prepare(world, "another-id-of-thirty-two-letters");
    output(world, "lulea", LULEA, next, 1, HELIO_TEXT("x"), 0); /* guesses the number of the next */
    assert_int_equal(bad_of(world, HELIO_BAD_FRAME_CHANNEL), 3);
}

static void lie__more_input_taken_than_given(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    write_at(world, 0, HELIO_TEXT("hello"), false);
    output(world, "lulea", LULEA, number, 0, (helio_text_t){0}, 6);
    assert_lie(world, LULEA, 1);
}

static void lie__bytes_without_a_stream(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    output(world, "lulea", LULEA, number, 0, HELIO_TEXT("x"), 0);
    assert_lie(world, LULEA, 1);
}

static void lie__output_after_the_end(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    helio_msg_channel_end_t end = {.channel = number};
    arrive(world, "lulea", LULEA, HELIO_MSG_CHANNEL_END, &end);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("x"), 0);
    assert_lie(world, LULEA, 1);
    end.rc = HELIO_NOT_FOUND; /* of input that was under way: no lie, and no news */
    arrive(world, "lulea", LULEA, HELIO_MSG_CHANNEL_END, &end);
    assert_lie(world, LULEA, 1);
    read_from(world, 0, 0);
    assert_true(got.frames_size == 0 && got.last.ended && got.last.end_rc == HELIO_OK);
}

/*  The broker has forgotten it, or has closed it while that was under way: not a lie. */
static void channel__output_of_one_that_is_closed_is_answered_by_a_close(void **state)
{
    world_t *world = *state;
    uint64_t number = opened(world);
    ask_as(world, ADA, (helio_channel_ask_t){.verb = HELIO_CHANNEL_SHUT}, 1000);
    output(world, "lulea", LULEA, number, 1, HELIO_TEXT("x"), 0);
    output(world, "lulea", LULEA, 4711, 1, HELIO_TEXT("x"), 0);
    assert_lie(world, LULEA, 0);
    assert_int_equal(world->sent_count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(channel__output_is_kept_until_it_is_acknowledged),
        CASE(channel__a_reader_waits_for_output),
        CASE(channel__input_goes_on_as_far_as_the_window_has_room),
        CASE(channel__an_end_is_told_to_client_and_core),
        CASE(channel__ends_with_the_session_of_its_site),
        CASE(channel__a_client_that_vanished_ends_it),
        CASE(channel__belongs_to_one_principal),
        CASE(channel__that_was_refused_is_dropped),
        CASE(channel__ends_with_the_token_that_opened_it),
        CASE(kept__a_tenant_displaces_no_result_of_another),
        CASE(kept__nothing_makes_room_for_what_is_not_admitted),
        CASE(kept__what_is_asked_for_at_once_has_a_bound),
        CASE(channel__output_of_one_that_is_closed_is_answered_by_a_close),
        CASE(lie__output_beyond_the_window_ends_the_channel),
        CASE(lie__a_site_reaches_no_channel_of_another),
        CASE(lie__more_input_taken_than_given),
        CASE(lie__bytes_without_a_stream),
        CASE(lie__output_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
