#!/bin/bash
# The console blocks of docs/sites/kubernetes.md, run beside a quickstart with the double of a cluster: the agent has the rights of
# deploy/kubernetes. Before that, what the kustomize base renders to is read by another client.
#   tests/integration/kubernetes_docs.sh BUILD_DIR          exit 77 without kubectl
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: kubernetes_docs.sh BUILD_DIR}" && pwd)
kubectl=${HELIO_KUBECTL:-$(command -v kubectl || true)}
[ -n "$kubectl" ] || { echo "SKIPPED: docs/sites/kubernetes.md: kubectl is not installed; deploy/packages/install.sh kubernetes"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
double=
down() {
  [ -z "$double" ] || { kill "$double" 2>/dev/null && wait "$double" || true; }
  "$top/deploy/quickstart.sh" --purge --state "$work/state" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap down EXIT
mkdir "$work/site" "$work/etc"
"$kubectl" kustomize "$top/deploy/kubernetes" >"$work/all.yaml"
"$top/tests/integration/kubernetes_manifests.py" "$work/all.yaml"
python3 "$top/tests/doubles/kubernetes" --folder "$work/cluster" --account other &
double=$!
for _ in $(seq 200); do [ -s "$work/cluster/port" ] && break; sleep 0.1; done
sed 's/agent-token/page-token/' "$work/cluster/agent.kubeconfig" >"$work/etc/kubeconfig"
"$top/deploy/quickstart.sh" --state "$work/state" --build "$build" </dev/null >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log"; exit 1; }
endpoint=$(sed -n 's/^ *broker: *\["\(tcp:[^"]*\)".*/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
key=$(sed -n 's/^ *broker_key: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
HELIO_BROKER=$(cat "$work/state/client/url") HELIO_TOKEN_FILE=$work/state/client/token PATH="$work/state/bin:$build:$PATH" NO_COLOR=1 \
  "$top/tests/support/console_blocks.py" --in "$work/site" \
  --replace "/etc/heliostat/broker.pub=\"$key\"" --replace "/etc/heliostat=$work/etc" --replace "/var/lib/heliostat=$work/site/state" \
  --replace "tcp://broker.example:7443=$endpoint" --replace "deploy/kubernetes=$top/deploy/kubernetes" \
  --replace "kubectl apply=$kubectl --kubeconfig $work/cluster/kubeconfig apply --validate=false" "$top/docs/sites/kubernetes.md"
