/*  settings_page.c -- the client's reference page of settings, from the tables of settings files and of variables. */
#include "client/help/help.h"

#include "client/invocation/settings_file.h"

/*  The test of this page parses the example like a user's file. */
static const char example[] = "# ~/.config/helio/config.yaml\n"
                              "context: production\n"
                              "output: wide\n"
                              "timeout: 20s\n"
                              "contexts:\n"
                              "  - name: production\n"
                              "    broker: https://broker.example\n"
                              "    token_file: token-production\n"
                              "  - name: test\n"
                              "    broker: https://broker.test.example:8443\n"
                              "    token_file: token-test\n"
                              "    ca_file: test-ca.pem\n";

void helio_settings_page(helio_buffer_t *out)
{
    helio_buffer_text(out,
                      "# The settings of `helio`\n\n<!-- Generated from client/invocation/settings_file.c and "
                      "variables.h; the test of this page writes it. -->\n\nThe settings say which broker `helio` "
                      "uses, with which token, and how it prints. For each setting, the first of these\nsources that "
                      "has it applies:\n\n1. options of the command line ([helio](helio.md#every-command))\n2. "
                      "environment variables\n3. the context that --context or HELIO_CONTEXT names, from the first "
                      "file that defines it\n4. `./.helio.yaml`, the settings of a directory\n5. "
                      "`$XDG_CONFIG_HOME/helio/config.yaml`, the settings of a user; without the variable "
                      "`~/.config/helio/config.yaml`\n6. `/etc/helio/client.yaml`, the settings of a machine\n\nA "
                      "context that a file selects with `context` comes just before that file. `helio doctor` shows "
                      "which files were read, and\nwhere broker and token come from.\n\nA file with a token must be "
                      "readable by its owner only (mode 0600). The file of a directory must belong to you or to "
                      "root.\nIts broker never gets a token from another file that belongs to another broker, "
                      "because such a file may come with a cloned\nrepository.\n\n## Example\n\n```yaml\n");
    helio_buffer_text(out, example);
    helio_buffer_text(out, "```\n\n`helio --context test ls` uses the other broker.\n\n## Keys\n\n");
    helio_spec_reference(&helio_settings_file_table, out);
    helio_buffer_text(out, "\n## Environment variables\n\n| variable | meaning |\n|---|---|\n");
    for (int i = 0; i < HELIO_VARIABLE_COUNT; i++)
        helio_buffer_printf(out, "| `%s` | %s |\n", helio_variable_name((helio_variable_t)i),
                            helio_variable_doc((helio_variable_t)i));
    helio_buffer_text(out, "\nlibcurl, which sends the requests, reads `https_proxy`, `http_proxy`, `all_proxy` and "
                           "`no_proxy`. `helio sbatch` and\n`helio convert` also read the variables that sbatch "
                           "reads ([batch scripts](../sites/sbatch.md)).\n");
}
