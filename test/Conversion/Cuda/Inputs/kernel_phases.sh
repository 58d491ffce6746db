#!/usr/bin/env bash
# Lowers every .mlir file of FOLDER for TARGET in one pipeline and pass by pass,
# each pass in a process of its own. Fails where the two differ, or where
# choosing a second time does.
set -o errexit -o nounset -o pipefail
folder=$1 target=$2
work=$folder/work
mkdir -p "$work"
for each in "$folder"/*.mlir; do
  fastk-opt "$each" --fastk-lower-to-gpu=target="$target" -o "$work/whole"
  fastk-opt "$each" --fastk-prepare-kernels -o "$work/prepared"
  fastk-opt "$work/prepared" --fastk-choose-kernels=target="$target" -o "$work/chosen"
  fastk-opt "$work/chosen" --fastk-choose-kernels=target="$target" -o "$work/again"
  diff "$work/chosen" "$work/again"
  fastk-opt "$work/chosen" --fastk-emit-kernels=target="$target" -o "$work/phases"
  diff "$work/whole" "$work/phases"
done
