// SPDX-License-Identifier: Apache-2.0
//
// Versions from the files of a process' own root, which may be anybody's.
#include "daemon/processes/versions.h"

#include <sys/stat.h>

#include "daemon/processes/proc_files.h"
#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;
namespace fs = std::filesystem;

namespace {

constexpr int kPid = 7;
const std::string kPackages = "/opt/venv/lib/python3.11/site-packages";

class Root {
 public:
  Root() { proc_.put({.pid = kPid}); }
  const Root& with(const std::string& path, const std::string& text) const {
    proc_.put_file(kPid, path, text);
    return *this;
  }
  std::string path() const { return proc_.folder(kPid) / "root"; }
  Process read(const std::vector<std::string>& files) {
    Process process;
    read_versions(process, path(), files, cache_);
    return process;
  }

 private:
  test::FakeProc proc_;
  std::map<std::string, std::string> cache_;
};

}  // namespace

TEST_CASE("PyTorch says its version and CUDA's in version.py, with and without types") {
  Root root;
  root.with(kPackages + "/torch/version.py",
            "from typing import Optional\n__all__ = ['__version__', 'cuda']\n"
            "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip = None\n");
  const Process process = root.read({kPackages + "/torch/lib/libtorch_cpu.so"});
  CHECK(process.torch == "2.6.0+cu124");
  CHECK(process.cuda == "12.4");
  REQUIRE(process.libraries.size() == 1);
  CHECK(process.libraries[0].version == "2.6.0+cu124");
  CHECK(python_string("cuda_archs = 'x'\ncuda = None\n", "cuda").empty());
}

TEST_CASE("without version.py the package's folder or the library's name says it") {
  Root packaged;
  packaged.with(kPackages + "/torchvision-0.19.0.dist-info/METADATA", "")
      .with(kPackages + "/torch-2.4.0.dist-info/METADATA", "");
  CHECK(packaged.read({kPackages + "/torch/lib/libtorch_cpu.so"}).torch == "2.4.0");
  Root bare;
  CHECK(bare.read({"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"}).torch == "1.13");
  CHECK(bare.read({"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so"}).torch.empty());
}

TEST_CASE("NCCL: by the file's name, by its package, by the bytes of the library") {
  Root root;
  CHECK(root.read({"/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3"}).nccl == "2.18.3");
  const std::string library = kPackages + "/nvidia/nccl/lib/libnccl.so.2";
  root.with(library, "NCCL version 1.1.1+x");
  root.with(kPackages + "/nvidia_nccl_cu12-2.21.5.dist-info/METADATA", "");
  CHECK(root.read({library}).nccl == "2.21.5");
  root.with("/opt/nccl/libnccl.so.2", std::string((1 << 20) - 20, 'x') + "NCCL version %d.%d" +
                                          '\0' + "NCCL version 2.28.9+cuda13.0");
  CHECK(root.read({"/opt/nccl/libnccl.so.2"}).nccl == "2.28.9");
}

TEST_CASE("a mark that lies across two chunks is found, wherever it lies") {
  Root root;
  for (const int before : {-30, -20, -13, -12, -6, -1, 0, 5}) {
    INFO(before);
    root.with("/x/libnccl.so.2", std::string((1 << 20) + before, 'x') + "NCCL version 2.1.4+cuda9");
    const auto file = FileInRoot::open(root.path(), "/x/libnccl.so.2");
    REQUIRE(file.has_value());
    CHECK(file->after("CCL version ", "0123456789.", 16 << 20) == "2.1.4");
    CHECK(file->after("CCL version ", "0123456789.", 1000).empty());
  }
}

TEST_CASE("links of a container lead inside the container, not to our files") {
  Root root;
  root.with("/real/version.py", "__version__ = '2.0.1'\n");
  fs::create_directories(root.path() + "/opt/torch");
  fs::create_symlink("/real/version.py", root.path() + "/opt/torch/version.py");
  CHECK(root.read({"/opt/torch/lib/libtorch_cpu.so"}).torch == "2.0.1");
  fs::remove(root.path() + "/opt/torch/version.py");
  fs::create_symlink("/../../../../../../etc/hostname", root.path() + "/opt/torch/version.py");
  CHECK_FALSE(FileInRoot::open(root.path(), "/opt/torch/version.py").has_value());
}

TEST_CASE("a FIFO in place of a file neither blocks nor is read") {
  Root root;
  fs::create_directories(root.path() + "/opt/torch");
  REQUIRE(mkfifo((root.path() + "/opt/torch/version.py").c_str(), 0600) == 0);
  CHECK(root.read({"/opt/torch/lib/libtorch_cpu.so"}).torch.empty());
}

TEST_CASE("what is no version is not repeated") {
  Root root;
  root.with("/opt/torch/version.py", "__version__ = '2.0; rm -rf \x1b[31m'\n");
  CHECK(root.read({"/opt/torch/lib/libtorch_cpu.so"}).torch.empty());
}

TEST_CASE("the place of torch is found beside what Python has loaded, as in Debian") {
  Root root;
  root.with("/usr/lib/python3/dist-packages/torch/version.py",
            "__version__ = '1.13.0a0+gitunknown'\n");
  CHECK(root.read({"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13",
                   "/usr/lib/python3/dist-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"})
            .torch == "1.13.0a0+gitunknown");
}
