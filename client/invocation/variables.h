/*  variables.h -- the environment variables that the client reads. It reads no others, except those of sbatch
 *  (client/sbatch). The reference page and the manual page are made from this table. */
#ifndef HELIO_CLIENT_VARIABLES_H
#define HELIO_CLIENT_VARIABLES_H

/*  id, name, what it does */
#define HELIO_VARIABLE_TABLE(X)                                                                             \
    X(BROKER, "HELIO_BROKER", "As --broker")                                                                \
    X(TOKEN, "HELIO_TOKEN", "The token itself; it wins over HELIO_TOKEN_FILE")                              \
    X(TOKEN_FILE, "HELIO_TOKEN_FILE", "As --token-file")                                                    \
    X(CA_FILE, "HELIO_CA_FILE", "As --ca-file")                                                             \
    X(CONTEXT, "HELIO_CONTEXT", "As --context")                                                             \
    X(OUTPUT, "HELIO_OUTPUT", "As --output")                                                                \
    X(COLOR, "HELIO_COLOR", "As --color")                                                                   \
    X(NO_COLOR, "NO_COLOR", "When not empty: no colour, unless --color or a setting is `always`")           \
    X(TERM, "TERM", "With the value `dumb`: no colour, like NO_COLOR")                                      \
    X(TZ, "TZ", "Time zone of the printed times; without it, the machine's")                                \
    X(XDG_CONFIG_HOME, "XDG_CONFIG_HOME", "Folder of helio/config.yaml; without it, $HOME/.config")         \
    X(HOME, "HOME", "Your home directory, used when XDG_CONFIG_HOME is not set")                            \
    X(PATH, "PATH", "sbatch and convert: folders to search for a script that is not in the current folder") \
    X(PWD, "PWD", "sbatch and convert: the current folder, as the shell names it")

typedef enum helio_variable {
#define HELIO_VARIABLE_ENUMERATOR(id, name, doc) HELIO_VARIABLE_##id,
    HELIO_VARIABLE_TABLE(HELIO_VARIABLE_ENUMERATOR)
#undef HELIO_VARIABLE_ENUMERATOR
        HELIO_VARIABLE_COUNT
} helio_variable_t;

const char *helio_variable_name(helio_variable_t variable);
/*  One line, no full stop. */
const char *helio_variable_doc(helio_variable_t variable);

#endif
