/*  completion.c -- completion scripts from the command table. Job ids and site names come from the broker through `-o
 *  name`. */
#include <string.h>

#include "client/help/help.h"

static const char *words_command(helio_operands_t words)
{
    switch (words) {
    case HELIO_OPERANDS_JOBS:
        return "helio ls -o name --limit 50 2>/dev/null";
    case HELIO_OPERANDS_SITES:
        return "helio sites -o name 2>/dev/null";
    case HELIO_OPERANDS_SHELLS:
        return "printf '%s\\n' bash zsh fish";
    case HELIO_OPERANDS_COMMANDS:
    case HELIO_OPERANDS_NONE:
    case HELIO_OPERANDS_FILES:
    case HELIO_OPERANDS_BATCH:
    case HELIO_OPERANDS_PROGRAM:
        break;
    }
    return NULL;
}

static bool takes_files(helio_operands_t operands)
{
    return operands == HELIO_OPERANDS_FILES || operands == HELIO_OPERANDS_BATCH || operands == HELIO_OPERANDS_PROGRAM;
}

static void option_words(helio_buffer_t *out, helio_options_t options)
{
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        if (!(options & HELIO_OPTION_BIT(id)))
            continue;
        if (helio_client_options.items[id].letter)
            helio_buffer_printf(out, " -%c", helio_client_options.items[id].letter);
        helio_buffer_printf(out, " --%s", helio_client_options.items[id].name);
    }
}

/*  Lists each first word once, or the second words of a group. */
static void command_words(const helio_command_table_t *table, helio_buffer_t *out, const char *group)
{
    size_t size = group ? strlen(group) : 0;
    const char *last = "";
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->items[i].name;
        size_t first = strcspn(name, " ");
        if (group) {
            if (first == size && strncmp(name, group, size) == 0 && name[first])
                helio_buffer_printf(out, " %s", name + first + 1);
            continue;
        }
        if (strncmp(name, last, first) != 0 || last[first] != name[first])
            helio_buffer_printf(out, " %.*s", (int)first, name);
        last = name;
    }
}

/*  The part of the bash function that serves one command. */
static void bash_case(const helio_command_table_t *table, helio_buffer_t *out, const helio_command_t *command)
{
    helio_buffer_printf(out, "    '%s')\n      words='", command->name);
    option_words(out, command->options | HELIO_OPTIONS_EVERYWHERE);
    helio_buffer_text(out, "'\n");
    if (takes_files(command->words))
        helio_buffer_text(out, "      files=1\n");
    else if (command->words == HELIO_OPERANDS_COMMANDS) {
        helio_buffer_text(out, "      [[ $cur == -* ]] || words='");
        command_words(table, out, NULL);
        helio_buffer_text(out, "'\n");
    } else if (words_command(command->words))
        helio_buffer_printf(out, "      [[ $cur == -* ]] || words=$(%s)\n", words_command(command->words));
    helio_buffer_text(out, "      ;;\n");
}

static void bash_groups(const helio_command_table_t *table, helio_buffer_t *out)
{
    const char *last = "";
    for (size_t i = 0; i < table->count; i++) {
        size_t first = strcspn(table->items[i].name, " ");
        if (!table->items[i].name[first] || strncmp(last, table->items[i].name, first + 1) == 0)
            continue;
        last = table->items[i].name;
        helio_buffer_printf(out, "    %.*s)\n      words='", (int)first, last);
        helio_text_t group = {last, (uint32_t)first};
        char name[32];
        (void)helio_text_copy(group, name, sizeof name);
        command_words(table, out, name);
        helio_buffer_text(out, "'\n      ;;\n");
    }
}

static void bash_choices(helio_buffer_t *out)
{
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        const helio_option_t *option = &helio_client_options.items[id];
        if (!option->value)
            continue;
        helio_buffer_text(out, "    ");
        if (option->letter)
            helio_buffer_printf(out, "-%c|", option->letter);
        if (option->choices)
            helio_buffer_printf(out, "--%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", option->name,
                                option->choices);
        else if (strcmp(option->value, "PATH") == 0)
            helio_buffer_printf(out, "--%s) compopt -o default; return ;;\n", option->name);
        else
            helio_buffer_printf(out, "--%s) return ;;\n", option->name);
    }
}

static void bash(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_text(out, "_helio() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                           "  local words= files= first= second= word\n  COMPREPLY=()\n  case $prev in\n");
    bash_choices(out);
    helio_buffer_text(out, "  esac\n  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                           "    [[ $word == -* ]] && continue\n"
                           "    if [[ -z $first ]]; then first=$word; elif [[ -z $second ]]; then second=$word; fi\n"
                           "  done\n  case $first in keys|token|user) first=\"$first${second:+ $second}\" ;; esac\n"
                           "  case $first in\n    '')\n      words='");
    command_words(table, out, NULL);
    helio_buffer_text(out, "'\n      ;;\n");
    for (size_t i = 0; i < table->count; i++)
        bash_case(table, out, &table->items[i]);
    bash_groups(table, out);
    helio_buffer_text(out, "  esac\n  [[ -n $files && $cur != -* ]] && compopt -o default && return\n"
                           "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _helio helio\n");
}

/*  zsh runs the bash function through its own emulation. */
static void zsh(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_text(out, "#compdef helio\nautoload -U +X bashcompinit && bashcompinit\n");
    bash(table, out);
}

static void fish_quoted(helio_buffer_t *out, const char *text)
{
    helio_buffer_text(out, "'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            helio_buffer_text(out, "\\");
        helio_buffer_append(out, text, 1);
    }
    helio_buffer_text(out, "'");
}

static void fish_option(helio_buffer_t *out, uint32_t id, const char *condition)
{
    const helio_option_t *option = &helio_client_options.items[id];
    helio_buffer_printf(out, "complete -c helio %s -l %s", condition, option->name);
    if (option->letter)
        helio_buffer_printf(out, " -s %c", option->letter);
    if (option->choices)
        helio_buffer_printf(out, " -x -a '%s'", option->choices);
    else if (option->value)
        helio_buffer_text(out, strcmp(option->value, "PATH") == 0 ? " -r" : " -x");
    helio_buffer_text(out, " -d ");
    fish_quoted(out, option->doc);
    helio_buffer_text(out, "\n");
}

static void fish_command(helio_buffer_t *out, const helio_command_t *command)
{
    char condition[160];
    size_t first = strcspn(command->name, " ");
    const char *second = command->name[first] ? command->name + first + 1 : NULL;
    if (second) {
        helio_buffer_printf(out, "complete -c helio -f -n '__fish_use_subcommand' -a %.*s\n", (int)first,
                            command->name);
        helio_buffer_printf(out, "complete -c helio -f -n '__fish_seen_subcommand_from %.*s' -a %s -d ", (int)first,
                            command->name, second);
        (void)snprintf(condition, sizeof condition,
                       "-n '__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'", (int)first,
                       command->name, second);
    } else {
        helio_buffer_printf(out, "complete -c helio -f -n '__fish_use_subcommand' -a %s -d ", command->name);
        (void)snprintf(condition, sizeof condition, "-n '__fish_seen_subcommand_from %s'", command->name);
    }
    fish_quoted(out, command->summary);
    helio_buffer_text(out, "\n");
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++)
        if (command->options & HELIO_OPTION_BIT(id))
            fish_option(out, id, condition);
    if (words_command(command->words))
        helio_buffer_printf(out, "complete -c helio -f %s -a \"(%s)\"\n", condition, words_command(command->words));
    else if (!takes_files(command->words))
        helio_buffer_printf(out, "complete -c helio -f %s\n", condition);
}

bool helio_completion(const helio_command_table_t *table, const char *shell, helio_buffer_t *out)
{
    if (strcmp(shell, "bash") == 0) {
        bash(table, out);
        return true;
    }
    if (strcmp(shell, "zsh") == 0) {
        zsh(table, out);
        return true;
    }
    if (strcmp(shell, "fish") != 0)
        return false;
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++)
        if (HELIO_OPTIONS_EVERYWHERE & HELIO_OPTION_BIT(id))
            fish_option(out, id, "");
    for (size_t i = 0; i < table->count; i++)
        fish_command(out, &table->items[i]);
    return true;
}
