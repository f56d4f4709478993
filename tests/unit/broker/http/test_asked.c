/*  test_asked.c -- what GET /v1/jobs/{id} says a job asks for: by its document, and by its last edit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "broker/http/routes/asked.h"

#define JOB(asked) "{\"id\":\"a\",\"history\":[1, \n 2],\n\"asked\":" asked "}"
#define YAML(placement) JOB("{\"source\":\"run: true\\nplacement: " placement "\\n\",\"edit\":null}")
#define SET "{goal: green, flexible: 12h, deadline: 2026-12-01T07:00:00Z, max_cost: 400 USD, max_carbon: 250 g/kWh}"
#define BARE "{\"id\":\"a\",\"history\":[1,2]"

static const struct {
    const char *read, *job; /* job: NULL = what was read */
} cases[] = {
    {YAML(SET), BARE ",\"goal\":\"green\",\"flexible_s\":43200.0,\"deadline\":\"2026-12-01T07:00:00.000Z\","
                     "\"max_cost_usd\":400.0,\"max_carbon_g_per_kwh\":250.0}"},
    {JOB("{\"source\":\"{\\\"run\\\":\\\"true\\\",\\\"placement\\\":{\\\"goal\\\":\\\"cheap\\\"}}\",\"edit\":null}"),
     BARE
     ",\"goal\":\"cheap\",\"flexible_s\":0.0,\"deadline\":null,\"max_cost_usd\":null,\"max_carbon_g_per_kwh\":null}"},
    {YAML("{prices: {carbon: 90 USD/t, wait: 1 USD/gpu-h}}"),
     BARE ",\"goal\":null,\"flexible_s\":0.0,\"deadline\":null,\"max_cost_usd\":null,\"max_carbon_g_per_kwh\":null}"},
    /* an edit replaces all that can be edited */
    {JOB("{\"source\":\"run: true\\nplacement: " SET "\\n\",\"edit\":{\"goal\":0,\"prices_set\":false,"
         "\"flexible_ms\":1500,\"deadline_ms\":0,\"max_cost_micro_usd\":2500000,\"max_carbon_mg_per_kwh\":0}}"),
     BARE
     ",\"goal\":\"fast\",\"flexible_s\":1.5,\"deadline\":null,\"max_cost_usd\":2.5,\"max_carbon_g_per_kwh\":null}"},
    /* what another release wrote, or nobody */
    {JOB("{\"source\":\"rnu: true\\n\",\"edit\":null}"), BARE "}"},
    {JOB("{\"edit\":{\"goal\":1}}"), BARE "}"},
    {JOB("nonsense"), BARE "}"},
    {JOB(""), NULL},
    {"{\"id\":\"a\"}", NULL},
    {"{\"id\":[1,\n2]}", NULL},
    {"{\n\"asked\":{}}", NULL},
    {"\n\"asked\":{}}", NULL},
    {"[]", NULL},
    {"x\n", NULL},
    {"", NULL},
};

static void job__has_what_its_document_and_its_last_edit_ask_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_asked_job(helio_text_of(cases[i].read), &out);
        json_t *got = json_loadb(out.data ? out.data : "", out.size, 0, NULL);
        json_t *wanted = cases[i].job ? json_loads(cases[i].job, 0, NULL) : NULL;
        const char *text = out.data ? out.data : "";
        if (cases[i].job ? !json_equal(got, wanted) : strcmp(text, cases[i].read) != 0)
            fail_msg("case %zu: %s", i, text);
        json_decref(got);
        json_decref(wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(job__has_what_its_document_and_its_last_edit_ask_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
