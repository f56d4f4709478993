/*  route.c -- who can call a route, and the search for the route of a request. */
#include "broker/http/request/route.h"

#include <stdio.h>
#include <string.h>

enum { NOBODY, USER, OPERATOR, ADMIN, CALLERS };

static const helio_grant_t grants[HELIO_ACCESS_COUNT][CALLERS] = {
#define X(NAME, nobody, user, operator_, admin)                    \
    [HELIO_ACCESS_##NAME] = {[NOBODY] = HELIO_GRANT_##nobody,      \
                             [USER] = HELIO_GRANT_##user,          \
                             [OPERATOR] = HELIO_GRANT_##operator_, \
                             [ADMIN] = HELIO_GRANT_##admin},
    HELIO_ACCESS_TABLE(X)
#undef X
};

helio_grant_t helio_access_grant_of_role(helio_access_t access, uint32_t role)
{
    return grants[access][role >= HELIO_ROLE_ADMIN ? ADMIN : role == HELIO_ROLE_OPERATOR ? OPERATOR : USER];
}

helio_grant_t helio_access_grant(helio_access_t access, const helio_token_t *token)
{
    return token ? helio_access_grant_of_role(access, token->role) : grants[access][NOBODY];
}

uint32_t helio_route_index(const helio_route_table_t *table, const helio_route_t *route)
{
    return route ? (uint32_t)(route - table->items) : table->count;
}

static bool matches(const char *pattern, const helio_target_t *target, const char **ret_parameter)
{
    const char *parameter = NULL;
    const char *at = pattern + 1;
    bool folder = *at && at[strlen(at) - 1] == '/';
    if (folder != target->folder)
        return false;
    for (uint32_t i = 0; i < target->segment_count; i++) {
        if (!*at)
            return false;
        size_t size = strcspn(at, "/");
        const char *segment = target->segments[i];
        if (*at == '{')
            parameter = segment;
        else if (strlen(segment) != size || memcmp(segment, at, size) != 0)
            return false;
        at += size + (at[size] == '/');
    }
    if (*at)
        return false;
    *ret_parameter = parameter;
    return true;
}

bool helio_route_has_head(const helio_route_t *route)
{
    return route->answer != HELIO_ANSWER_STREAM && route->answer != HELIO_ANSWER_OF_CHANNEL;
}

static void allow(char text[HELIO_ALLOW_SIZE], const helio_route_t *route)
{
    size_t size = strlen(text);
    bool has_head = strcmp(route->method, "GET") == 0 && helio_route_has_head(route);
    const char *more = has_head ? "GET, HEAD" : route->method;
    (void)snprintf(text + size, HELIO_ALLOW_SIZE - size, "%s%s", size ? ", " : "", more);
}

const helio_route_t *helio_route_find(const helio_route_table_t *table, const char *method,
                                      const helio_target_t *target, const char **ret_parameter,
                                      char ret_allow[HELIO_ALLOW_SIZE])
{
    ret_allow[0] = '\0';
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (uint32_t i = 0; i < table->count; i++) {
        const helio_route_t *route = &table->items[i];
        const char *parameter;
        if (!matches(route->pattern, target, &parameter))
            continue;
        if (strcmp(route->method, wanted) == 0) {
            *ret_parameter = parameter;
            return route;
        }
        allow(ret_allow, route);
    }
    return NULL;
}

bool helio_route_needs_leader(const helio_route_t *route)
{
    return route->answer == HELIO_ANSWER_OF_CORE || route->answer == HELIO_ANSWER_OF_CHANNEL ||
           strcmp(route->method, "GET") != 0;
}

bool helio_route_takes_query(const helio_route_t *route, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = route->query; *at;) {
        size_t word = strcspn(at, " ");
        if (word == size && memcmp(at, name, size) == 0)
            return true;
        at += word + (at[word] == ' ');
    }
    return false;
}
