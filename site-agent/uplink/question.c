#include "site-agent/uplink/question.h"

#include "federation/wire/codec.h"
#include "federation/wire/messages.h"

helio_rc helio_question_frame(const helio_site_profile_t *site, helio_buffer_t *out, helio_error_t *err)
{
    helio_msg_hello_t hello = {.agent_version = HELIO_TEXT(HELIO_RELEASE), .profile = *site};
    return helio_wire_encode(HELIO_MSG_HELLO, &hello, out, err);
}

bool helio_question_answer(helio_text_t frame, helio_rc *ret_rc, char *ret_text, size_t text_size)
{
    uint32_t message;
    void *record = NULL;
    helio_arena_t *arena = helio_arena_new();
    bool answers =
        helio_wire_decode(frame, arena, &message, &record, NULL) == HELIO_OK && message == HELIO_MSG_REFUSAL;
    if (answers) {
        const helio_msg_refusal_t *refusal = record;
        *ret_rc = (helio_rc)refusal->rc;
        (void)helio_text_copy(refusal->text, ret_text, text_size);
    }
    helio_arena_destroy(&arena);
    return answers;
}
