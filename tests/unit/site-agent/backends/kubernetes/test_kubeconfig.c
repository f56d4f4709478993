/*  test_kubeconfig.c -- where the API is and who the agent is. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/base64.h"
#include "site-agent/backends/kubernetes/kubeconfig.h"

static helio_kube_access_t access_;
static helio_error_t err;

#define HEAD "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: a\n"
#define CONTEXTS                                                                                               \
    "contexts:\n- name: other\n  context: {cluster: c, user: nobody}\n- name: a\n  context:\n    cluster: c\n" \
    "    namespace: research\n    user: u\n"
#define CLUSTER \
    "clusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443/\n    certificate-authority: ca.crt\n"
#define USER(lines) "users:\n- name: u\n  user:\n" lines

static helio_rc take(const char *text, const char *context)
{
    err = (helio_error_t){0};
    return helio_kubeconfig_read((helio_spec_source_t){.text = helio_text_of(text)}, "/etc/helio",
                                 helio_text_of(context), arena, &access_, &err);
}

static bool is(helio_text_t text, const char *word)
{
    return helio_text_is(text, word);
}

static void a_token_and_an_authority(void **state)
{
    (void)state;
    assert_int_equal(take(HEAD CONTEXTS CLUSTER USER("    token: abc\n"), ""), HELIO_OK);
    assert_true(is(access_.server, "https://10.0.0.1:6443"));
    assert_true(is(access_.space, "research"));
    assert_true(is(access_.authority.path, "/etc/helio/ca.crt"));
    assert_true(is(access_.token.text, "abc"));
    assert_int_equal(access_.certificate.path.size + access_.key.path.size + access_.plugin.command.size, 0);
}

static void a_certificate_by_data_or_by_file(void **state)
{
    (void)state;
    assert_int_equal(
        take(HEAD CONTEXTS CLUSTER USER("    client-certificate-data: Y2VydA==\n    client-key: /k/key.pem\n"
                                        "    client-certificate: unused.crt\n"),
             "a"),
        HELIO_OK);
    assert_true(is(access_.certificate.text, "cert") && !access_.certificate.path.size);
    assert_true(is(access_.key.path, "/k/key.pem"));
}

static void a_token_file_counts_before_a_token(void **state)
{
    (void)state;
    assert_int_equal(take(HEAD CONTEXTS CLUSTER USER("    token: old\n    tokenFile: t/token\n"), ""), HELIO_OK);
    assert_true(is(access_.token.path, "/etc/helio/t/token") && !access_.token.text.size);
}

static void a_plugin_with_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(take(HEAD CONTEXTS CLUSTER USER(
                              "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: bin/get\n"
                              "      args: [--cluster, x y]\n      env:\n      - {name: P, value: q}\n"
                              "      interactiveMode: Never\n"),
                          ""),
                     HELIO_OK);
    assert_true(is(access_.plugin.command, "/etc/helio/bin/get"));
    assert_int_equal(access_.plugin.arg_count, 2);
    assert_true(is(access_.plugin.args[1].text, "x y"));
    assert_int_equal(access_.plugin.env_count, 1);
    assert_true(is(access_.plugin.env[0].name, "P") && is(access_.plugin.env[0].value, "q"));
    assert_int_equal(take(HEAD CONTEXTS CLUSTER USER("    exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                                                     "command: aws, args: null, env: null}\n"),
                          ""),
                     HELIO_OK);
    assert_true(is(access_.plugin.command, "aws")); /* found on PATH */
}

/*  JSON is YAML: what the double of the tests writes, and what some tools do. */
static void json_is_read_too(void **state)
{
    (void)state;
    assert_int_equal(take("{\"current-context\": \"d\", \"clusters\": [{\"name\": \"d\", \"cluster\": {\"server\": "
                          "\"https://127.0.0.1:1\"}}], \"users\": [{\"name\": \"u\", \"user\": {\"token\": \"t\"}}], "
                          "\"contexts\": [{\"name\": \"d\", \"context\": {\"cluster\": \"d\", \"user\": \"u\"}}]}",
                          ""),
                     HELIO_OK);
    assert_int_equal(access_.space.size + access_.authority.path.size, 0);
}

static const struct {
    const char *text, *context, *says;
} refused[] = {
    {"", "", "context '' does not exist"},
    {HEAD CONTEXTS CLUSTER USER("    token: x\n"), "b", "context 'b' does not exist"},
    {HEAD CONTEXTS CLUSTER USER("    token: x\n"), "other", "user 'nobody'"},
    {HEAD CONTEXTS USER("    token: x\n"), "", "cluster 'c' does not exist"},
    {HEAD CONTEXTS CLUSTER USER("    token: ''\n"), "", "neither a token"},
    {HEAD CONTEXTS CLUSTER USER("    client-certificate: c\n"), "", "belong together"},
    {HEAD CONTEXTS CLUSTER USER("    client-key-data: '%%'\n"), "", "client-key-data is not base64"},
    {HEAD CONTEXTS CLUSTER USER("    username: x\n    password: y\n"), "", "'username'"},
    {HEAD CONTEXTS CLUSTER USER("    auth-provider: {name: gcp}\n"), "", "'auth-provider'"},
    {HEAD CONTEXTS CLUSTER USER("    token: x\n    as: root\n"), "", "'as'"},
    {HEAD CONTEXTS CLUSTER USER("    exec: {apiVersion: client.authentication.k8s.io/v1}\n"), "", "names no command"},
    {HEAD CONTEXTS CLUSTER USER("    exec: {apiVersion: v0, command: x}\n"), "", "apiVersion 'v0'"},
    {HEAD CONTEXTS CLUSTER USER("    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: "
                                "Always}\n"),
     "", "exec is interactive"},
    {HEAD CONTEXTS "clusters: [{name: c, cluster: {server: 'http://10.0.0.1'}}]\n" USER("    token: x\n"), "",
     "is not https"},
    {HEAD CONTEXTS
     "clusters: [{name: c, cluster: {server: 'https://x', insecure-skip-tls-verify: true}}]\n" USER("    token: x\n"),
     "", "insecure-skip-tls-verify"},
    {HEAD CONTEXTS "clusters: [{name: c, cluster: {server: 'https://x', tls-server-name: y}}]\n" USER("    token: x\n"),
     "", "tls-server-name"},
    {HEAD CONTEXTS "clusters: [{name: c}]\n" USER("    token: x\n"), "", "cluster 'c' does not exist"},
    {HEAD CONTEXTS "clusters: [c]\n" USER("    token: x\n"), "", "cluster 'c' does not exist"},
    {HEAD CONTEXTS "clusters: c\n" USER("    token: x\n"), "", "cluster 'c' does not exist"},
    {"a: [", "", "line "},
    {"a: &x b\n", "", "line 1"},
};

static void what_is_wrong_or_unsafe_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        access_ = (helio_kube_access_t){.server = HELIO_TEXT("as before")};
        if (take(refused[i].text, refused[i].context) != HELIO_INVALID || !strstr(err.text, refused[i].says))
            fail_msg("case %zu (%s): %s", i, refused[i].says, err.text);
        assert_true(is(access_.server, "as before"));
    }
}

static void a_pod_finds_the_api_by_its_environment(void **state)
{
    (void)state;
    assert_int_equal(helio_kube_access_in_pod("10.96.0.1", "443", arena, &access_, &err), HELIO_OK);
    assert_true(is(access_.server, "https://10.96.0.1:443"));
    assert_true(is(access_.token.path, HELIO_KUBE_POD_FOLDER "/token"));
    assert_int_equal(helio_kube_access_in_pod("fd00::1", "443", arena, &access_, &err), HELIO_OK);
    assert_true(is(access_.server, "https://[fd00::1]:443"));
    assert_int_equal(helio_kube_access_in_pod(NULL, "443", arena, &access_, &err), HELIO_INVALID);
    assert_int_equal(helio_kube_access_in_pod("x", "", arena, &access_, &err), HELIO_INVALID);
}

static void what_a_plugin_prints(void **state)
{
    (void)state;
    static const struct {
        const char *printed;
        helio_rc rc;
        int64_t until_ms;
    } cases[] = {
        {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}", HELIO_OK, 0},
        {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:00:05Z\"}}",
         HELIO_OK, 5000},
        {"{\"kind\":\"ExecCredential\",\"status\":{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}}", HELIO_OK,
         0},
        {"{\"kind\":\"ExecCredential\",\"status\":{\"clientCertificateData\":\"c\"}}", HELIO_INVALID, 0},
        {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}", HELIO_INVALID,
         0},
        {"{\"kind\":\"ExecCredential\",\"status\":{}}", HELIO_INVALID, 0},
        {"{\"kind\":\"Status\",\"status\":{\"token\":\"t\"}}", HELIO_INVALID, 0},
        {"please log in\n", HELIO_INVALID, 0},
        {"", HELIO_INVALID, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t until_ms = 0;
        access_ = (helio_kube_access_t){.server = HELIO_TEXT("https://x"), .token.text = HELIO_TEXT("old")};
        helio_rc rc = helio_kube_plugin_read(helio_text_of(cases[i].printed), arena, &access_, &until_ms, &err);
        if (rc != cases[i].rc || until_ms != cases[i].until_ms)
            fail_msg("%s: %d", cases[i].printed, rc);
        assert_true(is(access_.token.text, "old") == (rc != HELIO_OK));
        assert_true(is(access_.server, "https://x"));
    }
}

static void base64_is_strict_but_for_white_space(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes; /* NULL = refused */
    } cases[] = {{"", ""},
                 {"Zg==", "f"},
                 {"Zm8=", "fo"},
                 {"Zm9v", "foo"},
                 {"Zm9v\nYmFy\r\n", "foobar"},
                 {"+/+/", "\xfb\xff\xbf"},
                 {"Zg=", NULL},
                 {"Zg", NULL},
                 {"Z", NULL},
                 {"Zg==Zg==", NULL},
                 {"Z===", NULL},
                 {"====", NULL},
                 {"Zg=v", NULL},
                 {"Z=9v", NULL},
                 {"Zm9*", NULL},
                 {"Zm9-", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_text_t bytes;
        helio_rc rc = helio_base64_decode(helio_text_of(cases[i].text), arena, &bytes);
        if (cases[i].bytes ? rc != HELIO_OK || !is(bytes, cases[i].bytes) : rc != HELIO_INVALID)
            fail_msg("'%s'", cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOCUMENT_TEST(a_token_and_an_authority),
        DOCUMENT_TEST(a_certificate_by_data_or_by_file),
        DOCUMENT_TEST(a_token_file_counts_before_a_token),
        DOCUMENT_TEST(a_plugin_with_its_arguments),
        DOCUMENT_TEST(json_is_read_too),
        DOCUMENT_TEST(what_is_wrong_or_unsafe_is_refused),
        DOCUMENT_TEST(a_pod_finds_the_api_by_its_environment),
        DOCUMENT_TEST(what_a_plugin_prints),
        DOCUMENT_TEST(base64_is_strict_but_for_white_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
