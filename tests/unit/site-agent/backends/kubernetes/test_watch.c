/*  test_watch.c -- events of a watch, from pieces of any size. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/watch.h"

enum { SEEN_MAX = 64 };

typedef struct seen {
    helio_kube_change_t changes[SEEN_MAX];
    char versions[SEEN_MAX][16];
    uint32_t count;
} seen_t;

static void note(void *arg, const helio_kube_event_t *event)
{
    seen_t *seen = arg;
    assert_true(seen->count < SEEN_MAX);
    seen->changes[seen->count] = event->change;
    (void)helio_text_copy(event->version, seen->versions[seen->count], sizeof seen->versions[0]);
    seen->count++;
}

static helio_rc take(helio_text_t stream, uint32_t piece, seen_t *seen)
{
    helio_kube_stream_t self = {0};
    helio_error_t err = {0};
    helio_rc rc = HELIO_OK;
    *seen = (seen_t){0};
    for (uint32_t at = 0; at < stream.size && !rc; at += piece) {
        uint32_t size = stream.size - at < piece ? stream.size - at : piece;
        rc = helio_kube_stream_take(&self, (helio_text_t){stream.data + at, size}, note, seen, &err);
    }
    assert_true(rc == HELIO_OK || err.text[0]);
    helio_kube_stream_clear(&self);
    return rc;
}

static void a_recorded_life_is_read_from_pieces_of_any_size(void **state)
{
    (void)state;
    helio_text_t stream = recorded_bytes("core/50-watch-jobs-complete-then-delete");
    static const uint32_t pieces[] = {1, 7, 4096, 1 << 20};
    static const char *const versions[] = {"246", "248", "257", "260", "262", "264", "264"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        seen_t seen;
        assert_int_equal(take(stream, pieces[i], &seen), HELIO_OK);
        assert_int_equal(seen.count, 7);
        assert_int_equal(seen.changes[0], HELIO_KUBE_ADDED);
        assert_int_equal(seen.changes[4], HELIO_KUBE_MODIFIED);
        assert_int_equal(seen.changes[5], HELIO_KUBE_DELETED);
        assert_int_equal(seen.changes[6], HELIO_KUBE_BOOKMARK);
        for (uint32_t n = 0; n < 7; n++)
            assert_string_equal(seen.versions[n], versions[n]);
    }
}

static void the_initial_list_ends_with_a_bookmark(void **state)
{
    (void)state;
    seen_t seen;
    assert_int_equal(take(recorded_bytes("core/53-watch-initial-list-bookmark"), 1000, &seen), HELIO_OK);
    assert_int_equal(seen.count, 9);
    assert_int_equal(seen.changes[7], HELIO_KUBE_ADDED);
    assert_int_equal(seen.changes[8], HELIO_KUBE_BOOKMARK);
}

static void an_expired_version_is_told_in_the_stream(void **state)
{
    (void)state;
    seen_t seen;
    assert_int_equal(take(recorded_bytes("resilience/43-410-watch-too-old"), 1000, &seen), HELIO_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.changes[0], HELIO_KUBE_STALE);
    assert_string_equal(seen.versions[0], "");
}

/*  What a killed server has sent of its last line is no event. */
static void a_line_without_its_end_is_nothing(void **state)
{
    (void)state;
    seen_t seen;
    helio_text_t stream = recorded_bytes("resilience/44-watch-cut-h1");
    assert_int_equal(take(stream, 512, &seen), HELIO_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(take((helio_text_t){stream.data, stream.size - 2}, 512, &seen), HELIO_OK);
    assert_int_equal(seen.count, 0);
}

static void lines_that_are_no_events_end_the_stream(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{}\n",
        "[]\n",
        "no JSON\n",
        "{\"type\": \"ADDED\"}\n",
        "{\"type\": \"ADDED\", \"object\": {}}\n",
        "{\"type\": \"ADDED\", \"object\": null}\n",
        "{\"type\": \"MELTED\", \"object\": {\"metadata\": {\"resourceVersion\": \"1\"}}}\n",
        "{\"type\": \"ADDED\", \"type\": \"DELETED\", \"object\": {\"metadata\": {\"resourceVersion\": \"1\"}}}\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        seen_t seen;
        if (take(helio_text_of(lines[i]), 3, &seen) != HELIO_INVALID || seen.count)
            fail_msg("%s", lines[i]);
    }
}

static void empty_lines_and_other_errors_are_told_apart(void **state)
{
    (void)state;
    seen_t seen;
    assert_int_equal(take(helio_text_of("\n\n{\"type\":\"ERROR\",\"object\":{\"code\":500}}\n\n"), 5, &seen), HELIO_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.changes[0], HELIO_KUBE_TROUBLE);
}

static void a_line_without_an_end_is_bounded(void **state)
{
    (void)state;
    helio_kube_stream_t self = {0};
    helio_error_t err = {0};
    seen_t seen = {0};
    char *piece = helio_arena_alloc(arena, 1 << 20, 1);
    memset(piece, 'x', 1 << 20);
    helio_rc rc = HELIO_OK;
    uint32_t pieces = 0;
    for (; rc == HELIO_OK && pieces < 100; pieces++)
        rc = helio_kube_stream_take(&self, (helio_text_t){piece, 1 << 20}, note, &seen, &err);
    assert_int_equal(rc, HELIO_TOO_BIG);
    assert_true(pieces <= (HELIO_KUBE_LINE_MAX >> 20) + 1);
    helio_kube_stream_clear(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOCUMENT_TEST(a_recorded_life_is_read_from_pieces_of_any_size),
        DOCUMENT_TEST(the_initial_list_ends_with_a_bookmark),
        DOCUMENT_TEST(an_expired_version_is_told_in_the_stream),
        DOCUMENT_TEST(a_line_without_its_end_is_nothing),
        DOCUMENT_TEST(lines_that_are_no_events_end_the_stream),
        DOCUMENT_TEST(empty_lines_and_other_errors_are_told_apart),
        DOCUMENT_TEST(a_line_without_an_end_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
