// SPDX-License-Identifier: Apache-2.0
//
// gzip, several members one after another included. The only place that knows zlib.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "daemon/logs/bytes.h"

namespace collwatch::logs {
namespace {

class Gunzip : public Bytes {
 public:
  explicit Gunzip(std::unique_ptr<Bytes> compressed) : compressed_(std::move(compressed)) {
    ready_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Gunzip() override {
    if (ready_) inflateEnd(&stream_);
  }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    if (!ready_) return model::fail(model::ErrorCode::io, "gzip: no memory");
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, UINT_MAX / 2));
    const uInt asked = stream_.avail_out;
    while (stream_.avail_out == asked && !ended_) {
      if (is_between_ && stream_.avail_in != 0) {
        ended_ = *stream_.next_in == 0;  // padding after the last member
        if (ended_) break;
        is_between_ = false;
      }
      // What the decoder still holds comes first, then fresh input.
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        is_between_ = true;
        ended_ = inflateReset(&stream_) != Z_OK;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        ended_ = true;
        damage_ = "the archive is damaged";
        if (stream_.msg != nullptr) damage_ += std::string(" (") + stream_.msg + ")";
      }
      if (stream_.avail_out != asked || ended_ || stream_.avail_in != 0) continue;
      const auto got = compressed_->read(input_.data(), input_.size());
      if (!got) return model::fail(got.error());
      if (*got == 0) {  // what came so far is what there is
        ended_ = true;
        if (!is_between_) damage_ = "the archive ends early";
        break;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(*got);
    }
    return asked - stream_.avail_out;
  }

  std::string damage() const override { return damage_; }

 private:
  static constexpr int kGzipOnly = 15 + 16;  // the largest window; a gzip header is required

  std::unique_ptr<Bytes> compressed_;
  z_stream stream_{};
  std::array<char, 65536> input_{};
  bool ready_ = false;
  bool ended_ = false;
  bool is_between_ = false;  ///< a member has ended, no other has begun
  std::string damage_;
};

}  // namespace

std::unique_ptr<Bytes> gunzip(std::unique_ptr<Bytes> compressed) {
  return std::make_unique<Gunzip>(std::move(compressed));
}

}  // namespace collwatch::logs
