/*  settings.c -- the keys of `channels`. */
#include "site-agent/channels/settings.h"

#define AT(member) .offset = offsetof(helio_channels_settings_t, member)

static const struct {
    const char *word;
    uint32_t kinds;
} words[] = {{"commands", 1U << HELIO_CHANNEL_KIND_COMMAND}, {"ports", 1U << HELIO_CHANNEL_KIND_PORT}, {"none", 0}};
enum { WORDS = sizeof words / sizeof words[0] };

static bool is_word(helio_text_t text)
{
    for (size_t i = 0; i < WORDS; i++)
        if (helio_text_is(text, words[i].word))
            return true;
    return false;
}

static const helio_spec_rule_t word_rule = {is_word, "`commands`, `ports` or `none`", "^(commands|ports|none)$"};

static const helio_spec_field_t fields[] = {
    {.key = "allow",
     .kind = HELIO_SPEC_STRINGS,
     AT(allow),
     .most = WORDS,
     .rule = &word_rule,
     .set_offset = offsetof(helio_channels_settings_t, allow_given),
     .example = "[commands, ports]",
     .doc = "What owners of jobs may do in their jobs: `commands` (`helio exec`, `helio shell`), `ports` (`helio "
            "port-forward`). `none`: neither. Default: both."},
    {.key = "most",
     .kind = HELIO_SPEC_U32,
     AT(most),
     .least = 1,
     .most = 1000,
     .fallback = "32",
     .example = "32",
     .doc = "Maximum number of open channels; more are refused. Each keeps at most 512 KiB in memory and under way."},
    {.key = "limit",
     .kind = HELIO_SPEC_DURATION,
     AT(limit_ms),
     .least = 1000,
     .most = 30.0 * 86400000,
     .fallback = "8h",
     .example = "8h",
     .doc = "Maximum time that a channel stays open. The broker can allow less."},
    {.key = "idle",
     .kind = HELIO_SPEC_DURATION,
     AT(idle_ms),
     .least = 1000,
     .most = 30.0 * 86400000,
     .fallback = "1h",
     .example = "1h",
     .doc = "A channel that carries nothing in either direction for so long is closed. The broker can allow less."},
};
const helio_spec_table_t helio_channels_settings_table =
    HELIO_SPEC_TABLE("channels", helio_channels_settings_t, fields, NULL);

uint32_t helio_channels_settings_kinds(const helio_channels_settings_t *self)
{
    const uint32_t all = (1U << HELIO_CHANNEL_KIND_COUNT) - 1;
    uint32_t kinds = self->allow_given ? 0 : all;
    for (uint32_t i = 0; i < self->allow.count; i++)
        for (size_t k = 0; k < WORDS; k++)
            if (helio_text_is(self->allow.items[i].text, words[k].word))
                kinds |= words[k].kinds;
    return kinds;
}
