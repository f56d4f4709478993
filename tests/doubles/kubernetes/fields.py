"""Which fields Jobs and Pods have: the server drops the others with a warning, or refuses them if it is asked to be strict."""

ANY = object()


def fields(names, **nested):
    return {**{name: ANY for name in names.split()}, **nested}


METADATA = fields("name generateName namespace labels annotations finalizers ownerReferences uid resourceVersion generation creationTimestamp "
                  "deletionTimestamp deletionGracePeriodSeconds managedFields selfLink")
RESOURCES = fields("limits requests claims")
CONTAINER = fields("name image command args workingDir ports envFrom env resizePolicy restartPolicy volumeMounts volumeDevices livenessProbe "
                   "readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin "
                   "stdinOnce tty", resources=RESOURCES)
POD_SPEC = fields("volumes ephemeralContainers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector "
                  "serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace "
                  "securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases priorityClassName priority "
                  "dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints "
                  "setHostnameAsFQDN os hostUsers schedulingGates resourceClaims", containers=CONTAINER, initContainers=CONTAINER)
TEMPLATE = fields("", metadata=METADATA, spec=POD_SPEC)
JOB_SPEC = fields("parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit backoffLimitPerIndex "
                  "maxFailedIndexes selector manualSelector ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy",
                  template=TEMPLATE)
KNOWN = {"jobs": fields("apiVersion kind status", metadata=METADATA, spec=JOB_SPEC),
         "pods": fields("apiVersion kind status", metadata=METADATA, spec=POD_SPEC)}


def drop_unknown(kind, item):
    """Removes unknown fields in place; the paths of those that were removed."""
    dropped = []
    if kind.plural in KNOWN:
        walk(item, KNOWN[kind.plural], "", dropped)
    return dropped


def walk(value, known, path, dropped):
    if known is ANY:
        return
    if isinstance(value, list):
        for index, one in enumerate(value):
            walk(one, known, f"{path}[{index}]", dropped)
    elif isinstance(value, dict):
        for name in list(value):
            below = f"{path}.{name}" if path else name
            if name in known:
                walk(value[name], known[name], below, dropped)
            else:
                del value[name]
                dropped.append(below)
