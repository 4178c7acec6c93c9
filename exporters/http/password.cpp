// SPDX-License-Identifier: Apache-2.0
//
// crypt_r: the salt and the method are in the hash.
#include "exporters/http/password.h"

#include <crypt.h>

#include <cstddef>
#include <cstring>
#include <memory>

namespace collwatch::exporters {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(
        difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return difference == 0;
}

bool is_password_of(const std::string& password, const std::string& hash) {
  const auto wipe = [](crypt_data* data) {
    ::explicit_bzero(data, sizeof *data);
    delete data;
  };
  const std::unique_ptr<crypt_data, decltype(wipe)> data(new crypt_data{}, wipe);
  const char* const found = ::crypt_r(password.c_str(), hash.c_str(), data.get());
  // A failure is a text that begins with a star, which no hash that is taken does.
  return found != nullptr && found[0] == '$' && equal_in_constant_time(found, hash);
}

}  // namespace collwatch::exporters
