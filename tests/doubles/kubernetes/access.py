"""Who asks (tokens and client certificates), and what the roles in the store let them do."""
from collections import namedtuple
from failure import Failure, details
from resources import BY_PLURAL

Caller = namedtuple("Caller", "name uid groups extra")
ANONYMOUS = Caller("system:anonymous", "", ["system:unauthenticated"], {})
OPEN_PATHS = ("/version", "/readyz", "/livez", "/healthz", "/api", "/apis", "/openapi")


def service_account(namespace, name, uid):
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    return Caller(f"system:serviceaccount:{namespace}:{name}", uid, groups, {"authentication.kubernetes.io/credential-id": [f"JTI={uid}"]})


class Access:
    def __init__(self, store):
        self.store = store
        self.tokens = {}  # token -> Caller

    def caller(self, authorization, certificate):
        """A token that is not valid is refused whatever else the caller shows."""
        if authorization:
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer" or token not in self.tokens:
                raise Failure(401, "Unauthorized", "Unauthorized")
            return self.tokens[token]
        subject = {key: value for part in (certificate or {}).get("subject", ()) for key, value in part}
        if subject.get("commonName"):
            organisation = subject.get("organizationName")
            return Caller(subject["commonName"], "", [*([organisation] if organisation else []), "system:authenticated"], {})
        return ANONYMOUS

    def why_allowed(self, caller, verb, group, resource, namespace, name=None):
        """The binding that allows it, in the server's words; None: nothing does."""
        if "system:masters" in caller.groups:
            return ""
        for plural, scope in (("clusterrolebindings", None), ("rolebindings", namespace)):
            if plural == "rolebindings" and not namespace:
                continue
            for binding in self.store.list(BY_PLURAL[plural], scope):
                subject = next((one for one in binding.get("subjects", []) if is_subject(one, caller)), None)
                if subject and any(permits(rule, verb, group, resource, name) for rule in self.rules(binding)):
                    return in_words(binding, subject, plural)
        return None

    def rules(self, binding):
        reference = binding["roleRef"]
        kind = BY_PLURAL["clusterroles" if reference["kind"] == "ClusterRole" else "roles"]
        role = self.store.find(kind, binding["metadata"].get("namespace"), reference["name"])
        return (role or {}).get("rules") or []

    def check(self, caller, verb, group, resource, namespace, name):
        if self.why_allowed(caller, verb, group, resource, namespace, name) is None:
            raise self.forbidden(caller, verb, group, resource, namespace, name)

    def forbidden(self, caller, verb, group, resource, namespace, name):
        plural = resource.split("/")[0]
        what = f'{plural}.{group}' if group else plural
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        named = f'{what} "{name}"' if name else what
        message = f'{named} is forbidden: User "{caller.name}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
        return Failure(403, "Forbidden", message, details(name, group, plural), headers={"x-content-type-options": "nosniff"})

    def check_path(self, caller, verb, path):
        opened = any(path == known or path.startswith(known + "/") for known in OPEN_PATHS) and verb == "get"
        if "system:masters" in caller.groups or (opened and caller is not ANONYMOUS) or (opened and path in OPEN_PATHS[:4]):
            return
        raise Failure(403, "Forbidden", f'forbidden: User "{caller.name}" cannot {verb} path "{path}"', {}, headers={"x-content-type-options": "nosniff"})


def is_subject(subject, caller):
    if subject["kind"] == "ServiceAccount":
        return caller.name == f"system:serviceaccount:{subject.get('namespace')}:{subject['name']}"
    return subject["name"] in (caller.groups if subject["kind"] == "Group" else [caller.name])


def permits(rule, verb, group, resource, name):
    def has(values, wanted):
        return "*" in values or wanted in values
    names = rule.get("resourceNames")
    return (has(rule.get("verbs", []), verb) and has(rule.get("apiGroups", []), group) and has(rule.get("resources", []), resource)
            and (not names or name in names))


def in_words(binding, subject, plural):
    namespace, name = binding["metadata"].get("namespace"), binding["metadata"]["name"]
    bound = f"{name}/{namespace}" if plural == "rolebindings" else name
    who = f"{subject['name']}/{subject['namespace']}" if subject.get("namespace") else subject["name"]
    kind = "RoleBinding" if plural == "rolebindings" else "ClusterRoleBinding"
    return f'RBAC: allowed by {kind} "{bound}" of {binding["roleRef"]["kind"]} "{binding["roleRef"]["name"]}" to {subject["kind"]} "{who}"'
