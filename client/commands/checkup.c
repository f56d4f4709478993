/*  checkup.c -- prints and counts what the checks of `doctor` find. */
#include "client/commands/checkup.h"

#include <stdlib.h>

enum { ANSWER_MS = 3000 /* one that takes longer for a question about itself hangs */ };

typedef enum finding { GOOD, NOTE, BAD } finding_t;

static const struct {
    const char *mark, *name; /* for people, for programs */
} findings[] = {[GOOD] = {"✔", "good"}, [NOTE] = {"!", "note"}, [BAD] = {"✗", "bad"}};

static void line(const helio_checkup_t *self, finding_t finding, const char *what, const char *text, const char *remedy)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    if (json_array_append_new(self->found, json_pack("{s:s, s:s, s:s, s:s?}", "check", what, "result",
                                                     findings[finding].name, "text", text, "help", remedy)) != 0)
        abort();
    if (self->client->output.format > HELIO_FORMAT_WIDE)
        return;
    helio_safe_text(text, false, &safe);
    fprintf(self->client->io->out, "%s %-9s %s\n", findings[finding].mark, what, safe.data ? safe.data : "");
    helio_buffer_reset(&safe);
    helio_safe_text(remedy ? remedy : "", false, &safe);
    if (remedy)
        fprintf(self->client->io->out, "%12shelp: %s\n", "", safe.data ? safe.data : "");
}

void helio_checkup_good(const helio_checkup_t *self, const char *what, const char *text)
{
    line(self, GOOD, what, text, NULL);
}

void helio_checkup_note(const helio_checkup_t *self, const char *what, const char *text, const char *remedy)
{
    line(self, NOTE, what, text, remedy);
}

void helio_checkup_bad(helio_checkup_t *self, int code, const char *what, const char *text, const char *remedy)
{
    line(self, BAD, what, text, remedy);
    if (self->code == HELIO_EXIT_OK)
        self->code = code;
}

helio_rc helio_checkup_ask(const helio_checkup_t *self, uint32_t broker, const char *path,
                           helio_response_t *ret_response, helio_error_t *err)
{
    return helio_remote_call(self->client->remote,
                             &(helio_request_t){.path = path, .once = true, .broker = broker, .within_ms = ANSWER_MS},
                             ret_response, err);
}

json_t *helio_checkup_look(const helio_checkup_t *self, const char *path, long *ret_status)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    *ret_status = 0;
    if (helio_remote_call(self->client->remote, &(helio_request_t){.path = path, .broker = self->broker}, &response,
                          &err) != HELIO_OK)
        return NULL;
    *ret_status = response.status;
    return response.status == 200
               ? json_loadb(response.body.data ? response.body.data : "", response.body.size, 0, NULL)
               : NULL;
}
