// SPDX-License-Identifier: Apache-2.0
//
// Errors as values: context outward, errno in one place, and the abort for broken invariants.
#include "probes/model/result.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace collwatch::model {

Error wrap(Error error, const std::string& context) {
  error.text = context + ": " + error.text;
  return error;
}

Error from_errno(const std::string& what, int sys_errno) {
  ErrorCode code = ErrorCode::io;
  if (sys_errno == ENOENT) code = ErrorCode::not_found;
  if (sys_errno == EACCES || sys_errno == EPERM) code = ErrorCode::permission;
  if (sys_errno == EADDRINUSE) code = ErrorCode::in_use;
  if (sys_errno == ETIMEDOUT) code = ErrorCode::timeout;
  return Error{code, what + ": " + std::generic_category().message(sys_errno), sys_errno};
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "collwatch: broken invariant `%s` at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace collwatch::model
