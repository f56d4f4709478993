/*  What the broker says, as happenings and as bodies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "client/notify/core/happening.h"
#include "federation/base/clock.h"

#define ID "01k9zzzzzzzzzzzzzzzzzzzzzz"

static json_t *parsed(const char *text)
{
    json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    return document;
}

static int64_t time_of(const char *text)
{
    int64_t wall_ms;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &wall_ms), HELIO_OK);
    return wall_ms;
}

static bool of_transition(const char *text, helio_happening_t *ret_happening)
{
    json_t *transition = parsed(text);
    bool is = helio_happening_of_transition(transition, ret_happening);
    json_decref(transition);
    return is;
}

#define TRANSITION(from, to, more)                                                                               \
    "{\"seq\":7,\"time\":\"2026-11-27T10:00:00.000Z\",\"id\":\"" ID "\",\"tenant\":\"nlp\",\"queue\":\"batch\"," \
    "\"name\":\"train\",\"epoch\":2,\"from\":\"" from "\",\"to\":\"" to "\",\"site\":\"lulea\"" more "}"

static void transitions__are_what_targets_can_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
        helio_notify_event_t event;
    } cases[] = {
        {TRANSITION("running", "succeeded", ""), true, HELIO_NOTIFY_JOB_ENDED},
        {TRANSITION("queued", "cancelled", ""), true, HELIO_NOTIFY_JOB_ENDED},
        {TRANSITION("running", "failed", ""), true, HELIO_NOTIFY_JOB_FAILED},
        {TRANSITION("running", "timeout", ""), true, HELIO_NOTIFY_JOB_FAILED},
        {TRANSITION("suspect", "lost", ""), true, HELIO_NOTIFY_JOB_FAILED},
        {TRANSITION("starting", "running", ""), true, HELIO_NOTIFY_JOB_STARTED},
        {TRANSITION("accepted", "held", ""), true, HELIO_NOTIFY_JOB_HELD},
        {TRANSITION("queued", "held", ",\"details\":[{\"code\":\"HeldByUser\",\"params\":{}}]"), false,
         HELIO_NOTIFY_TEST},
        {TRANSITION("suspect", "running", ""), false, HELIO_NOTIFY_TEST},
        {TRANSITION("queued", "offered", ""), false, HELIO_NOTIFY_TEST},
        {TRANSITION("queued", "queued", ""), false, HELIO_NOTIFY_TEST}, /* an edit */
        {"{\"to\":\"failed\"}", false, HELIO_NOTIFY_TEST},
        {"[]", false, HELIO_NOTIFY_TEST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_happening_t happening = {.event = HELIO_NOTIFY_TEST};
        if (of_transition(cases[i].text, &happening) != cases[i].is || happening.event != cases[i].event)
            fail_msg("%s: %d", cases[i].text, happening.event);
        helio_happening_clear(&happening);
    }
}

static void ends__are_told_with_what_the_job_says(void **state)
{
    (void)state;
    helio_happening_t happening;
    char id[HELIO_MESSAGE_ID_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0}, chat = {0};
    assert_true(of_transition(TRANSITION("running", "failed", ""), &happening));
    json_t *job =
        parsed("{\"id\":\"" ID "\",\"name\":\"train\",\"tenant\":\"nlp\",\"user\":\"ana\\u0007\",\"queue\":\"batch\","
               "\"state\":\"failed\",\"epoch\":2,\"exit_code\":3,\"run_seconds\":125,\"details\":[1],\"site\":null}");
    helio_happening_add_job(&happening, job);
    json_decref(job);
    assert_string_equal(happening.text,
                        "Job train (" ID ") of ana  of tenant nlp failed at lulea with exit code 3 after 2m05s.");
    helio_notify_subject_t subject = helio_happening_subject(&happening);
    assert_true(helio_text_is(subject.tenant, "nlp") && helio_text_is(subject.queue, "batch"));
    helio_message_id(&happening, HELIO_NOTIFY_JOB_FAILED, id);
    assert_string_equal(id, "job_failed_" ID);
    helio_message_write(&happening, HELIO_NOTIFY_JOB_FAILED, id, &body);
    json_t *document = parsed(body.data);
    const json_t *told = json_object_get(document, "job");
    assert_string_equal(json_string_value(json_object_get(document, "id")), id);
    assert_string_equal(json_string_value(json_object_get(document, "event")), "job_failed");
    assert_string_equal(json_string_value(json_object_get(document, "at")), "2026-11-27T10:00:00.000Z");
    assert_string_equal(json_string_value(json_object_get(told, "site")), "lulea");
    assert_int_equal(json_integer_value(json_object_get(told, "exit_code")), 3);
    assert_null(json_object_get(told, "details"));
    json_decref(document);
    helio_message_format(helio_buffer_view(&body), HELIO_NOTIFY_SLACK, &chat);
    document = parsed(chat.data);
    assert_int_equal(json_object_size(document), 1);
    assert_string_equal(json_string_value(json_object_get(document, "text")), happening.text);
    json_decref(document);
    helio_happening_clear(&happening);
}

/*  Names and reasons are foreign: they ring nobody's bell, and turn no text around. */
static void slack__reads_no_orders_in_a_name(void **state)
{
    (void)state;
    helio_happening_t happening;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t body = {0}, chat = {0};
    assert_true(of_transition(TRANSITION("running", "failed", ""), &happening));
    json_t *job = parsed("{\"id\":\"" ID "\",\"name\":\"<!channel> & co\",\"tenant\":\"nlp\",\"state\":\"failed\","
                         "\"user\":\"a\\u009b\\u202eb\\u2069\\u00e9\"}");
    helio_happening_add_job(&happening, job);
    json_decref(job);
    assert_string_equal(happening.text, "Job <!channel> & co (" ID ") of a  b \xC3\xA9 of tenant nlp failed at lulea.");
    helio_message_write(&happening, HELIO_NOTIFY_JOB_FAILED, "id", &body);
    helio_message_format(helio_buffer_view(&body), HELIO_NOTIFY_SLACK, &chat);
    json_t *document = parsed(chat.data);
    assert_string_equal(json_string_value(json_object_get(document, "text")),
                        "Job &lt;!channel&gt; &amp; co (" ID ") of a  b \xC3\xA9 of tenant nlp failed at lulea.");
    json_decref(document);
    helio_happening_clear(&happening);
}

static void the_state_of_the_event__stands_over_a_newer_one(void **state)
{
    (void)state;
    helio_happening_t happening;
    assert_true(of_transition(TRANSITION("accepted", "held", ""), &happening));
    json_t *job =
        parsed("{\"id\":\"" ID "\",\"name\":\"train\",\"tenant\":\"nlp\",\"user\":\"ana\",\"state\":\"queued\","
               "\"epoch\":5,\"detail\":\"waits for room\"}");
    helio_happening_add_job(&happening, job);
    json_decref(job);
    assert_string_equal(json_string_value(json_object_get(happening.job, "state")), "held");
    assert_int_equal(json_integer_value(json_object_get(happening.job, "epoch")), 2);
    assert_null(strstr(happening.text, "room"));
    helio_happening_clear(&happening);
}

static void a_job_that_is_read__has_the_id_of_its_event(void **state)
{
    (void)state;
    static const char *const ends[] = {"succeeded", "failed"};
    for (size_t i = 0; i < 2; i++) {
        char ids[2][HELIO_MESSAGE_ID_SIZE];
        helio_happening_t event, read;
        assert_true(
            of_transition(i ? TRANSITION("running", "failed", "") : TRANSITION("running", "succeeded", ""), &event));
        json_t *job = json_pack("{s:s, s:s, s:s, s:i, s:s}", "id", ID, "tenant", "nlp", "state", ends[i], "epoch", 2,
                                "finished_at", "2026-11-27T10:00:00.000Z");
        assert_true(helio_happening_of_job(job, time_of("2026-11-27T09:59:00Z"), &read));
        helio_message_id(&event, event.event, ids[0]);
        helio_message_id(&read, read.event, ids[1]);
        assert_string_equal(ids[0], ids[1]);
        helio_happening_clear(&event);
        helio_happening_clear(&read);
        assert_false(helio_happening_of_job(job, time_of("2026-11-27T10:00:01Z"), &read)); /* it was told then */
        json_decref(job);
    }
    helio_happening_t held;
    json_t *job =
        parsed("{\"id\":\"" ID
               "\",\"tenant\":\"nlp\",\"state\":\"held\",\"epoch\":2,\"submitted_at\":\"2026-11-01T00:00:00Z\"}");
    assert_true(helio_happening_of_job(job, time_of("2026-11-27T10:00:01Z"), &held));
    helio_happening_clear(&held);
    json_decref(job);
}

static void ids__differ_where_keys_do(void **state)
{
    (void)state;
    char ids[3][HELIO_MESSAGE_ID_SIZE];
    static const char *const keys[] = {"a.b", "a_2eb", "a-b"};
    for (int i = 0; i < 3; i++) {
        helio_happening_t happening = {.event = HELIO_NOTIFY_JOB_ENDED};
        (void)strcpy(happening.key, keys[i]);
        helio_message_id(&happening, HELIO_NOTIFY_JOB_ENDED, ids[i]);
        assert_null(strchr(ids[i], '.')); /* it separates what is signed */
    }
    assert_string_equal(ids[0], "job_ended_a_2eb");
    assert_string_not_equal(ids[0], ids[1]);
    assert_string_not_equal(ids[0], ids[2]);
}

/* ---- deadlines and budgets ---------------------------------------------------------------------------------- */

#define NOW "2026-11-27T10:00:00Z"

static const char *risk_of(const char *job_text, const char *run_text)
{
    static const char *const risks[] = {"passed", "no_site", "late"};
    json_t *job = parsed(job_text), *run = run_text ? parsed(run_text) : NULL;
    helio_happening_t happening;
    const char *found = "";
    if (helio_happening_of_deadline(job, run, time_of(NOW), &happening)) {
        const char *risk = json_string_value(json_object_get(happening.more, "risk"));
        for (size_t i = 0; i < 3; i++)
            found = strcmp(risks[i], risk) == 0 ? risks[i] : found;
        assert_true(happening.once && happening.forget_wall_ms > time_of(NOW));
        assert_non_null(strstr(happening.text, "2026-11-27T"));
        assert_null(strstr(happening.text, ".000Z"));
        helio_happening_clear(&happening);
    }
    json_decref(job);
    json_decref(run);
    return found;
}

#define JOB(state, deadline, more)                                                         \
    "{\"id\":\"" ID "\",\"tenant\":\"nlp\",\"state\":\"" state "\",\"deadline\":" deadline \
    ",\"time_limit_s\":3600" more "}"
#define AT(time) "\"2026-11-27T" time "Z\""

static void deadlines__are_at_risk(void **state)
{
    (void)state;
    assert_string_equal(risk_of(JOB("queued", "null", ""), NULL), "");
    assert_string_equal(risk_of(JOB("succeeded", AT("09:00:00"), ""), NULL), "");
    assert_string_equal(risk_of(JOB("running", AT("09:59:59"), ""), NULL), "passed");
    /* a waiting job: from its expected start, or from now on */
    assert_string_equal(risk_of(JOB("queued", AT("11:00:01"), ""), NULL), "");
    assert_string_equal(risk_of(JOB("queued", AT("10:59:59"), ""), NULL), "late");
    assert_string_equal(risk_of(JOB("queued", AT("11:30:00"), ",\"expected_start\":" AT("10:31:00")), NULL), "late");
    assert_string_equal(risk_of(JOB("queued", AT("11:30:00"), ",\"expected_start\":" AT("10:29:00")), NULL), "");
    assert_string_equal(risk_of(JOB("queued", AT("23:00:00"), ",\"reason\":\"Deadline\""), NULL), "no_site");
    /* a running job: from its start, and as long as similar jobs ran */
    assert_string_equal(risk_of(JOB("running", AT("10:30:00"), ",\"started_at\":" AT("09:45:00")), NULL), "late");
    assert_string_equal(
        risk_of(JOB("running", AT("10:30:00"), ",\"started_at\":" AT("09:45:00")), "{\"duration_p90_s\":2400}"), "");
    assert_string_equal(
        risk_of(JOB("running", AT("10:30:00"), ",\"started_at\":" AT("09:45:00")), "{\"duration_p90_s\":null}"),
        "late");
}

static int threshold_of(const char *budget_text)
{
    json_t *quota = parsed("{\"tenant\":\"nlp\",\"queue\":null}"), *budget = parsed(budget_text);
    helio_happening_t happening;
    int found = 0;
    if (helio_happening_of_budget(quota, budget, time_of(NOW), &happening)) {
        found = (int)json_integer_value(json_object_get(happening.more, "threshold_percent"));
        assert_non_null(strstr(happening.text, "Tenant nlp has used "));
        assert_true(happening.once && happening.forget_wall_ms > time_of("2026-12-01T00:00:00Z"));
        helio_happening_clear(&happening);
    }
    json_decref(quota);
    json_decref(budget);
    return found;
}

#define BUDGET(used, committed)                                                                   \
    "{\"kind\":\"gpu\",\"period\":\"month\",\"unit\":\"GPU-hours\",\"budget\":100,\"used\":" used \
    ",\"committed\":" committed ",\"begins_again\":\"2026-12-01T00:00:00Z\"}"

static void budgets__are_near_at_two_thresholds(void **state)
{
    (void)state;
    assert_int_equal(threshold_of(BUDGET("79", "0")), 0);
    assert_int_equal(threshold_of(BUDGET("70", "10")), 80);
    assert_int_equal(threshold_of(BUDGET("99.9", "0")), 80);
    assert_int_equal(threshold_of(BUDGET("60", "40")), 100);
    assert_int_equal(
        threshold_of("{\"budget\":0,\"used\":0,\"committed\":0,\"begins_again\":\"2026-12-01T00:00:00Z\"}"), 0);
    assert_int_equal(threshold_of("{\"budget\":\"x\"}"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transitions__are_what_targets_can_name),
        cmocka_unit_test(ends__are_told_with_what_the_job_says),
        cmocka_unit_test(slack__reads_no_orders_in_a_name),
        cmocka_unit_test(the_state_of_the_event__stands_over_a_newer_one),
        cmocka_unit_test(a_job_that_is_read__has_the_id_of_its_event),
        cmocka_unit_test(ids__differ_where_keys_do),
        cmocka_unit_test(deadlines__are_at_risk),
        cmocka_unit_test(budgets__are_near_at_two_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
