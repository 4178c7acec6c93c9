// SPDX-License-Identifier: Apache-2.0
//
// The live table: who sees whom and how fast, what each agent says, a time line of what was done,
// and the last notes. paint() is pure and returns one frame; Terminal puts frames in place on a
// real terminal without flicker and gives the cursor back. Main thread only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/demo/notes.h"
#include "daemon/demo/watch.h"

namespace collwatch::demo {

struct Canvas {
  std::size_t width = 80;
  std::size_t height = 24;
  bool colour = true;
  bool unicode = true;
};

struct Scene {
  const Watcher* watcher = nullptr;
  int nodes = 0;
  std::string where;        ///< "in network namespaces"
  double now = 0;           ///< on the watcher's clock
  double duration = 0;      ///< seconds, counted from the first healthy round
  std::vector<Note> notes;  ///< oldest first
};

/// The frame's lines, at most height - 1 of them, none wider than the canvas.
std::vector<std::string> paint(const Scene& scene, const Canvas& canvas);

class Terminal {
 public:
  explicit Terminal(int fd);
  ~Terminal();  ///< gives the cursor back
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Canvas canvas() const;  ///< as the window is now
  void show(const std::vector<std::string>& lines);

 private:
  int fd_;
  std::size_t shown_ = 0;
};

/// Writes all of it or gives up at the first error; false then.
bool write_all(int fd, const std::string& text);

}  // namespace collwatch::demo
