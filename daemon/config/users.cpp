// SPDX-License-Identifier: Apache-2.0
//
// Of hashes, those are taken that resist guessing and do not cost the agent more than some
// milliseconds and megabytes a try.
#include "daemon/config/users.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/config/tree.h"

namespace collwatch::config {
namespace {

constexpr std::size_t kMostUsers = 64;
constexpr std::size_t kLongestHash = 256;
constexpr std::string_view kHow = "make one with mkpasswd -m sha-512 or openssl passwd -6";

/// The number that `text` begins with; 0 where it begins with none.
std::uint64_t number_at(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < text.size() && i < 12 && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
  return number;
}

/// Yescrypt's cost, as crypt_gensalt writes 1 to 5: up to 16 MiB.
bool is_cheap_yescrypt(std::string_view hash) {
  constexpr std::array<std::string_view, 5> kCosts = {"j75", "j85", "j95", "jA5", "j9T"};
  const std::string_view cost = hash.substr(3, hash.find('$', 3) - 3);
  return std::find(kCosts.begin(), kCosts.end(), cost) != kCosts.end();
}

/// "" where it is one, else what is wrong.
std::string problem_of_hash(std::string_view hash) {
  constexpr std::string_view kRounds = "rounds=";
  const bool is_printable =
      std::all_of(hash.begin(), hash.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  const bool has_salt = std::count(hash.begin(), hash.end(), '$') >= 3;
  if (hash.size() > kLongestHash || !is_printable || hash.size() < 20 || !has_salt) {
    return "no password hash: " + std::string(kHow);
  }
  if (hash.starts_with("$6$") || hash.starts_with("$5$")) {
    const std::string_view rest = hash.substr(3);
    const bool is_dear =
        rest.starts_with(kRounds) && number_at(rest.substr(kRounds.size())) > 500000;
    return is_dear ? "a hash of more than 500000 rounds takes too long to check" : "";
  }
  if (hash.starts_with("$2b$") || hash.starts_with("$2y$") || hash.starts_with("$2a$")) {
    return number_at(hash.substr(4)) > 12 ? "a bcrypt hash above cost 12 takes too long to check"
                                          : "";
  }
  if (hash.starts_with("$y$")) {
    return is_cheap_yescrypt(hash) ? "" : "a yescrypt hash above cost 5 takes too much memory";
  }
  return "a kind of hash that is not taken: " + std::string(kHow);
}

}  // namespace

model::Result<std::vector<Config::Http::User>> parse_users(const std::string& text,
                                                           const std::string& path) {
  std::vector<Config::Http::User> users;
  std::string_view left = text;
  for (int line = 1; !left.empty(); ++line) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    std::string_view one = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    while (!one.empty() && (one.back() == '\r' || one.back() == ' ')) one.remove_suffix(1);
    if (one.empty() || one.front() == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return model::fail(model::ErrorCode::invalid_argument,
                         path + ":" + std::to_string(line) + ": " + what);
    };
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || colon == 0) return wrong("write user:hash");
    Config::Http::User user{std::string(one.substr(0, colon)), std::string(one.substr(colon + 1))};
    const std::string who = "user '" + shown(user.name) + "': ";
    const std::string problem = problem_of_hash(user.password_hash);
    if (!problem.empty()) return wrong(who + problem);
    const bool is_twice = std::any_of(users.begin(), users.end(),
                                      [&](const auto& other) { return other.name == user.name; });
    if (is_twice) return wrong(who + "is there already");
    if (users.size() >= kMostUsers) return wrong("more than 64 users");
    users.push_back(std::move(user));
  }
  if (users.empty()) {
    return model::fail(model::ErrorCode::invalid_argument,
                       path + ": no users: with nobody in it the port would be closed to all");
  }
  return users;
}

}  // namespace collwatch::config
