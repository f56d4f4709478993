/*  reasons.c -- writes details into a response. */
#include "broker/http/request/reasons.h"

#include "federation/reason/detail_json.h"
#include "federation/reason/sentence.h"

void helio_put_details(helio_json_writer_t *json, const char *text_name, const char *details_name,
                       const helio_details_t *details)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(details, &text);
    helio_json_put_text_or_null(json, text_name, helio_buffer_view(&text));
    if (details->items.count)
        helio_details_write(json, details_name, details);
    else
        helio_json_put_null(json, details_name);
}

void helio_put_note(helio_json_writer_t *json, const helio_details_t *details)
{
    if (details->items.count)
        helio_put_details(json, "note", "note_details", details);
}
