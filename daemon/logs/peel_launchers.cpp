// SPDX-License-Identifier: Apache-2.0
//
// Prefixes that say who: launchers, cluster managers, log shippers.
#include <algorithm>

#include "daemon/logs/peel_parts.h"

namespace collwatch::logs {
namespace {

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A word of prose is hardly ever like that, a machine's name mostly is.
bool is_sure_name(std::string_view name) {
  const auto is_telling = [](char c) { return is_digit(c) || c == '-'; };
  return std::any_of(name.begin(), name.end(), is_telling) &&
         std::any_of(name.begin(), name.end(), is_letter);
}

/// Whether "[name:number]" may be a host and a pid: neither a place in a source file nor the number
/// of something else.
bool may_be_host_of_tag(std::string_view name) {
  if (name.size() < 2 || !std::any_of(name.begin(), name.end(), is_letter)) return false;
  const std::size_t dot = name.rfind('.');
  const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  for (const std::string_view source :
       {"py", "pyx", "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hpp", "go", "rs", "inl"}) {
    if (ending == source) return false;
  }
  const auto word_end = std::find_if(name.begin(), name.end(), is_digit);
  const std::string_view word = name.substr(0, static_cast<std::size_t>(word_end - name.begin()));
  for (const std::string_view other :
       {"rank", "Rank", "RANK", "local_rank", "cuda", "step", "iter", "epoch", "line", "default",
        "layer", "stage", "shard", "batch", "pid", "tid", "port"}) {
    if (word == other) return false;
  }
  return true;
}

int as_int(long value) {
  return static_cast<int>(value);
}

/// The number behind `key` anywhere in a short list such as "rank=1, pid=123, ip=10.0.0.4".
std::optional<long> value_of(std::string_view list, std::string_view key) {
  const std::size_t at = list.find(key);
  if (at == std::string_view::npos || (at > 0 && is_letter(list[at - 1]))) return std::nullopt;
  Cursor cursor(list.substr(at + key.size()));
  return cursor.number();
}

/// TP10 in "DP0 TP10", TP3 in "Worker_TP3": the tensor-parallel number is the closest to a rank
/// that inference engines print.
std::optional<long> parallel_rank(std::string_view words) {
  const std::size_t at = words.rfind("TP");
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(words.substr(at + 2));
  return cursor.number(1, 5);
}

}  // namespace

bool peel_rank_tag(std::string_view& text, Who& who) {
  Cursor cursor(text);
  cursor.skip(' ');
  if (!cursor.take('[')) return false;
  std::size_t letters = 0;
  const std::size_t start = cursor.position();
  while (is_letter(cursor.peek()) || (letters > 0 && cursor.peek() == '_')) {
    cursor.take(cursor.peek());
    ++letters;
  }
  const std::string_view role = text.substr(start, letters);
  const auto number = cursor.number(1, 7);
  if (letters == 0 || !number || !cursor.take("]:")) return false;
  if (role == "rank") {
    who.rank = as_int(*number);
    cursor.take(' ');
  } else {
    who.local_rank = as_int(*number);
  }
  text = cursor.rest();
  return true;
}

bool peel_mpi_tag(std::string_view& text, Who& who) {
  const std::size_t tag = text.substr(0, 160).find("]<std");
  if (tag == std::string_view::npos) return false;
  const std::size_t open = text.substr(0, tag).rfind('[');
  if (open == std::string_view::npos || open > 32) return false;
  Cursor cursor(text.substr(open + 1));
  // Open MPI 5 names its own job in front: [prterun-node07-4711@1,3]<stdout>:
  const std::size_t job = text.substr(open + 1, tag - open - 1).find('@');
  if (job != std::string_view::npos) cursor.back_to(job + 1);
  auto number = cursor.number();
  if (number && cursor.take(',')) number = cursor.number();  // [job,rank]
  if (!number || !cursor.take("]<std")) return false;
  if (!cursor.take("err>:") && !cursor.take("out>:") && !cursor.take("diag>:")) return false;
  who.rank = as_int(*number);
  if (open > 0 && who.time.empty()) who.time = std::string(text.substr(0, open));
  text = cursor.rest();
  return true;
}

bool peel_task_label(std::string_view& text, Who& who) {
  if (who.label || who.rank) return false;
  Cursor cursor(text);
  cursor.skip(' ');
  const auto number = cursor.number(1, 6);
  if (!number || !cursor.take(": ")) return false;
  who.label = as_int(*number);
  text = cursor.rest();
  return true;
}

bool peel_actor(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (cursor.peek() == '[' && (cursor.take("[36m") || cursor.take("[33m") || cursor.take("[0m"))) {
    text = cursor.rest();  // a colour that lost its escape byte on the way
    return true;
  }
  if (!cursor.take('(')) return false;
  const auto inside = cursor.until(')', 160);
  if (!inside) return false;
  const auto pid = value_of(*inside, "pid=");
  const bool is_raylet = inside->rfind("raylet", 0) == 0;
  if (!pid && !is_raylet) return false;
  if (pid) who.pid = *pid;
  if (const auto rank = value_of(*inside, "rank=")) {
    who.rank = as_int(*rank);
  } else if (const auto parallel = parallel_rank(*inside)) {
    who.rank = as_int(*parallel);
  }
  if (const std::size_t ip = inside->find("ip="); ip != std::string_view::npos) {
    who.host = std::string(inside->substr(ip + 3, inside->find_first_of(", ", ip) - ip - 3));
  }
  cursor.take("[0m");
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_replica(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const std::string_view role = cursor.name();
  if (role.empty() || !is_letter(role[0]) || !cursor.take('/') || !cursor.number(1, 6) ||
      !cursor.take(" [")) {
    return false;
  }
  const std::size_t inside = cursor.position();
  if (const auto local = cursor.number(1, 6); local && cursor.take("]:")) {
    who.local_rank = as_int(*local);
    text = cursor.rest();
    return true;
  }
  text = text.substr(inside - 1);  // another tag follows: [default1]:
  return true;
}

bool peel_pod(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (!cursor.take("[pod/")) return false;
  const auto pod = cursor.until('/', 260);
  if (!pod || !cursor.until(']', 260)) return false;
  who.host = std::string(*pod);
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_host_label(std::string_view& text, Who& who) {
  if (!who.host.empty()) return false;
  Cursor cursor(text);
  if (cursor.take("rank")) {  // rank3: text
    const auto rank = cursor.number(1, 7);
    if (rank && cursor.take(": ")) {
      who.rank = as_int(*rank);
      text = cursor.rest();
      return true;
    }
    cursor.back_to(0);
  }
  const std::string_view name = cursor.name();
  // A host's name has a digit in it; an exception's does not, and neither begins with a capital.
  if (name.size() < 2 || name.size() > 64 || !has_digit(name)) return false;
  if (name[0] >= 'A' && name[0] <= 'Z') return false;
  if (!is_letter(name[0]) && std::count(name.begin(), name.end(), '.') != 3) return false;
  if (cursor.take(": ")) {
    who.host = std::string(name);
    text = cursor.rest();
    return true;
  }
  cursor.skip(' ');
  if (!cursor.take("| ")) return false;
  who.host = std::string(name);
  text = cursor.rest();
  return true;
}

bool peel_journal(std::string_view& text, Who& who) {
  if (who.time.empty()) return false;  // only behind a date: "host program[pid]: "
  Cursor cursor(text);
  const std::string_view host = cursor.name();
  if (host.empty() || !cursor.take(' ')) return false;
  const std::string_view program = cursor.name();
  if (program.empty()) return false;
  if (cursor.take('[')) {
    const auto pid = cursor.number();
    if (!pid || !cursor.take("]: ")) return false;
    who.pid = *pid;
  } else if (program != "kernel" && !(is_shippers_time(who.time) && is_lower(program[0]) &&
                                      (is_letter(who.time[0]) || is_sure_name(host)))) {
    return false;  // could be any sentence with a colon in it
  } else if (!cursor.take(": ")) {
    return false;
  }
  who.is_kernel = program == "kernel";
  who.host = std::string(host);
  text = cursor.rest();
  return true;
}

bool peel_host_pid(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (!cursor.take('[')) return false;
  const std::string_view host = cursor.name();
  cursor.skip(' ');
  if (!cursor.take(':')) return false;
  const auto pid = cursor.number();
  if (!pid || (cursor.take(':') && !cursor.number())) return false;  // UCX adds the thread
  cursor.skip(' ');
  if (!cursor.take(']') || !may_be_host_of_tag(host)) return false;
  // [cuda:0], [rank:3]: numbers of other things are small.
  if (*pid < 100 && !is_sure_name(host)) return false;
  who.host = std::string(host);
  who.pid = *pid;
  cursor.take(':');
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_stern(std::string_view& text, Who& who) {
  if (!who.host.empty()) return false;
  Cursor cursor(text);
  const std::string_view pod = cursor.name();
  if (!is_sure_name(pod) || !cursor.take(' ')) return false;
  if (std::any_of(pod.begin(), pod.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return false;
  const std::string_view container = cursor.name();
  if (container.empty() || !is_lower(container[0]) || !cursor.take(' ')) return false;
  // Two words may begin any sentence: what follows them must look like the beginning of a line.
  const std::string_view rest = cursor.rest();
  const std::string_view word = rest.substr(0, rest.find_first_of(": "));
  const std::string_view last = word.substr(word.size() - std::min<std::size_t>(word.size(), 5));
  const bool begins = rest.substr(0, 1) == "[" || rest.substr(0, 2) == "20" || last == "Error" ||
                      rest.substr(0, 20) == "Traceback (most rece" || rest.substr(0, 3) == "  F";
  if (!begins) return false;
  who.host = std::string(pod);
  text = rest;
  return true;
}

bool peel_nccl(std::string_view& text, Who& who) {
  Cursor cursor(text);
  const std::string_view host = cursor.name();
  if (host.empty() || !cursor.take(':')) return false;
  const auto pid = cursor.number();
  if (!pid || !cursor.take(':') || !cursor.number()) return false;
  cursor.take(' ');
  if (cursor.take('[')) {  // the CUDA device, which is not a rank and may be garbage
    if (!cursor.number() || !cursor.take("] ")) return false;
  }
  const std::string_view soon = cursor.rest().substr(0, 240);
  if (soon.find("NCCL ") == std::string_view::npos) return false;
  who.severity = soon.find("NCCL WARN") == std::string_view::npos ? 'I' : 'E';
  who.host = std::string(host);
  who.pid = *pid;
  text = cursor.rest();
  return true;
}

bool peel_bracketed_rank(std::string_view& text, Who& who) {
  Cursor cursor(text);
  if (!cursor.take('[') || !cursor.take_ignoring_case("rank")) return false;
  const bool capital = text[1] == 'R' && text[2] == 'a';
  cursor.take(':');
  cursor.take(' ');
  cursor.take('=');
  const auto rank = cursor.number(1, 7);
  if (!rank) return false;
  std::optional<long> world;
  if (cursor.take('/')) world = cursor.number(1, 7);
  const auto more = cursor.until(']', 80);
  if (!more) return false;
  if (const auto pid = value_of(*more, "pid ")) who.pid = *pid;
  if (const auto pid = value_of(*more, "pid=")) who.pid = *pid;
  if (world) who.world = as_int(*world);
  if (capital && !world) {
    // c10 counts within one group, and its patterns want to see the words: noted, not taken.
    if (!who.group_rank) who.group_rank = as_int(*rank);
    return false;
  }
  who.rank = as_int(*rank);
  cursor.take(':');
  cursor.take(' ');
  text = cursor.rest();
  return true;
}

bool peel_box(std::string_view& text, Who&) {
  constexpr std::string_view kSides[] = {"\xe2\x94\x82", "\xe2\x94\x83", "\xe2\x95\x91"};
  for (const std::string_view side : kSides) {
    if (text.rfind(side, 0) != 0) continue;
    text.remove_prefix(side.size());
    if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    const std::size_t last = text.rfind(side);
    if (last != std::string_view::npos) text = text.substr(0, last);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return true;
  }
  return false;
}

}  // namespace collwatch::logs
