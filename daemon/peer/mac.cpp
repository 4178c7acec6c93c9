// SPDX-License-Identifier: Apache-2.0
//
// libcrypto's one-shot HMAC and CRYPTO_memcmp, and getrandom(2).
#include "daemon/peer/mac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>
#include <cerrno>

#include "daemon/peer/framing.h"
#include "probes/model/result.h"

namespace collwatch::peer {

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::array<unsigned char, kMacBytes> out{};
  unsigned int length = 0;
  // A null key would mean "the previous key" to libcrypto; an empty view's data() may be null.
  const char* key_bytes = key.empty() ? "" : key.data();
  const unsigned char* made =
      HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(data.data()), data.size(), out.data(), &length);
  COLLWATCH_ASSERT(made != nullptr && length == out.size());
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

std::string authenticate(std::string_view token, std::initializer_list<std::string_view> parts) {
  std::string input;
  for (const std::string_view part : parts) {
    input += big_endian(static_cast<std::uint32_t>(part.size()));
    input += part;
  }
  return hmac_sha256(token, input);
}

bool same_mac(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t got = getrandom(bytes.data() + have, count - have, 0);
    if (got < 0 && errno == EINTR) continue;
    COLLWATCH_ASSERT(got > 0);  // a nonce that repeats is worse than no daemon
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

}  // namespace collwatch::peer
