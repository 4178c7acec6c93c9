#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The NCCL probe on a real GPU: builds it, runs it alone (a communicator of this machine's GPUs), asks
# for the same GPU twice (a real refusal of NCCL's), measures its time and memory, how much a loop of
# matrix products loses beside an idle-mode and an always-mode probe, and what PyTorch does when a job
# gives tensors on the GPU to Gloo. Prints tables; under ten minutes, of which building is most. Changes
# nothing about the GPU. `tests/gpu/run.sh [BUILD_FOLDER]`; exits 77 with the reason where there is none.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${1:-build/gpu}

if ! command -v nvidia-smi > /dev/null || ! nvidia-smi -L > /dev/null 2>&1; then
  echo "SKIPPED: no GPU here (nvidia-smi finds none)"
  exit 77
fi
nvidia-smi --query-gpu=index,name,driver_version,memory.free,compute_mode --format=csv

# Only what this needs, and no more of the distribution's libraries than that.
if ! timeout 240 tests/gpu/build.sh "$BUILD" > "${TMPDIR:-/tmp}/collwatch-gpu-build.log" 2>&1; then
  tail -20 "${TMPDIR:-/tmp}/collwatch-gpu-build.log"
  echo "FAILED: the build"
  exit 1
fi
timeout 180 python3 -B tests/gpu/measure.py "$BUILD/collwatch-probe-nccl"
ended=$?
# Says so itself where it is left out; what Gloo refuses is a finding and no failure.
timeout 150 python3 -B tests/gpu/gloo_on_gpu.py
exit $ended
