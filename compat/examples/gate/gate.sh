#!/bin/sh
# Lets a deployment through only if the new program can restore the state of the one that runs.
#
#     gate.sh JOB PROGRAM
#
# COMPAT_SERVER and COMPAT_TOKEN say where the registry is and who asks. Deploy between push and promote, or behind both.
set -eu
job=$1 program=$2
compat check --job "$job" "$program" --output concise
compat registry push --job "$job" "$program"
# flink savepoint …; flink run --fromSavepoint … --python "$program"
compat registry promote --job "$job"
