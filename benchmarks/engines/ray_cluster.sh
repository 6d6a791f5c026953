#!/usr/bin/env bash
# A Ray cluster of two nodes on this machine, one of which is killed with -9 in the middle of a study.
#
#     pip install -e '.[ray]' && benchmarks/engines/ray_cluster.sh
set -euo pipefail
source "$(dirname "$0")/common.sh"
port=${PORT:-6399}
nodes=()

node() {
    "$bin/ray" start --block --num-cpus=1 --object-store-memory=80000000 --disable-usage-stats "$@" >>"$out/ray.txt" 2>&1 &
    nodes+=($!)
}

stop_node() {
    # Ray's own processes first, as when a machine goes down; then what they started.
    kill -9 "$1" $(descendants "$1") 2>/dev/null || true
}

study=
trap 'kill $study 2>/dev/null || true; for each in "${nodes[@]}"; do stop_node "$each"; done' EXIT

echo "No cluster yet: one line, and nothing is made"
asmpg study "$here/study.toml" --seeds "$seeds" --out "$out/ray" --executor ray --address "127.0.0.1:$port" && exit 1
[ ! -e "$out/ray" ]

run_locally
node --head --port="$port" --include-dashboard=false
for _ in $(seq 60); do "$bin/ray" status --address="127.0.0.1:$port" >/dev/null 2>&1 && break; sleep 1; done
node --address="127.0.0.1:$port"
for _ in $(seq 60); do "$bin/ray" status --address="127.0.0.1:$port" 2>/dev/null | grep -q "/2.0 CPU" && break; sleep 1; done
"$bin/ray" status --address="127.0.0.1:$port" | grep -E "CPU|Active|node_"

asmpg study "$here/study.toml" --seeds "$seeds" --out "$out/ray" --executor ray --address "127.0.0.1:$port" --cpus 1 --memory 0.5 \
    > >(tee "$out/study.txt") 2>&1 &
study=$!
wait_for "$out/ray/runs/*/*/*/checkpoints/*/last.npz"
echo "Killing the second node with -9"
stop_node "${nodes[1]}"
wait "$study"
compare "$out/ray"
grep -h '"was lost' "$out"/ray/sessions/*.json || echo "(no job ran on the node that was killed)"
