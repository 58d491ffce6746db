#!/bin/sh
# Runs a compiler through ccache: ccache.sh COMPILER ARGUMENTS...
#
# Paths below the build folder become relative, those of the precompiled header with them,
# which CCACHE_BASEDIR does not reach: one cache serves every checkout.
for argument; do
  shift
  case $argument in "$PWD"/*) argument=${argument#"$PWD"/} ;; esac
  set -- "$@" "$argument"
done
exec ccache "$@"
