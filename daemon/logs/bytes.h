// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a log, wherever they lie: a file, standard input, gzip or zstd (told by their first
// bytes, not by their names). Streams, so that size does not matter; a truncated archive gives what
// is in it, and says that it is not all. Used by LineBlocks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "daemon/logs/source.h"
#include "probes/model/result.h"

namespace collwatch::logs {

class Bytes {
 public:
  virtual ~Bytes() = default;

  /// Fills at most `room` bytes; 0 is the end.
  virtual model::Result<std::size_t> read(char* into, std::size_t room) = 0;

  /// After the end: why it came before the log's own, as "the archive ends early"; else empty.
  virtual std::string damage() const { return {}; }
};

model::Result<std::unique_ptr<Bytes>> open_bytes(const Source& source);

/// The same over text in memory, for tests and for bodies posted to the daemon.
std::unique_ptr<Bytes> bytes_of(std::string text);

/// What the opener hands to a decoder: the raw bytes, with the first ones already looked at.
std::unique_ptr<Bytes> gunzip(std::unique_ptr<Bytes> compressed);
std::unique_ptr<Bytes> unzstd(std::unique_ptr<Bytes> compressed);

/// `head` again, which somebody read to find out what it is, then the rest.
std::unique_ptr<Bytes> with_head(std::string head, std::unique_ptr<Bytes> rest);

/// Puts the decoder in front that the first bytes ask for.
model::Result<std::unique_ptr<Bytes>> decoded(std::unique_ptr<Bytes> raw);

}  // namespace collwatch::logs
