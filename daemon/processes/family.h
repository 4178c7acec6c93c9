// SPDX-License-Identifier: Apache-2.0
//
// A rank's environment is inherited: by the shell that starts it, by its data loaders, by whatever
// it runs. Which of the processes that carry one rank's variables is the rank? Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace collwatch::processes {

/// How much speaks for it, the least first.
enum class Weight {
  carrier,      ///< a shell, tee, a launcher, ourselves: never a rank
  program,      ///< any other program
  interpreter,  ///< Python, which may be about to load a training library
  library,      ///< a training library is mapped (in data loaders too, which are forked)
  group         ///< threads of a process group run in it
};

struct Relative {
  int pid = 0;
  std::string family;  ///< job and rank
  Weight weight = Weight::carrier;
};

/// The pids of the ranks: of each family all with a process group of their own, else the topmost of
/// those for which most speaks. `parents` are of all processes.
std::vector<int> ranks_among(const std::vector<Relative>& relatives,
                             const std::map<int, int>& parents);

/// What is known of a program by its name alone.
Weight weight_of_name(const std::string& name, bool launcher);

}  // namespace collwatch::processes
