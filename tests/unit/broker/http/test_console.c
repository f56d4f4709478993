/*  test_console.c -- the console's files: their bytes, their types, what caches and browsers are told. */
#include "tests/unit/broker/http/server_testing.h"

#include <dirent.h>

#define DIST HELIO_SOURCE_DIR "/console/dist"

static void get(const char *target, const char *headers)
{
    ask(w, &r, "GET", target, "", headers, NULL);
}

/*  An answer without a body. */
static void ask_for_head(const char *method, const char *target, const char *headers)
{
    client_t *c = client_up(w);
    client_ask(c, method, target, "", headers, NULL);
    assert_true(client_reply_to(c, &r, true));
    assert_true(client_is_silent(c));
    client_down(c);
}

static size_t content_of(const char *name, char *bytes, size_t size)
{
    char path[512];
    (void)snprintf(path, sizeof path, DIST "/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t got = fread(bytes, 1, size, file);
    assert_true(got < size);
    (void)fclose(file);
    return got;
}

static void console__every_file_is_served_as_it_was_built(void **state)
{
    (void)state;
    static char bytes[sizeof r.body];
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".json", "application/json"},
                                           {".svg", "image/svg+xml"},
                                           {".txt", "text/plain; charset=utf-8"}};
    uint32_t files = 0;
    DIR *dir = opendir(DIST);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char target[300];
        if (entry->d_name[0] == '.')
            continue;
        files++;
        (void)snprintf(target, sizeof target, "/console/%s", entry->d_name);
        get(target, "");
        assert_int_equal(r.status, 200);
        assert_int_equal(r.body_size, content_of(entry->d_name, bytes, sizeof bytes));
        assert_memory_equal(r.body, bytes, r.body_size);
        const char *suffix = strrchr(entry->d_name, '.'), *type = NULL;
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
            if (strcmp(types[i][0], suffix) == 0)
                type = types[i][1];
        assert_non_null(type);
        assert_string_equal(reply_header(&r, "Content-Type"), type);
    }
    (void)closedir(dir);
    assert_true(files >= 6);
    assert_int_equal(w->events + w->read_calls, 0);
}

static void console__the_page_runs_nothing_that_is_not_its_own(void **state)
{
    (void)state;
    get("/console/", "");
    assert_int_equal(r.status, 200);
    assert_contains(r.body, "<script type=\"module\" src=\"console.js\">");
    const char *policy = reply_header(&r, "Content-Security-Policy");
    assert_contains(policy, "default-src 'none'; script-src 'self'; style-src 'self'; ");
    assert_contains(policy, "frame-ancestors 'none'");
    assert_null(strstr(policy, "unsafe"));
    assert_string_equal(reply_header(&r, "X-Content-Type-Options"), "nosniff");
    assert_string_equal(reply_header(&r, "Referrer-Policy"), "no-referrer");
}

static void console__roots_lead_to_the_page(void **state)
{
    (void)state;
    static const char *const roots[] = {"/", "/console"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        get(roots[i], "");
        assert_int_equal(r.status, 302);
        assert_string_equal(reply_header(&r, "Location"), "console/");
    }
}

static void console__gzip_is_sent_only_to_those_that_accept_it(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        bool gzip;
    } rows[] = {{"gzip", true},         {"br, GZIP;q=0.5", true},      {"deflate,gzip", true},
                {"gzip;q=0", false},    {"gzip; q=0.000, br", false},  {"br", false},
                {"identity", false},    {"gzipx, x-gzip, gzi", false}, {"", false},
                {"gzip;q=0.001", true}, {"br;q=0, gzip;q=1.0", true},  {",,;gzip", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char header[80];
        (void)snprintf(header, sizeof header, "Accept-Encoding: %s\r\n", rows[i].accept);
        get("/console/console.css", header);
        const char *encoding = reply_header(&r, "Content-Encoding");
        if ((encoding != NULL) != rows[i].gzip || (memcmp(r.body, "\x1f\x8b", 2) == 0) != rows[i].gzip)
            fail_msg("Accept-Encoding: %s is answered with %s", rows[i].accept, encoding ? encoding : "the plain file");
        assert_string_equal(reply_header(&r, "Vary"), "Accept-Encoding");
    }
}

static void console__a_file_that_a_cache_has_is_not_sent_again(void **state)
{
    (void)state;
    char tag[256], header[400];
    get("/console/console.css", "Accept-Encoding: gzip\r\n");
    (void)snprintf(tag, sizeof tag, "%s", reply_header(&r, "ETag"));
    assert_string_equal(reply_header(&r, "Cache-Control"), "no-cache");
    static const char *const before[] = {"", "W/", "\"a\", ", "*, "};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        char list[300];
        (void)snprintf(list, sizeof list, "%s%s", before[i], tag);
        (void)snprintf(header, sizeof header, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", list);
        ask_for_head("GET", "/console/console.css", header);
        if (r.status != 304)
            fail_msg("If-None-Match: %s is answered %d", list, r.status);
        assert_string_equal(reply_header(&r, "ETag"), tag);
    }
    (void)snprintf(header, sizeof header, "If-None-Match: %s\r\n", tag); /* of the other form of the file */
    get("/console/console.css", header);
    assert_int_equal(r.status, 200);
    get("/console/console.css", "If-None-Match: \"a\", W/, \"\", x\r\n");
    assert_int_equal(r.status, 200);
}

static void console__head_says_what_get_would(void **state)
{
    (void)state;
    get("/console/", "Accept-Encoding: gzip\r\n");
    char tag[256], length[24];
    (void)snprintf(tag, sizeof tag, "%s", reply_header(&r, "ETag"));
    (void)snprintf(length, sizeof length, "%zu", r.body_size);
    ask_for_head("HEAD", "/console/", "Accept-Encoding: gzip\r\n");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_header(&r, "ETag"), tag);
    assert_string_equal(reply_header(&r, "Content-Length"), length);
}

static void console__what_is_no_file_of_it_is_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        int status;
    } rows[] = {{"/console/index.htm", 404},
                {"/console/INDEX.HTML", 404},
                {"/console/console.js/", 404},
                {"/console/src/main.jsx", 404},
                {"/console/..%2f", 400},
                {"/console/%2e%2e", 400},
                {"/console//", 400},
                {"/console/.", 400},
                {"/console/console.js%00", 400},
                {"/console/licenses.txt?a=1", 400}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        get(rows[i].target, "");
        if (r.status != rows[i].status)
            fail_msg("%s is answered %d", rows[i].target, r.status);
    }
    get("/console/console.css", "Accept: text/html, image/*\r\n");
    assert_int_equal(r.status, 406);
    assert_contains(r.body, "text/css");
    get("/console/console.css", "Accept: text/css\r\n");
    assert_int_equal(r.status, 200);
}

/*  Only a path that is described with a slash at its end has one. */
static void console__no_other_path_ends_with_a_slash(void **state)
{
    (void)state;
    get("/healthz/", "");
    assert_int_equal(r.status, 404);
    ask(w, &r, "GET", "/v1/whoami/", w->user.text, "", NULL);
    assert_int_equal(r.status, 404);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        TEST(console__every_file_is_served_as_it_was_built),
        TEST(console__the_page_runs_nothing_that_is_not_its_own),
        TEST(console__roots_lead_to_the_page),
        TEST(console__gzip_is_sent_only_to_those_that_accept_it),
        TEST(console__a_file_that_a_cache_has_is_not_sent_again),
        TEST(console__head_says_what_get_would),
        TEST(console__what_is_no_file_of_it_is_not_found),
        TEST(console__no_other_path_ends_with_a_slash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
