# SPDX-License-Identifier: Apache-2.0
#
# Three thin commands over deploy/setup/setup.sh and the CMake presets; everything else is done
# through the presets (CONTRIBUTING.md). All of them may be repeated at will.
#   make run     sets up what the demo needs, builds, runs it    (make run ARGS="--fault kill:n2")
#   make build   sets up and builds; the programs lie in build/release/bin/
#   make test    sets up everything, builds, runs every test (of the fault matrix a sample)
.DEFAULT_GOAL := build
.PHONY: run build test
ARGS ?=

build:
	@deploy/setup/setup.sh demo
	@cmake --preset release
	@cmake --build --preset release

run: build
	@build/release/bin/collwatch demo $(ARGS)

test:
	@deploy/setup/setup.sh test
	@cmake --preset test
	@cmake --build --preset test
	@ctest --preset test
