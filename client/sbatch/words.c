/*  words.c -- options: from the lines of a script, from variables, from a command line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"
#include "federation/spec/value.h"

/*  ---- errors ---- */

/*  A diagnostic without a place in a file. */
HELIO_PRINTF(4, 0)
static helio_rc diagnose_plainly(helio_diagnostic_t *diagnostic, const char *source, const char *hint,
                                 const char *format, va_list args)
{
    if (diagnostic) {
        *diagnostic = (helio_diagnostic_t){.problem = HELIO_SPEC_BAD_VALUE_PROBLEM, .span = 1};
        (void)snprintf(diagnostic->source_name, sizeof diagnostic->source_name, "%s", source);
        (void)snprintf(diagnostic->hint, sizeof diagnostic->hint, "%s", hint ? hint : "");
        (void)vsnprintf(diagnostic->message, sizeof diagnostic->message, format, args);
    }
    return HELIO_INVALID;
}

helio_rc sbatch_refuse(sbatch_t *self, const sbatch_value_t *value, const char *hint, const char *format, ...)
{
    va_list args;
    helio_rc rc = HELIO_INVALID;
    va_start(args, format);
    if (value && value->level == SBATCH_SCRIPT) {
        char message[320];
        (void)vsnprintf(message, sizeof message, format, args);
        rc = helio_spec_diagnose_at(&self->reader, value->offset, value->end, HELIO_SPEC_BAD_VALUE_PROBLEM, hint, "%s",
                                    message);
    } else {
        const char *source = !value                            ? self->input->name
                             : value->level == SBATCH_VARIABLE ? helio_sbatch_option(value->id)->variable
                                                               : "command line";
        rc = diagnose_plainly(self->diagnostic, source, hint, format, args);
    }
    va_end(args);
    return rc;
}

void sbatch_note(sbatch_t *self, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (self->note_count < SBATCH_NOTES_MAX)
        self->notes[self->note_count++] = helio_arena_string(self->arena, helio_text_of(text));
}

/*  ---- words become options ---- */

typedef struct taker {
    const sbatch_word_t *words;
    uint32_t count;
    uint32_t at;
    uint32_t inside; /* letters of words[at] that were read already */
    sbatch_level_t level;
    sbatch_value_t value; /* the option, or the place of the error; id COUNT: unknown */
    helio_text_t name;    /* of an unknown one */
    char message[256];    /* the error; of an unknown one: the error if unknown options are refused */
    const char *hint;
} taker_t;

static bool fail(taker_t *self, const char *hint, const char *format, ...) HELIO_PRINTF(3, 4);
static bool fail(taker_t *self, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(self->message, sizeof self->message, format, args);
    va_end(args);
    self->hint = hint;
    return false;
}

/*  The value is the rest of this word from `from` on, or the next word. */
static bool take_value(taker_t *self, size_t from, const char *shown)
{
    const sbatch_word_t *word = &self->words[self->at];
    if (word->text[from]) {
        self->value.text = word->text + from;
        /* the text lacks the script's quotes and backslashes, so the place is the whole word */
        bool exact = word->end - word->offset == strlen(word->text);
        self->value.offset = exact ? word->offset + from : word->offset;
        return true;
    }
    if (self->at + 1 >= self->count)
        return fail(self, NULL, "%s needs a value", shown);
    word = &self->words[++self->at];
    self->value.text = word->text;
    self->value.offset = word->offset;
    self->value.end = word->end;
    return true;
}

static bool check_known(taker_t *self, uint32_t id, const char *shown, helio_text_t name, bool ambiguous)
{
    bool known = id < HELIO_SBATCH_COUNT &&
                 (self->level == SBATCH_LINE || helio_sbatch_option(id)->policy != HELIO_SBATCH_CLIENT);
    if (known)
        return true;
    if (ambiguous)
        return fail(self, "write the full name", "%s matches several options", shown);
    const char *near = name.size ? helio_sbatch_option_suggest(name) : NULL;
    static const char *const hint =
        "`#HELIO placement: {backends: [slurm]}` in the script passes unknown options on to Slurm sites";
    if (near)
        return fail(self, hint, "%s is not an option of sbatch; did you mean --%s?", shown, near);
    return fail(self, hint, "%s is not an option of sbatch", shown);
}

/*  Whether a name could be that of an option of a newer Slurm. */
static bool is_option_name(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (i && (name[i] == '-' || helio_is_digit(name[i])))))
            return false;
    return size > 0 && size <= 64;
}

static bool take_long(taker_t *self)
{
    const sbatch_word_t *word = &self->words[self->at];
    char shown[80];
    size_t size = strcspn(word->text + 2, "=");
    helio_text_t name = {word->text + 2, (uint32_t)(size > 64 ? 64 : size)};
    bool ambiguous;
    (void)snprintf(shown, sizeof shown, "--%.*s", HELIO_TEXT_ARGS(name));
    uint32_t id = helio_sbatch_option_named(name, &ambiguous);
    bool has_value = word->text[2 + size] == '=';
    bool known = check_known(self, id, shown, name, ambiguous);
    if (!known && self->level == SBATCH_SCRIPT && id == HELIO_SBATCH_COUNT && !ambiguous &&
        is_option_name(word->text + 2, size)) {
        self->name = name;
        self->value.id = HELIO_SBATCH_COUNT;
        self->value.text = has_value ? word->text + 2 + size + 1 : "";
        return true;
    }
    if (!known)
        return false;
    self->value.id = id;
    helio_sbatch_argument_t argument = helio_sbatch_option(id)->argument;
    if (argument == HELIO_SBATCH_NO && has_value)
        return fail(self, NULL, "%s takes no value", shown);
    if (argument == HELIO_SBATCH_YES && !has_value)
        return take_value(self, strlen(word->text), shown);
    self->value.text = has_value ? word->text + 2 + size + 1 : "";
    if (has_value && word->end - word->offset == strlen(word->text))
        self->value.offset = word->offset + 2 + size + 1;
    return true;
}

static bool take_letter(taker_t *self)
{
    const sbatch_word_t *word = &self->words[self->at];
    uint32_t at = 1 + self->inside;
    char shown[] = {'-', word->text[at], '\0'};
    uint32_t id = helio_sbatch_option_lettered(word->text[at]);
    if (!check_known(self, id, shown, (helio_text_t){0}, false))
        return false;
    self->value.id = id;
    helio_sbatch_argument_t argument = helio_sbatch_option(id)->argument;
    self->inside = 0;
    if (argument == HELIO_SBATCH_YES)
        return take_value(self, at + 1, shown);
    self->value.text = argument == HELIO_SBATCH_MAY ? word->text + at + 1 : "";
    if (argument == HELIO_SBATCH_NO && word->text[at + 1])
        self->inside = at;
    return true;
}

/*  Takes the next option. False with a message: it is invalid; without one: no option is left. */
static bool take(taker_t *self)
{
    if (self->at >= self->count)
        return false;
    const sbatch_word_t *word = &self->words[self->at];
    self->value = (sbatch_value_t){.level = self->level, .offset = word->offset, .end = word->end};
    if (!self->inside && (word->text[0] != '-' || word->text[1] == '\0'))
        return false;
    if (!self->inside && strcmp(word->text, "--") == 0) {
        self->at++;
        return false;
    }
    bool good = word->text[1] == '-' && !self->inside ? take_long(self) : take_letter(self);
    if (good && !self->inside)
        self->at++;
    return good;
}

/*  ---- the command line ---- */

helio_rc helio_sbatch_words(const char *const *words, uint32_t count, helio_arena_t *arena,
                            helio_sbatch_words_t *ret_words, helio_diagnostic_t *ret_diagnostic)
{
    helio_sbatch_words_t result = {0};
    sbatch_word_t *list = helio_arena_alloc(arena, count ? count : 1, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i].text = words[i];
    taker_t taker = {.words = list, .count = count, .level = SBATCH_LINE};
    while (take(&taker))
        result.values[taker.value.id] = taker.value.text;
    if (taker.message[0]) {
        if (ret_diagnostic) {
            *ret_diagnostic = (helio_diagnostic_t){.problem = HELIO_SPEC_UNKNOWN_KEY_PROBLEM, .span = 1};
            (void)snprintf(ret_diagnostic->source_name, sizeof ret_diagnostic->source_name, "command line");
            (void)snprintf(ret_diagnostic->message, sizeof ret_diagnostic->message, "%s", taker.message);
            (void)snprintf(ret_diagnostic->hint, sizeof ret_diagnostic->hint, "%s", taker.hint ? taker.hint : "");
        }
        return HELIO_INVALID;
    }
    result.taken = taker.at;
    *ret_words = result;
    return HELIO_OK;
}

/*  Memory per node, CPU and GPU exclude each other: the strongest source replaces all three. */
static helio_rc put(sbatch_t *self, sbatch_value_t value)
{
    static const uint32_t memory[] = {HELIO_SBATCH_MEM, HELIO_SBATCH_MEM_PER_CPU, HELIO_SBATCH_MEM_PER_GPU};
    bool is_memory = value.id == memory[0] || value.id == memory[1] || value.id == memory[2];
    for (size_t i = 0; is_memory && i < 3; i++) {
        sbatch_value_t *other = &self->values[memory[i]];
        if (memory[i] == value.id || !other->text)
            continue;
        if (other->level == value.level)
            return sbatch_refuse(self, &value, "keep one of the two", "--%s and --%s exclude each other",
                                 helio_sbatch_option(value.id)->name, helio_sbatch_option(memory[i])->name);
        other->text = NULL;
    }
    if (value.id == HELIO_SBATCH_REQUEUE)
        self->values[HELIO_SBATCH_NO_REQUEUE].text = NULL;
    self->values[value.id] = value;
    return HELIO_OK;
}

helio_rc sbatch_read_line(sbatch_t *self)
{
    helio_rc rc = HELIO_OK;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT && rc == HELIO_OK; id++)
        if (self->input->words->values[id])
            rc = put(self, (sbatch_value_t){.text = self->input->words->values[id], .level = SBATCH_LINE, .id = id});
    return rc;
}

/*  ---- variables ---- */

const char *sbatch_variable(const helio_sbatch_input_t *input, helio_text_t name)
{
    for (char *const *at = input->environment; at && *at; at++)
        if (strncmp(*at, name.data, name.size) == 0 && (*at)[name.size] == '=')
            return *at + name.size + 1;
    return NULL;
}

/*  Of a switch: an empty value, "yes" and numbers other than 0 turn it on. */
static bool is_on(const char *text)
{
    uint64_t number = 0;
    return text[0] == '\0' || strcmp(text, "yes") == 0 ||
           (helio_u64_parse(helio_text_of(text), &number) == HELIO_OK && number != 0);
}

helio_rc sbatch_read_environment(sbatch_t *self)
{
    helio_rc rc = HELIO_OK;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT && rc == HELIO_OK; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        const char *text = option->variable ? sbatch_variable(self->input, helio_text_of(option->variable)) : NULL;
        if (!text || (option->argument == HELIO_SBATCH_NO && !is_on(text)) ||
            (option->argument == HELIO_SBATCH_YES && !text[0]))
            continue;
        rc =
            put(self, (sbatch_value_t){
                          .text = option->argument == HELIO_SBATCH_NO ? "" : text, .level = SBATCH_VARIABLE, .id = id});
    }
    return rc;
}

/*  ---- the script ---- */

helio_text_t sbatch_line_at(helio_text_t script, size_t at, size_t *ret_next)
{
    const char *line = script.data + at;
    const char *end = memchr(line, '\n', script.size - at);
    size_t size = end ? (size_t)(end - line) : script.size - at;
    *ret_next = at + size + (end ? 1 : 0);
    return (helio_text_t){line, (uint32_t)size};
}

size_t sbatch_header_end(helio_text_t script)
{
    size_t at = 0, next;
    for (; at < script.size; at = next) {
        helio_text_t line = sbatch_line_at(script, at, &next);
        uint32_t i = 0;
        while (i < line.size && line.data[i] && strchr(" \t\v\f\r", line.data[i]))
            i++;
        if (i < line.size && line.data[i] != '#')
            break;
    }
    return at;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/*  Splits one line into words by sbatch's rule, which is not the shell's: a backslash takes the next character as it
 *  is, inside quotes of both kinds too, but not a blank outside of them; and an unquoted # ends the line wherever it
 *  is. `at` is the offset after "#SBATCH". */
static helio_rc split_line(sbatch_t *self, size_t at, size_t end, sbatch_word_t *words, uint32_t *count)
{
    const char *data = self->input->script.data;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    while (at < end) {
        while (at < end && is_blank(data[at]))
            at++;
        sbatch_word_t word = {.offset = at};
        char quote = '\0';
        size_t quoted_at = at;
        bool any = false, comment = false;
        helio_buffer_reset(&text);
        for (; at < end && (quote || !is_blank(data[at])); at++) {
            char c = data[at];
            if (c == '\\' && at + 1 < end && !quote && is_blank(data[at + 1]))
                continue;
            if (c == '\\' && at + 1 < end)
                c = data[++at];
            else if (quote && c == quote) {
                quote = '\0';
                continue;
            } else if (!quote && (c == '"' || c == '\'')) {
                quote = c;
                quoted_at = at;
                any = true;
                continue;
            } else if (!quote && c == '#') {
                comment = true;
                break;
            }
            any = true;
            helio_buffer_append(&text, &c, 1);
        }
        word.end = at;
        if (quote)
            return helio_spec_diagnose_at(&self->reader, quoted_at, end, HELIO_SPEC_MALFORMED_PROBLEM, NULL,
                                          "the quote %c is not closed on its line", quote);
        if (any && *count == SBATCH_WORDS_MAX)
            return helio_spec_diagnose_at(&self->reader, word.offset, word.end, HELIO_SPEC_TOO_BIG_PROBLEM, NULL,
                                          "#SBATCH lines have more than %d words", SBATCH_WORDS_MAX);
        word.text = helio_arena_string(self->arena, helio_buffer_view(&text));
        if (any)
            words[(*count)++] = word;
        if (comment)
            break;
    }
    return HELIO_OK;
}

/*  Only the whole header tells whether it can be sent. */
static helio_rc put_extra(sbatch_t *self, const taker_t *taker)
{
    if (self->extra_count == SBATCH_EXTRAS_MAX)
        return sbatch_refuse(self, &taker->value, taker->hint, "%s", taker->message);
    self->extras[self->extra_count++] =
        (sbatch_extra_t){.name = helio_arena_string(self->arena, taker->name),
                         .value = taker->value,
                         .message = helio_arena_string(self->arena, helio_text_of(taker->message)),
                         .hint = taker->hint};
    return HELIO_OK;
}

static helio_rc put_words(sbatch_t *self, const sbatch_word_t *words, uint32_t count)
{
    taker_t taker = {.words = words, .count = count, .level = SBATCH_SCRIPT};
    helio_rc rc = HELIO_OK;
    while (rc == HELIO_OK && take(&taker)) {
        rc = taker.value.id < HELIO_SBATCH_COUNT ? put(self, taker.value) : put_extra(self, &taker);
        taker.message[0] = '\0';
    }
    if (rc != HELIO_OK)
        return rc;
    if (taker.message[0])
        return sbatch_refuse(self, &taker.value, taker.hint, "%s", taker.message);
    if (taker.at < count)
        return sbatch_refuse(self, &taker.value, "quote values that contain blanks",
                             "'%.64s' is neither an option nor the value of one", words[taker.at].text);
    return HELIO_OK;
}

/*  As sbatch does it, the words of all lines are one command line. */
helio_rc sbatch_read_header(sbatch_t *self)
{
    static const char directive[] = "#SBATCH";
    helio_text_t script = self->input->script;
    sbatch_word_t *words = helio_arena_alloc(self->arena, SBATCH_WORDS_MAX, sizeof *words);
    uint32_t count = 0;
    size_t next;
    helio_rc rc = HELIO_OK;
    for (size_t at = 0; at < self->header_end && rc == HELIO_OK; at = next) {
        helio_text_t line = sbatch_line_at(script, at, &next);
        if (line.size < sizeof directive - 1 || memcmp(line.data, directive, sizeof directive - 1) != 0)
            continue;
        size_t from = at + sizeof directive - 1;
        if (memmem(line.data, line.size, "hetjob", 6) || memmem(line.data, line.size, "packjob", 7))
            return helio_spec_diagnose_at(&self->reader, at, at + line.size, HELIO_SPEC_FORBIDDEN_PROBLEM,
                                          "submit the parts as separate jobs", "heterogeneous jobs are not supported");
        rc = split_line(self, from, at + line.size, words, &count);
    }
    return rc == HELIO_OK ? put_words(self, words, count) : rc;
}
