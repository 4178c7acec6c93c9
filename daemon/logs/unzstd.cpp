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
      if (is_between_ && in_.pos != in_.size) {
        ended_ =
            static_cast<const char*>(in_.src)[in_.pos] == '\0';  // padding after the last frame
        if (ended_) break;
        is_between_ = false;
      }
      // What the decoder still holds comes first, then fresh input.
      decode(out);
      if (out.pos != 0 || ended_ || in_.pos != in_.size) continue;
      const auto got = compressed_->read(input_.data(), input_.size());
      if (!got) return model::fail(got.error());
      if (*got == 0) {  // what came so far is what there is
        ended_ = true;
        if (!is_between_) damage_ = "the archive ends early";
        break;
      }
      in_ = ZSTD_inBuffer{input_.data(), *got, 0};
    }
    return out.pos;
  }

  std::string damage() const override { return damage_; }

 private:
  static constexpr int kLargestWindow = 25;  // 32 MiB

  void decode(ZSTD_outBuffer& out) {
    const std::size_t status = ZSTD_decompressStream(stream_, &out, &in_);
    if (status == 0) is_between_ = true;
    ended_ = ZSTD_isError(status) != 0;
    if (!ended_) return;
    damage_ = std::string("the archive is damaged or asks for more memory than it gets (") +
              ZSTD_getErrorName(status) + ")";
  }

  std::unique_ptr<Bytes> compressed_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::array<char, 65536> input_{};
  bool ended_ = false;
  bool is_between_ = false;  ///< a frame has ended, no other has begun
  std::string damage_;
};

}  // namespace

std::unique_ptr<Bytes> unzstd(std::unique_ptr<Bytes> compressed) {
  return std::make_unique<Unzstd>(std::move(compressed));
}

}  // namespace collwatch::logs
