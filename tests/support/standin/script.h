// SPDX-License-Identifier: Apache-2.0
//
// How a test tells a stand-in library what to be and how to fail: a file beside the library, of its
// name with ".script" behind it, "key value" a line. Read once, at first use. The library is found
// by the path that it was loaded by, so that each node of a test can have a link to it and a script
// of its own.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace standin {

class Script {
 public:
  explicit Script(const void* symbol_in_library) {
    Dl_info info{};
    if (dladdr(symbol_in_library, &info) == 0) return;
    std::ifstream file(std::string(info.dli_fname) + ".script");
    std::string line;
    while (std::getline(file, line)) {
      const std::size_t space = line.find(' ');
      values_[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
    }
  }

  bool has(const std::string& key) const { return values_.count(key) != 0; }
  std::string text(const std::string& key, const std::string& otherwise = "") const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  long number(const std::string& key, long otherwise) const {
    return has(key) ? std::atol(text(key).c_str()) : otherwise;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace standin
