// SPDX-License-Identifier: Apache-2.0
//
// What the fake worker does to its surroundings rather than says on its channel: prints, sleeps,
// dies, forks. Whatever it forks is capped at 64 processes that end by themselves after a minute,
// so that no failing test leaves anything behind.
#pragma once

#include <string>

namespace fake {

[[noreturn]] void usage(const std::string& what);
void write_all(const std::string& bytes);
void sleep_ms(long ms);
void flood_stdout(const std::string& amount);  ///< bytes, or "forever"
[[noreturn]] void hang();
[[noreturn]] void die_of(int signal);
void show(const std::string& what);

void fork_children(int wanted);
void fork_bomb();
void escape_child();
void leave_group();
void traced();

/// In fake_worker.cpp: what `traced` says from its tracer.
void say_hello();

}  // namespace fake
