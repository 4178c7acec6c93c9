// SPDX-License-Identifier: Apache-2.0
//
// What "our surroundings failed" looks like everywhere in collwatch: a value, never an exception.
// An Error has a code from a closed set, a sentence built outward ("load config 'x.yaml': line 3:
// ...") and the errno where there was one. What the *world* did wrong (timeouts, resets, wrong
// sums) is not an Error: it is an Observation, our product. What *we* did wrong aborts through
// COLLWATCH_ASSERT. Used by every folder; tl::expected is the one third-party type allowed in
// headers.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace collwatch::model {

enum class ErrorCode { invalid_argument, not_found, permission, in_use, io, timeout, protocol, limit };

struct Error {
  ErrorCode code = ErrorCode::io;
  std::string text;   ///< a whole sentence a person can act on
  int sys_errno = 0;  ///< 0 when no system call was involved
};

template <typename T>
using Result = tl::expected<T, Error>;

/// The same error with `context` in front: "context: text".
Error wrap(Error error, const std::string& context);

/// The one place that turns an errno into an Error: "what: strerror".
Error from_errno(const std::string& what, int sys_errno);

inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
  return tl::unexpected<Error>(Error{code, std::move(text), 0});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace collwatch::model

/// For broken invariants only: prints the expression and aborts; systemd (or the daemon) restarts.
#define COLLWATCH_ASSERT(expression) \
  ((expression) ? (void)0            \
                : ::collwatch::model::assertion_failed(#expression, __FILE__, __LINE__))
