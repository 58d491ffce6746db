# same_bytes.sh MODEL BANK SCRATCH KIND: compiles MODEL under other numbers of threads and processors, in another
# folder and under another name, and compares the bytes of the results.
set -e
model=$1 bank=$2 scratch=$3 kind=$4
mkdir -p "$scratch/elsewhere"
compile() { fastk-opt "$1" --bank="$bank" --emit="$kind" -o "$2" 2>/dev/null; }
cd "$scratch"
OMP_NUM_THREADS=1 compile "$model" one
OMP_NUM_THREADS=2 compile "$model" two
taskset --cpu-list 0 fastk-opt "$model" --bank="$bank" --emit="$kind" -o core 2>/dev/null
cp "$model" elsewhere/renamed.mlir
cd elsewhere
OMP_NUM_THREADS=7 compile renamed.mlir seven
cd ..
for other in two core elsewhere/seven; do cmp one $other; done
# Nor does it say where or from what it was made.
! grep --text --fixed-strings -e "$scratch" -e renamed -e "$(basename "$model" .mlir).mlir" -e /tmp/ one
