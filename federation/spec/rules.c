/*  rules.c -- the rules for names and patterns. Each rule exists in three forms: as code, as text for messages, and as
 *  a pattern for JSON Schema; tests compare code and text by examples. */
#include <string.h>

#include "federation/model/label.h"
#include "federation/model/site.h"
#include "federation/base/char.h"
#include "federation/spec/rules.h"
#include "federation/spec/value.h"

enum { MIG_MAX = 15 };

/*  All characters from `from` on are letters, digits or in `more`. */
static bool all_of(helio_text_t text, uint32_t from, const char *more)
{
    for (uint32_t i = from; i < text.size; i++) {
        char c = text.data[i];
        if (!helio_is_letter(c) && !helio_is_digit(c) && (c == '\0' || !strchr(more, c)))
            return false;
    }
    return true;
}

static bool is_name(helio_text_t text)
{
    return text.size > 0 && (helio_is_letter(text.data[0]) || helio_is_digit(text.data[0])) && all_of(text, 1, "._-");
}

static bool is_job_name(helio_text_t text)
{
    return is_name(text) && text.size <= HELIO_JOB_NAME_MAX;
}

static bool is_short_name(helio_text_t text)
{
    return is_name(text) && text.size <= 32;
}

bool helio_spec_has_letter(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (helio_is_letter(text.data[i]))
            return true;
    return false;
}

/*  1g.10gb: NVIDIA's name of a profile; a suffix as in 1g.10gb+me is allowed. */
bool helio_spec_is_mig(helio_text_t text)
{
    uint64_t memory;
    const char *plus = text.size ? memchr(text.data, '+', text.size) : NULL;
    uint32_t size = plus ? (uint32_t)(plus - text.data) : text.size;
    if (text.size > MIG_MAX || size < 6 || text.data[0] < '1' || text.data[0] > '7')
        return false;
    return memcmp(text.data + 1, "g.", 2) == 0 && memcmp(text.data + size - 2, "gb", 2) == 0 &&
           helio_u64_parse((helio_text_t){text.data + 3, size - 5}, &memory) == HELIO_OK && memory > 0 &&
           (!plus || helio_spec_has_letter((helio_text_t){plus, text.size - size}));
}

static bool is_pool_gpu(helio_text_t text)
{
    helio_text_t model = helio_gpu_model(text);
    return text.size <= 32 && is_short_name(model) &&
           (model.size == text.size || helio_spec_is_mig(helio_gpu_slice(text)));
}

static bool is_env_name(helio_text_t text)
{
    static const char ours[] = "HELIO_";
    if (text.size == 0 || text.size > 128 || helio_is_digit(text.data[0]) || !all_of(text, 0, "_"))
        return false;
    return text.size < sizeof ours - 1 || memcmp(text.data, ours, sizeof ours - 1) != 0;
}

static bool is_pattern(helio_text_t text)
{
    uint32_t from = text.size > 0 && text.data[0] == '!';
    return text.size > from && text.size <= 64 && all_of(text, from, "._-*?");
}

static bool is_job_id(helio_text_t text)
{
    return text.size >= HELIO_ID_PREFIX_MIN && text.size <= HELIO_KEY_SIZE && all_of(text, 0, ".-");
}

/*  With the index of a task behind it, it is still an id. */
static bool is_array_id(helio_text_t text)
{
    return is_job_id(text) && text.size <= HELIO_ID_SIZE - 1 && all_of(text, 0, "-");
}

static bool is_signal(helio_text_t text)
{
    static const char *const names[] = {"USR1", "USR2", "TERM", "INT", "HUP", "CONT", "QUIT", NULL};
    for (const char *const *name = names; *name; name++)
        if (helio_text_is(text, *name))
            return true;
    return false;
}

static bool is_backend(helio_text_t text)
{
    static const char *const words[] = {"local", "slurm", "kubernetes", "exec", NULL};
    for (const char *const *word = words; *word; word++)
        if (helio_text_is(text, *word))
            return true;
    return false;
}

static bool is_script(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (!strchr(" \t\r\n", text.data[i]))
            return true;
    return false;
}

static bool is_uri(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f)
            return false;
    return text.size > 0;
}

static bool is_image(helio_text_t text)
{
    return is_uri(text) && text.data[0] != '-';
}

static bool is_option(helio_text_t text)
{
    return text.size > 0 && text.size <= 64 && helio_is_letter(text.data[0]) && all_of(text, 1, "_-./");
}

const helio_spec_rule_t helio_spec_rule_job_name = {
    is_job_name, "a name of at most 63 letters, digits, '.', '_' and '-' that begins with a letter or digit",
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"};
const helio_spec_rule_t helio_spec_rule_name = {
    is_short_name, "a name of at most 32 letters, digits, '.', '_' and '-' that begins with a letter or digit",
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$"};
const helio_spec_rule_t helio_spec_rule_pool_gpu = {
    is_pool_gpu, "a GPU model, or a MIG slice such as H100/1g.10gb, at most 32",
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,31}(/[1-7]g\\.[0-9]+gb(\\+[A-Za-z.]+)?)?$"};
const helio_spec_rule_t helio_spec_rule_env = {
    is_env_name, "a name of letters, digits and '_' that does not begin with a digit or with HELIO_",
    "^(?!HELIO_)[A-Za-z_][A-Za-z0-9_]{0,127}$"};
const helio_spec_rule_t helio_spec_rule_pattern = {
    is_pattern, "a name that may contain * and ?, with a leading '!' to exclude it", "^!?[A-Za-z0-9._*?-]{1,64}$"};
const helio_spec_rule_t helio_spec_rule_backend = {is_backend, "one of local, slurm, kubernetes, exec",
                                                   "^(local|slurm|kubernetes|exec)$"};
const helio_spec_rule_t helio_spec_rule_job_id = {
    is_job_id, "a job id, or at least 6 characters of its beginning or end", "^[A-Za-z0-9.-]{6,39}$"};
const helio_spec_rule_t helio_spec_rule_array_id = {
    is_array_id, "the id of an array, or at least 6 characters of its beginning or end, without a task",
    "^[A-Za-z0-9-]{6,36}$"};
const helio_spec_rule_t helio_spec_rule_signal = {is_signal, "one of USR1, USR2, TERM, INT, HUP, CONT, QUIT",
                                                  "^(USR1|USR2|TERM|INT|HUP|CONT|QUIT)$"};
const helio_spec_rule_t helio_spec_rule_script = {is_script, "a non-empty script", "\\S"};
const helio_spec_rule_t helio_spec_rule_uri = {is_uri, "a URI without spaces", "^\\S+$"};
const helio_spec_rule_t helio_spec_rule_image = {is_image, "a URI without spaces that does not begin with '-'",
                                                 "^[^\\s-]\\S*$"};
const helio_spec_rule_t helio_spec_rule_option = {
    is_option, "a name of letters, digits, '_', '-', '.' and '/' that begins with a letter",
    "^[A-Za-z][A-Za-z0-9_./-]{0,63}$"};
const helio_spec_rule_t helio_spec_rule_label = {
    helio_label_is_key,
    "at most 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit, such as team or example.com/team",
    "^(?=.{1,63}$)([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"};
const helio_spec_rule_t helio_spec_rule_label_value = {
    helio_label_is_value, "at most 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit",
    "^(?=.{0,63}$)([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$"};
const helio_spec_rule_t helio_spec_rule_gpu = {
    NULL, "MODEL:COUNT, a list of these in order of preference, or {A:8, B:8} for any of them", NULL};
const helio_spec_rule_t helio_spec_rule_array = {NULL, "indices such as 0-99%10, 1,3,7 or 0-15:4", NULL};
