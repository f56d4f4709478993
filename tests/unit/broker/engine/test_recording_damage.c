/*  test_recording_damage.c -- recordings that were cut, edited or could not be written: each is told by its place, none
 *  is taken for whole, and a broker continues after any cut. */
#include "tests/unit/broker/engine/recording_testing.h"

#include <signal.h>
#include <sys/resource.h>

enum { FRAMES_MAX = 256, HEAD = 5, EVENTS = 40, LOADS = 4 };

typedef struct frame {
    size_t at, size; /* with its head */
    char tag;
} frame_t;

typedef struct film {
    char *bytes;
    size_t size;
    frame_t frames[FRAMES_MAX];
    uint32_t count;
} film_t;

static film_t read_film(const char *path)
{
    film_t film = {0};
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    film.size = (size_t)info.st_size;
    film.bytes = helio_new(film.size + 1, 1);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(film.bytes, 1, film.size, file), film.size);
    (void)fclose(file);
    for (size_t at = 0; at < film.size; at += film.frames[film.count - 1].size) {
        const unsigned char *head = (const unsigned char *)film.bytes + at;
        size_t body = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
        assert_true(film.count < FRAMES_MAX);
        film.frames[film.count++] = (frame_t){at, HEAD + body, (char)head[4]};
    }
    return film;
}

/*  Two lives: the options, the events and a hash of each. */
static film_t record_two(const char *path)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        life_t life;
        begin(&life, path, seed);
        go_on(&life, EVENTS, seed);
        end(&life);
    }
    return read_film(path);
}

/*  The nth frame of that tag, from 0. */
static uint32_t nth(const film_t *film, char tag, uint32_t n)
{
    for (uint32_t i = 0; i < film->count; i++)
        if (film->frames[i].tag == tag && n-- == 0)
            return i;
    fail_msg("no such frame");
    return 0;
}

/*  The same frames, with one in place of another one: NULL = none in its place. */
static void put_with(const char *path, const film_t *film, uint32_t frame, const char *bytes, size_t size)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t all = {0};
    const frame_t *at = &film->frames[frame];
    helio_buffer_append(&all, film->bytes, at->at);
    helio_buffer_append(&all, bytes ? bytes : "", size);
    helio_buffer_append(&all, film->bytes + at->at + at->size, film->size - at->at - at->size);
    put_file(path, all.data, all.size);
}

static helio_rc replay(const char *path, helio_replay_t *ret_replay, helio_error_t *err)
{
    *ret_replay = (helio_replay_t){.lives = 77};
    *err = (helio_error_t){.text = ""};
    helio_rc rc = helio_replay_file(path, ret_replay, err);
    if (rc != HELIO_OK) { /* nothing is told of what was not read to its end, and the file is named */
        assert_int_equal(ret_replay->lives, 77);
        assert_non_null(strstr(err->text, path));
    }
    return rc;
}

/* ---- frames -------------------------------------------------------------------------------------------- */

/*  at: of the byte that changes, from the beginning of the frame, -1 = none; set: what it becomes. shorter: by how many
 *  bytes the body is, at most all but three. */
typedef struct edit {
    char tag;
    uint32_t n;
    int at, set;
    uint32_t shorter;
    helio_rc rc;
    const char *text;
} edit_t;

static const edit_t edits[] = {
    {'E', 0, 4, 'Z', 0, HELIO_INVALID, "a frame of an unknown kind after event 0 of life 1"},
    {'E', 50, 4, 'Z', 0, HELIO_INVALID, "a frame of an unknown kind after event 6 of life 2"},
    {'E', 7, 6, 0xff, 0, HELIO_INVALID, "an event of an unknown kind after event 7 of life 1"},
    {'E', 3, -1, 0, 1, HELIO_PROTOCOL, ""},
    {'E', 4, -1, 0, UINT32_MAX, HELIO_INVALID, "an event that cannot be read after event 4 of life 1"},
    {'H', 0, -1, 0, 1, HELIO_INVALID, "a count that does not fit after event 44 of life 1"},
    {'H', 0, HEAD, 43, 0, HELIO_INVALID, "a count that does not fit after event 44 of life 1"},
    {'H', 1, HEAD + 8, 'x', 0, HELIO_CONFLICT, "in life 2 this program acts differently"},
    {'O', 0, HEAD, 'h', 0, HELIO_INVALID, "is not a recording of helio-broker"},
    {'O', 1, HEAD, 'h', 0, HELIO_INVALID, "is not a recording of helio-broker"},
    {'O', 1, HEAD + 8, 200, 0, HELIO_VERSION, "this program reads version"},
    {'O', 0, 4, 'E', 0, HELIO_INVALID, "is not a recording of helio-broker"},
    {'O', 1, -1, 0, UINT32_MAX, HELIO_INVALID, "is not a recording of helio-broker"},
};

static void recording__that_was_edited_is_refused_with_its_place(void **state)
{
    const char *path = *state;
    film_t film = record_two(path);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        const edit_t *edit = &edits[i];
        uint32_t at = nth(&film, edit->tag, edit->n);
        char *bytes = helio_new(film.frames[at].size, 1);
        size_t size = film.frames[at].size - HEAD, shorter = edit->shorter < size ? edit->shorter : size - 3;
        memcpy(bytes, film.bytes + film.frames[at].at, film.frames[at].size);
        size -= shorter;
        for (int k = 0; k < 4; k++)
            bytes[k] = (char)(size >> (8 * k));
        if (edit->at >= 0)
            bytes[edit->at] = (char)edit->set;
        put_with(path, &film, at, bytes, HEAD + size);
        free(bytes);
        helio_replay_t result;
        helio_error_t err;
        helio_rc rc = helio_replay_file(path, &result, &err);
        bool named = edit->rc == HELIO_PROTOCOL || strstr(err.text, path); /* the codec knows of no file */
        if (rc != edit->rc || !strstr(err.text, edit->text) || !named)
            fail_msg("edit %zu: %s: %s", i, helio_rc_text(rc), err.text);
    }
    free(film.bytes);
}

/*  Any frame left out, and any one twice, but for those that a life begins with: the core asserts how it begins. */
static void recording__that_lacks_a_frame_or_has_one_twice_is_not_taken_for_whole(void **state)
{
    const char *path = *state;
    film_t film = record_two(path);
    uint32_t hash = 0, event = 0;
    for (uint32_t i = 0; i < film.count; i++) {
        const frame_t *frame = &film.frames[i];
        event = frame->tag == 'O' ? 0 : event + 1;
        if (event <= LOADS)
            continue;
        helio_replay_t result;
        helio_error_t err;
        put_with(path, &film, i, NULL, 0);
        helio_rc rc = replay(path, &result, &err);
        if (frame->tag != 'H')
            assert_int_not_equal(rc, HELIO_OK);
        else /* what it would have compared is not compared */
            assert_true(rc == HELIO_OK && result.checks == 1 && result.unfinished == (hash++ == 1));
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t twice = {0};
        helio_buffer_append(&twice, film.bytes + frame->at, frame->size);
        helio_buffer_append(&twice, film.bytes + frame->at, frame->size);
        put_with(path, &film, i, twice.data, twice.size);
        rc = replay(path, &result, &err);
        if (frame->tag == 'E')
            assert_int_not_equal(rc, HELIO_OK);
        else /* the same comparison again */
            assert_true(rc == HELIO_OK && result.checks == 3 && result.events == 2 * (EVENTS + LOADS));
    }
    free(film.bytes);
}

/* ---- crashes ------------------------------------------------------------------------------------------- */

/*  The next start cuts off what is no whole frame, and begins a life of its own behind the others. */
static void recording__that_a_crash_cut_at_any_byte_is_continued(void **state)
{
    const char *path = *state;
    film_t film = record_two(path);
    const frame_t *first = &film.frames[0];
    size_t tail = film.frames[film.count - 3].at;
    for (size_t cut = 1; cut <= film.size; cut += cut < first->size + 40 || cut >= tail ? 1 : 97) {
        helio_broker_options_t options = helio_broker_options_default();
        helio_recorder_t *recorder = NULL;
        helio_replay_t before, after;
        helio_error_t err = {.text = ""};
        put_file(path, film.bytes, cut);
        helio_rc rc = helio_recorder_open(path, &options, &recorder, &err);
        if (cut < first->size) { /* not even the first frame: this may be anybody's file */
            assert_int_equal(rc, HELIO_INVALID);
            assert_non_null(strstr(err.text, "name another file"));
            continue;
        }
        assert_int_equal(rc, HELIO_OK);
        helio_recorder_close(&recorder);
        assert_int_equal(replay(path, &after, &err), HELIO_OK);
        assert_false(after.unfinished);
        put_file(path, film.bytes, cut);
        assert_int_equal(replay(path, &before, &err), HELIO_OK);
        assert_int_equal(after.lives, before.lives + 1);
        assert_int_equal(after.events, before.events); /* none that was whole is lost */
    }
    free(film.bytes);
}

/* ---- disks --------------------------------------------------------------------------------------------- */

/*  As a full disk: the file cannot grow. What had been written is still read. */
static void recording__that_cannot_grow_is_an_error_that_names_the_file(void **state)
{
    const char *path = *state;
    struct rlimit limit, small;
    life_t life;
    helio_error_t err = {.text = ""};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    begin(&life, path, 7);
    assert_int_equal(helio_recorder_flush(life.recorder, &err), HELIO_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){(rlim_t)info.st_size + 100, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    helio_ev_nothing_t nothing = {0};
    helio_event_t tick = {HELIO_BROKER_EV_TICK, 2000, 1790000002000, &nothing};
    helio_rc rc = HELIO_OK;
    for (int i = 0; i < 10 && rc == HELIO_OK; i++) {
        rc = helio_recorder_event(life.recorder, &tick, &err);
        if (rc == HELIO_OK)
            rc = helio_recorder_flush(life.recorder, &err);
    }
    assert_int_equal(rc, HELIO_IO);
    assert_non_null(strstr(err.text, "cannot record in"));
    assert_non_null(strstr(err.text, path));
    end(&life);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, before);
    helio_replay_t result;
    assert_int_equal(replay(path, &result, &err), HELIO_OK);
    assert_true(result.unfinished && result.events >= 4);
}

static void recording__to_a_place_that_holds_no_file_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/tmp", "/nonexistent/events.rec", "/dev/full", "/proc/self/status"};
    helio_broker_options_t options = helio_broker_options_default();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        helio_recorder_t *recorder = NULL;
        helio_error_t err = {.text = ""};
        assert_int_not_equal(helio_recorder_open(paths[i], &options, &recorder, &err), HELIO_OK);
        assert_null(recorder);
        assert_non_null(strstr(err.text, paths[i]));
    }
    helio_replay_t result;
    helio_error_t err;
    assert_int_not_equal(replay("/tmp", &result, &err), HELIO_OK);
    helio_recorder_t *none = NULL;
    helio_recorder_close(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(recording__that_was_edited_is_refused_with_its_place),
        CASE(recording__that_lacks_a_frame_or_has_one_twice_is_not_taken_for_whole),
        CASE(recording__that_a_crash_cut_at_any_byte_is_continued),
        CASE(recording__that_cannot_grow_is_an_error_that_names_the_file),
        CASE(recording__to_a_place_that_holds_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
