// SPDX-License-Identifier: Apache-2.0
//
// Whether this was built with a sanitizer: those reserve terabytes of addresses and hold many times
// the memory, so that no limit on either means anything.
#pragma once

namespace collwatch::supervise {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kUnderSanitizer = true;
#else
inline constexpr bool kUnderSanitizer = false;
#endif
#else
inline constexpr bool kUnderSanitizer = false;
#endif

}  // namespace collwatch::supervise
