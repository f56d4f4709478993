/*  rehearse.c -- `rehearse`, and `drain --dry-run`: fetches the live state, and hands it to the program that runs it
 *  on, so that a client has no broker's core in it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/commands/simulator.h"
#include "client/invocation/settings.h"
#include "client/transport/response.h"

enum { WORDS_MOST = 64 };

typedef struct words {
    const char *items[WORDS_MOST + 1]; /* ends with NULL */
    uint32_t count;
} words_t;

static void add(words_t *self, const char *word)
{
    if (self->count < WORDS_MOST)
        self->items[self->count++] = word;
}

static void add_change(const helio_client_t *client, words_t *words, const char *kind, const char *what)
{
    add(words, "--change");
    add(words, helio_arena_printf(client->arena, "%s%s", kind, what).data);
}

static void add_values(const helio_client_t *client, words_t *words, uint32_t option, const char *kind)
{
    const helio_option_values_t *given = &client->arguments->values[option];
    for (uint32_t i = 0; i < given->count; i++)
        add_change(client, words, kind, given->items[i]);
}

/*  A file without a name: it ends with the last process that has it open. -1: a message was printed. */
static int keep(const helio_client_t *client, const helio_buffer_t *bytes)
{
    int fd = memfd_create("helio-snapshot", 0);
    size_t written = 0;
    while (fd >= 0 && written < bytes->size) {
        ssize_t size = write(fd, bytes->data + written, bytes->size - written);
        if (size < 0 && errno != EINTR)
            break;
        written += size > 0 ? (size_t)size : 0;
    }
    if (fd >= 0 && written == bytes->size)
        return fd;
    (void)helio_client_fail(client, HELIO_EXIT_OWN, "cannot keep the live state: %s", strerror(errno));
    return -1;
}

/*  Another program reads it; what is none at all never comes so far. */
static bool is_snapshot(const helio_buffer_t *bytes)
{
    static const char magic[] = "HELIOSNAP";
    return bytes->size > sizeof magic && memcmp(bytes->data, magic, sizeof magic - 1) == 0;
}

/*  NULL: a message was printed. */
static const char *path_of(const helio_client_t *client)
{
    enum { HOUR_MS = 3600000, HOURS_MOST = 31 * 24 };
    uint64_t ms;
    if (!helio_client_has(client, HELIO_OPTION_LAST))
        return "/v1/snapshot";
    if (!helio_client_duration(client, HELIO_OPTION_LAST, 0, &ms))
        return NULL;
    uint64_t hours = ms / HOUR_MS + (ms % HOUR_MS != 0);
    if (hours >= 1 && hours <= HOURS_MOST)
        return helio_arena_printf(client->arena, "/v1/snapshot?hours=%u", (unsigned)hours).data;
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--last takes 1h to 31d");
    return NULL;
}

/*  -1: a message was printed, and *ret_code is the exit code. */
static int fetch(const helio_client_t *client, int *ret_code)
{
    const char *path = path_of(client);
    *ret_code = HELIO_EXIT_USAGE;
    if (!path)
        return -1;
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err = {0};
    helio_rc rc = helio_remote_call(client->remote, &(helio_request_t){.path = path}, &response, &err);
    *ret_code = HELIO_EXIT_OWN;
    if (rc == HELIO_OK && response.status == 200 && is_snapshot(&response.body))
        return keep(client, &response.body);
    if (rc == HELIO_OK && response.status == 200) {
        *ret_code =
            helio_client_fail(client, HELIO_EXIT_OWN, "the answer from %s is no snapshot", client->settings->broker);
        return -1;
    }
    *ret_code = rc != HELIO_OK ? helio_response_print_rc(client, rc, &err)
                               : helio_response_print_error(client, response.status, helio_buffer_view(&response.body),
                                                            response.retry_after_ms);
    return -1;
}

/*  span: of virtual time; NULL = as the program has it. */
static int rehearse(helio_client_t *client, words_t *words, const char *span)
{
    int code, fd;
    const char *format = client->output.format == HELIO_FORMAT_JSON ? "json" : "table";
    if (client->output.format != HELIO_FORMAT_JSON && client->output.format != HELIO_FORMAT_TABLE)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "a rehearsal is printed as table or json");
    fd = fetch(client, &code);
    if (fd < 0)
        return code;
    if (span) {
        add(words, "--for");
        add(words, span);
    }
    add(words, "--output");
    add(words, format);
    add(words, helio_arena_printf(client->arena, "/proc/self/fd/%d", fd).data);
    return helio_simulator_execute(client, words->items);
}

int helio_cmd_rehearse(helio_client_t *client)
{
    words_t words = {0};
    add(&words, HELIO_SIMULATOR);
    add(&words, "rehearse");
    add_values(client, &words, HELIO_OPTION_DOWN, "down=");
    add_values(client, &words, HELIO_OPTION_PRICE, "price=");
    add_values(client, &words, HELIO_OPTION_CHANGE, "");
    if (words.count == 2)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "no change is given\nhelp: helio rehearse --down SITE, --price SITE:FACTOR or --change "
            "CHANGE");
    return rehearse(client, &words, helio_client_value(client, HELIO_OPTION_FOR));
}

int helio_rehearse_drain(helio_client_t *client)
{
    words_t words = {0};
    add(&words, HELIO_SIMULATOR);
    add(&words, "rehearse");
    add_change(client, &words, "drain=", client->arguments->words[0]);
    return rehearse(client, &words, helio_client_value(client, HELIO_OPTION_FOR));
}

int helio_rehearse_curtail(helio_client_t *client, uint32_t percent)
{
    words_t words = {0};
    const char *span = helio_client_value(client, HELIO_OPTION_FOR);
    add(&words, HELIO_SIMULATOR);
    add(&words, "rehearse");
    add_change(client, &words, "curtail=",
               helio_arena_printf(client->arena, "%s:%u%%%s%s", client->arguments->words[0], percent, span ? ":" : "",
                                  span ? span : "")
                   .data);
    return rehearse(client, &words, NULL); /* also what comes after it */
}
