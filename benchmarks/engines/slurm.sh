#!/usr/bin/env bash
# SLURM on this machine, without systemd: a study whose jobs are signalled in the middle, requeued and finished.
#
#     apt-get install slurm-wlm munge && pip install -e '.[slurm]' && benchmarks/engines/slurm.sh     # as root
set -euo pipefail
source "$(dirname "$0")/common.sh"
state=$out/slurm
mkdir -p "$state/ctld" "$state/d"
touch "$state/chosen"
daemons=() study=
trap 'kill $study 2>/dev/null || true; scancel --user="$(id -un)" 2>/dev/null || true; sleep 2; kill "${daemons[@]}" 2>/dev/null || true' EXIT

head -c 1024 /dev/urandom >"$state/munge.key"
chmod 400 "$state/munge.key"
munged --foreground --force --key-file="$state/munge.key" --socket="$state/munge.socket" --pid-file="$state/munge.pid" \
    --log-file="$state/munge.log" --seed-file="$state/munge.seed" >"$state/munged.txt" 2>&1 &
daemons+=($!)
host=$(hostname -s)
cat >"$state/slurm.conf" <<END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$state/ctld
SlurmdSpoolDir=$state/d
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$state/slurm.conf
sleep 1
slurmctld -D >"$state/slurmctld.txt" 2>&1 &
daemons+=($!)
sleep 1
slurmd -D >"$state/slurmd.txt" 2>&1 &
daemons+=($!)
for _ in $(seq 60); do sinfo --noheader --format=%t 2>/dev/null | grep -q idle && break; sleep 1; done
sinfo

echo "A partition that is not there: one line, before jobs are queued"
asmpg study "$here/study.toml" --seeds "$seeds" --out "$out/wrong" --executor slurm --executor-option partition=nowhere && exit 1
[ ! -e "$out/wrong/runs" ]

run_locally
asmpg study "$here/study.toml" --seeds "$seeds" --out "$out/study" --executor slurm --executor-option partition=main \
    --executor-option time=20 --cpus 1 --memory 1 > >(tee "$out/study.txt") 2>&1 &
study=$!
# The next job that has a checkpoint and is not done, and was not chosen before: its id and its name.
choose() {
    for _ in $(seq 600); do
        while read -r id name; do
            run=$out/study/runs/${name#asmpg:}
            if compgen -G "$run/checkpoints/*/last.npz" >/dev/null && [ ! -e "$run/best.json" ] \
                && ! grep -q "^$id " "$state/chosen"; then
                echo "$id $name" | tee -a "$state/chosen"
                return
            fi
        done < <(squeue --noheader --states=running --format="%i %j")
        sleep 0.2
    done
    echo "no job left" >&2
    exit 1
}

for signal in USR2 TERM HUP INT; do
    job=$(choose)
    echo "Sending $signal to job $job, which is to be requeued"
    scancel --signal="$signal" "${job%% *}"
done
job=$(choose)
echo "Cancelling job $job, which is not to be requeued but submitted again"
scancel "${job%% *}"
wait "$study"
compare "$out/study"
requeued=$(grep -ho "Requeued job [0-9]*" "$out"/study/attempts/submitit/*_log.* | sort -u)
echo "$requeued"
[ "$(echo "$requeued" | wc -l)" = 4 ]
