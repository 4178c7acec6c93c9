// SPDX-License-Identifier: Apache-2.0
//
// A byte at a time; the state between two bytes is all there is.
#include "daemon/ras/json_scanner.h"

#include <cctype>

namespace collwatch::ras {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
}

}  // namespace

void JsonScanner::add(std::string_view bytes) {
  for (const char c : bytes) {
    if (broken_) return;
    on_byte(c);
  }
}

void JsonScanner::on_byte(char c) {
  if (within_ == Within::word) {
    if (is_of_word(c)) return keep(c);
    end_word();
    if (broken_) return;
  }
  if (within_ != Within::nothing) return add_to_text(c);
  if (is_blank(c)) return;
  if (done_) {
    broken_ = true;  // something behind the end
    return;
  }
  on_structure(c);
}

void JsonScanner::on_structure(char c) {
  const bool in_object = !arrays_.empty() && !arrays_.back();
  if (c == ':') {
    broken_ = !in_object || !wants_colon_;
    wants_colon_ = false;
    has_key_ = true;
    return;
  }
  if (wants_colon_) {
    broken_ = true;
  } else if (c == ',') {
    broken_ = arrays_.empty() || has_key_;
  } else if (c == '}' || c == ']') {
    close(c == ']');
  } else if (c == '"') {
    text_.clear();
    within_ = Within::text;
  } else if (in_object && !has_key_) {
    broken_ = true;  // a value without a key
  } else if (c == '{' || c == '[') {
    open(c == '[');
  } else if (is_of_word(c) && !arrays_.empty()) {
    text_.clear();
    within_ = Within::word;
    keep(c);
  } else {
    broken_ = true;
  }
}

void JsonScanner::add_to_text(char c) {
  if (within_ == Within::unicode) {
    if (--unicode_left_ > 0) return;
    within_ = Within::text;
    return keep('?');  // no name of ours has such a letter
  }
  if (within_ == Within::escape) {
    within_ = Within::text;
    if (c == 'u') {
      within_ = Within::unicode;
      unicode_left_ = 4;
      return;
    }
    return keep(c == '"' || c == '\\' || c == '/' ? c : ' ');
  }
  if (c == '\\') {
    within_ = Within::escape;
  } else if (c == '"') {
    end_text();
  } else {
    keep(c);
  }
}

void JsonScanner::end_text() {
  within_ = Within::nothing;
  if (arrays_.empty()) {
    broken_ = true;  // no report is a string
  } else if (!arrays_.back() && !has_key_) {
    key_ = text_;
    wants_colon_ = true;
  } else {
    handler_.on_value(has_key_ ? key_ : std::string(), text_, true);
    has_key_ = false;
  }
}

void JsonScanner::end_word() {
  within_ = Within::nothing;
  handler_.on_value(has_key_ ? key_ : std::string(), text_, false);
  has_key_ = false;
}

void JsonScanner::open(bool is_array) {
  if (arrays_.size() >= kDeepest) {
    broken_ = true;
    return;
  }
  handler_.on_open(has_key_ ? key_ : std::string(), is_array);
  arrays_.push_back(is_array);
  has_key_ = false;
}

void JsonScanner::close(bool is_array) {
  if (arrays_.empty() || arrays_.back() != is_array || has_key_) {
    broken_ = true;
    return;
  }
  arrays_.pop_back();
  handler_.on_close();
  done_ = arrays_.empty();
}

void JsonScanner::keep(char c) {
  if (text_.size() < kLongestKept) text_ += c;
}

}  // namespace collwatch::ras
