// SPDX-License-Identifier: Apache-2.0
//
// zstd, several frames one after another included. The only place that knows libzstd.
#include <zstd.h>

#include <array>

#include "daemon/logs/bytes.h"

namespace collwatch::logs {
namespace {

class Unzstd : public Bytes {
 public:
  explicit Unzstd(std::unique_ptr<Bytes> compressed)
      : compressed_(std::move(compressed)), stream_(ZSTD_createDStream()) {
    // A frame may ask for a window of gigabytes; logs that do are not read.
    if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kLargestWindow);
  }
  ~Unzstd() override { ZSTD_freeDStream(stream_); }
  Unzstd(const Unzstd&) = delete;
  Unzstd& operator=(const Unzstd&) = delete;

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    if (stream_ == nullptr) return model::fail(model::ErrorCode::io, "zstd: no memory");
    ZSTD_outBuffer out{into, room, 0};
    while (out.pos == 0 && !ended_) {
      // What the decoder still holds comes first, then fresh input.
      ended_ = ZSTD_isError(ZSTD_decompressStream(stream_, &out, &in_)) != 0;
      if (out.pos != 0 || ended_ || in_.pos != in_.size) continue;
      const auto got = compressed_->read(input_.data(), input_.size());
      if (!got) return model::fail(got.error());
      if (*got == 0) break;  // cut off: what came so far is what there is
      in_ = ZSTD_inBuffer{input_.data(), *got, 0};
    }
    return out.pos;
  }

 private:
  static constexpr int kLargestWindow = 25;  // 32 MiB

  std::unique_ptr<Bytes> compressed_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::array<char, 65536> input_{};
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Bytes> unzstd(std::unique_ptr<Bytes> compressed) {
  return std::make_unique<Unzstd>(std::move(compressed));
}

}  // namespace collwatch::logs
