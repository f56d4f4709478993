/*  values.c -- how Slurm writes times, sizes, counts and signals. */
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"
#include "federation/model/gpu_name.h"
#include "federation/spec/value.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, PARTS_MAX = 3, MODEL_MAX = 32 };

static bool number(helio_text_t text, uint64_t most, uint64_t *ret_number)
{
    uint64_t value;
    if (helio_u64_parse(text, &value) != HELIO_OK || value > most)
        return false;
    *ret_number = value;
    return true;
}

static bool is_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(text, *words) == 0)
            return true;
    return false;
}

/*  Numbers between colons. */
static bool parts(const char *text, uint64_t ret_parts[PARTS_MAX], uint32_t *ret_count)
{
    uint32_t count = 0;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ":");
        if (count == PARTS_MAX || !number((helio_text_t){at, (uint32_t)size}, 100000000, &ret_parts[count]))
            return false;
        count++;
        at += size;
        if (!*at)
            break;
    }
    *ret_count = count;
    return true;
}

/*  min, min:sec, h:min:sec; d-h, d-h:min, d-h:min:sec. Rounded up to whole minutes, as in Slurm. */
bool sbatch_time(const char *text, uint64_t *ret_ms, bool *ret_endless)
{
    static const char *const endless[] = {"infinite", "unlimited", "0", "-1", NULL};
    uint64_t p[PARTS_MAX] = {0}, days = 0, seconds;
    uint32_t count;
    *ret_endless = is_any(text, endless);
    if (*ret_endless)
        return true;
    const char *dash = strchr(text, '-');
    if (strlen(text) > 64 || (dash && !number((helio_text_t){text, (uint32_t)(dash - text)}, 100000, &days)))
        return false;
    if (!(dash && dash > text && dash[1] == '\0') && !parts(dash ? dash + 1 : text, p, &count)) /* "1-" is a day */
        return false;
    if (dash)
        seconds = days * DAY_S + p[0] * HOUR_S + p[1] * MINUTE_S + p[2];
    else if (count == 3)
        seconds = p[0] * HOUR_S + p[1] * MINUTE_S + p[2];
    else
        seconds = p[0] * MINUTE_S + p[1];
    *ret_ms = (seconds + MINUTE_S - 1) / MINUTE_S * MINUTE_S * 1000;
    *ret_endless = seconds == 0;
    return true;
}

bool helio_sbatch_time(const char *text, uint64_t *ret_ms, bool *ret_endless)
{
    return sbatch_time(text, ret_ms, ret_endless);
}

/*  A number with K, M, G or T, or of megabytes; a B or iB after the letter is ignored, as in Slurm. All are powers of
 *  1024, kept in whole MiB. */
bool sbatch_memory(const char *text, uint64_t *ret_bytes)
{
    static const char letters[] = "KMGT";
    uint64_t value;
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    const char *letter = *unit ? strchr(letters, *unit & ~0x20) : letters + 1;
    if (!number((helio_text_t){text, (uint32_t)digits}, UINT64_C(1) << 40, &value) || !letter || !*letter)
        return false;
    if (*unit && unit[1] && strcasecmp(unit + 1, "B") != 0 && strcasecmp(unit + 1, "iB") != 0)
        return false;
    uint64_t mib = letter == letters ? (value + 1023) / 1024 : value << (10 * (letter - letters - 1));
    if (mib >> 44 || (letter - letters == 3 && value >> 24))
        return false;
    *ret_bytes = mib << 20;
    return true;
}

bool sbatch_count(const char *text, uint64_t most, uint32_t *ret_count)
{
    uint64_t value;
    if (!number(helio_text_of(text), most, &value) || value == 0)
        return false;
    *ret_count = (uint32_t)value;
    return true;
}

static bool thousands(helio_text_t text, uint32_t *ret_count)
{
    uint64_t value, scale = 1;
    char last = text.size ? (char)(text.data[text.size - 1] | 0x20) : '0';
    if (last == 'k' || last == 'm') {
        scale = last == 'k' ? 1024 : 1024 * 1024;
        text.size--;
    }
    if (!number(text, UINT32_MAX, &value) || value == 0 || value * scale > UINT32_MAX)
        return false;
    *ret_count = (uint32_t)(value * scale);
    return true;
}

bool sbatch_nodes(const char *text, uint32_t *ret_least, bool *ret_range)
{
    uint32_t least, most;
    size_t size = strlen(text) > 64 ? 65 : strcspn(text, "-");
    if (size > 64 || !thousands((helio_text_t){text, (uint32_t)size}, &least))
        return false;
    most = least;
    if (text[size] && (!thousands(helio_text_of(text + size + 1), &most) || most < least))
        return false;
    *ret_least = least;
    *ret_range = most != least;
    return true;
}

bool sbatch_gpus(const char *text, helio_arena_t *arena, const char **ret_model, uint32_t *ret_count)
{
    uint64_t count = 1;
    const char *colon = strrchr(text, ':');
    size_t size = strlen(text);
    const char *digits = colon ? colon + 1 : text;
    bool counted = number(helio_text_of(digits), 1000000, &count);
    if (size == 0 || size > 128 || (colon && !counted))
        return false;
    helio_text_t model = {text, (uint32_t)(colon ? colon - text : counted ? 0 : (ptrdiff_t)size)};
    if (colon && model.size == 0)
        return false;
    bool named = false;
    char *name = helio_arena_alloc(arena, model.size + 1, 1);
    for (uint32_t i = 0; i < model.size; i++) {
        char c = model.data[i];
        bool letter = helio_is_letter(c);
        bool other = helio_is_digit(c) || (i && strchr("._-", c));
        if (!letter && !other)
            return false;
        named = named || letter;
        name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    bool product = helio_gpu_is_product(model); /* as Slurm's AutoDetect names it */
    if (model.size && (!named || (!product && model.size > MODEL_MAX)))
        return false;
    char own[HELIO_GPU_MODEL_SIZE];
    if (product)
        helio_gpu_model_of(helio_text_of(name), own);
    *ret_model = product ? helio_arena_string(arena, helio_text_of(own)) : name;
    *ret_count = (uint32_t)count;
    return true;
}

static const char *signal_name(const char *text, size_t size)
{
    static const struct {
        uint32_t number;
        const char *name;
    } known[] = {{10, "USR1"}, {12, "USR2"}, {15, "TERM"}, {2, "INT"}, {1, "HUP"}, {18, "CONT"}, {3, "QUIT"}};
    helio_text_t word = {text, (uint32_t)size};
    uint64_t value = UINT64_MAX;
    bool numeric = size < 8 && helio_u64_parse(word, &value) == HELIO_OK;
    if (size > 3 && strncasecmp(text, "SIG", 3) == 0)
        word = (helio_text_t){text + 3, (uint32_t)size - 3};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (numeric ? known[i].number == value
                    : word.size == strlen(known[i].name) && strncasecmp(word.data, known[i].name, word.size) == 0)
            return known[i].name;
    return NULL;
}

bool sbatch_signal(const char *text, const char **ret_name, uint32_t *ret_seconds)
{
    uint64_t seconds = 60;
    /* the receiver of the signal, and whether a reservation can delay it, concern only Slurm */
    const char *colon = strchr(text, ':');
    const char *from = colon ? colon + 1 : text;
    if (strlen(text) > 64 || (colon && strspn(text, "BRbr") != (size_t)(colon - text)))
        return false;
    size_t size = strcspn(from, "@");
    if (from[size] && !number(helio_text_of(from + size + 1), 65535, &seconds))
        return false;
    const char *name = signal_name(from, size);
    if (!name)
        return false;
    *ret_name = name;
    *ret_seconds = (uint32_t)seconds;
    return true;
}
