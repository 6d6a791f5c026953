# What the scripts beside this file share: where things lie, a study on this machine to compare with, waiting.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v asmpg >/dev/null || { echo "asmpg is not on the PATH" >&2; exit 1; }
bin=$(dirname "$(command -v asmpg)")
out=${OUT:-$(mktemp -d)}
seeds=${SEEDS:-2} # four jobs for each
mkdir -p "$out"
echo "Everything goes to $out"

# The study that the others must equal, byte for byte.
run_locally() {
    [ -e "$out/local/report.html" ] || asmpg study "$here/study.toml" --seeds "$seeds" --out "$out/local" --device cpu --quiet >"$out/local.txt"
}

compare() {
    diff -r "$out/local/tables" "$1/tables"
    for file in $(cd "$out/local" && find runs -name best.json); do
        cmp "$out/local/$file" "$1/$file"
    done
    for file in $(cd "$out/local" && find runs -name metrics.csv); do
        # But for the last column, the seconds that it took.
        cmp <(sed 's/,[^,]*$//' "$out/local/$file") <(sed 's/,[^,]*$//' "$1/$file")
    done
    echo "$1: tables, metrics and scores of best checkpoints are those of a local run, byte for byte"
}

wait_for() {  # a file that matches the pattern
    for _ in $(seq 600); do
        compgen -G "$1" >/dev/null && return
        sleep 0.2
    done
    echo "no $1" >&2
    exit 1
}

descendants() {
    for child in $(ps -o pid= --ppid "$1"); do
        echo "$child"
        descendants "$child"
    done
}
