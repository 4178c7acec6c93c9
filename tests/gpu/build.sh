#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The NCCL worker alone, by the compiler alone: a GPU machine need not have what the daemon needs. Only
# nlohmann-json's and tl::expected's headers must be there. `tests/gpu/build.sh FOLDER`.
set -eu
cd "$(dirname "$0")/../.."
FOLDER=$1
mkdir -p "$FOLDER"
COMPILER=${CXX:-g++}
pids=()
for source in probes/model/result.cpp probes/wire/{channel,nccl_message}.cpp probes/nccl/*.cpp; do
  "$COMPILER" -std=c++20 -O1 -Wall -I. -DCOLLWATCH_VERSION='"gpu"' -c "$source" \
    -o "$FOLDER/$(echo "$source" | tr / _).o" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
"$COMPILER" -o "$FOLDER/collwatch-probe-nccl" "$FOLDER"/*.o -ldl -pthread
