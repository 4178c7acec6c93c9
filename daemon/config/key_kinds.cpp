// SPDX-License-Identifier: Apache-2.0
//
// One kind of value each: text in, typed value or a complaint out, and back to YAML.
#include "daemon/config/key_kinds.h"

#include <algorithm>

#include "daemon/config/members.h"
#include "daemon/config/suggest.h"
#include "daemon/config/units.h"

namespace collwatch::config {
namespace {

using Apply = std::function<void(const Tree&, Config&, const Report&)>;

Key row(std::string name, std::string unit, std::string meaning) {
  Key key;
  key.name = std::move(name);
  key.unit = std::move(unit);
  key.meaning = std::move(meaning);
  return key;
}

template <typename T>
const T& get(const Config& config, Field<T> field) {
  return field(const_cast<Config&>(config));  // a Field only names a member
}

/// The scalar's text, or nothing after a complaint about its shape.
const std::string* scalar(const Tree& tree, const std::string& unit, const Report& report) {
  if (tree.shape == Tree::Shape::text) return &tree.text;
  report.complain(tree.line, tree.shape == Tree::Shape::nothing
                                 ? "has no value: give one or leave the key out"
                                 : "must be one " + unit + ", not a " +
                                       (tree.shape == Tree::Shape::list ? "list" : "section"));
  return nullptr;
}

/// Every item's text; complains and returns false when it is no list of scalars.
bool scalars(const Tree& tree, const std::string& unit, const Report& report,
             std::vector<const Tree*>& out) {
  if (tree.shape != Tree::Shape::list) {
    report.complain(tree.line, "must be a " + unit + ", in brackets or one per line after '-'");
    return false;
  }
  for (const Tree& item : tree.items) {
    if (item.shape != Tree::Shape::text) {
      report.complain(item.line, "must be a plain " + unit + ", without lists or sections in it");
      return false;
    }
    out.push_back(&item);
  }
  return true;
}

std::string flow_list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ", ";
    text += yaml_scalar(item);
  }
  return text + "]";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// "" when `word` is a choice of this version, else why not.
std::string choice_problem(const std::string& word, const Choices& choices) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  if (has(choices.now)) return "";
  const std::string known = joined(choices.now);
  if (has(choices.later)) return "'" + word + "' is not in this version; possible: " + known;
  return "'" + shown(word) + "' is unknown; possible: " + known + did_you_mean(word, choices.now);
}

}  // namespace

Key duration_key(std::string name, Field<Millis> field, DurationRange range, std::string meaning) {
  Key key = row(std::move(name), "duration", std::move(meaning));
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "duration", report);
    if (text == nullptr) return;
    const auto value = parse_duration(*text);
    if (!value) return report.complain(tree.line, value.error().text);
    if (*value < range.least || *value > range.most) {
      return report.complain(tree.line, shown(*text) + " is not between " +
                                            format_duration(range.least) + " and " +
                                            format_duration(range.most));
    }
    field(config) = *value;
  };
  key.show = [=](const Config& config) { return format_duration(get(config, field)); };
  return key;
}

Key size_key(std::string name, Field<std::uint64_t> field, SizeRange range, std::string meaning) {
  Key key = row(std::move(name), "size", std::move(meaning));
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "size", report);
    if (text == nullptr) return;
    const auto value = parse_size(*text);
    if (!value) return report.complain(tree.line, value.error().text);
    if (*value < range.least || *value > range.most) {
      return report.complain(tree.line, shown(*text) + " is not between " +
                                            format_size(range.least) + " and " +
                                            format_size(range.most));
    }
    field(config) = *value;
  };
  key.show = [=](const Config& config) { return format_size(get(config, field)); };
  return key;
}

Key count_key(std::string name, Field<int> field, int least, int most, std::string meaning) {
  Key key = row(std::move(name), "number", std::move(meaning));
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "number", report);
    if (text == nullptr) return;
    const auto value = parse_integer(*text, least, most);
    if (!value) return report.complain(tree.line, value.error().text);
    field(config) = static_cast<int>(*value);
  };
  key.show = [=](const Config& config) { return std::to_string(get(config, field)); };
  return key;
}

Key flag_key(std::string name, Field<bool> field, std::string meaning) {
  Key key = row(std::move(name), "true or false", std::move(meaning));
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "true or false", report);
    if (text == nullptr) return;
    if (*text != "true" && *text != "false") {
      return report.complain(tree.line, "'" + shown(*text) + "' is neither true nor false");
    }
    field(config) = *text == "true";
  };
  key.show = [=](const Config& config) { return get(config, field) ? "true" : "false"; };
  return key;
}

Key endpoint_key(std::string name, Field<Endpoint> field, std::string meaning) {
  Key key = row(std::move(name), "address:port", std::move(meaning));
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "address:port", report);
    if (text == nullptr) return;
    const auto value = parse_endpoint(*text, 0);
    if (!value) return report.complain(tree.line, value.error().text);
    field(config) = *value;
  };
  key.show = [=](const Config& config) { return yaml_scalar(format_endpoint(get(config, field))); };
  return key;
}

Key text_key(std::string name, Field<std::string> field, std::string unit, std::string meaning) {
  Key key = row(std::move(name), std::move(unit), std::move(meaning));
  key.apply = [=, unit = key.unit](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, unit, report);
    if (text != nullptr) field(config) = *text;
  };
  key.show = [=](const Config& config) { return yaml_scalar(get(config, field)); };
  return key;
}

Key path_key(std::string name, Field<std::string> field, std::string meaning) {
  Key key = text_key(std::move(name), field, "path", std::move(meaning));
  key.is_path = true;
  key.apply = [field](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "path", report);
    if (text == nullptr) return;
    if (std::any_of(text->begin(), text->end(), [](char c) { return c >= 0 && c < 0x20; })) {
      return report.complain(tree.line, "'" + shown(*text) + "' is not a path");
    }
    field(config) = *text;
  };
  return key;
}

Key label_key(std::string name, Field<std::string> field, std::string meaning) {
  Key key = text_key(std::move(name), field, "text", std::move(meaning));
  key.apply = [field](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "text", report);
    if (text == nullptr) return;
    if (!is_label_value(*text)) {
      return report.complain(tree.line, "'" + shown(*text) +
                                            "' is not a label value (printable, at most 64 "
                                            "characters, no quotes, backslashes or commas)");
    }
    field(config) = *text;
  };
  return key;
}

Key choice_key(std::string name, Field<std::string> field, Choices choices, std::string meaning) {
  Key key = text_key(std::move(name), field, "one of " + joined(choices.now), std::move(meaning));
  key.apply = [field, choices](const Tree& tree, Config& config, const Report& report) {
    const std::string* text = scalar(tree, "word", report);
    if (text == nullptr) return;
    const std::string problem = choice_problem(*text, choices);
    if (!problem.empty()) return report.complain(tree.line, problem);
    field(config) = *text;
  };
  return key;
}

Key choices_key(std::string name, Field<std::vector<std::string>> field, Choices choices,
                std::string meaning) {
  Key key = row(std::move(name), "list of " + joined(choices.now), std::move(meaning));
  key.is_list = true;
  key.apply = [field, choices](const Tree& tree, Config& config, const Report& report) {
    std::vector<const Tree*> items;
    if (!scalars(tree, "list of words", report, items)) return;
    std::vector<std::string> words;
    for (const Tree* item : items) {
      const std::string problem = choice_problem(item->text, choices);
      if (!problem.empty()) return report.complain(item->line, problem);
      if (std::find(words.begin(), words.end(), item->text) != words.end()) {
        return report.complain(item->line, "'" + item->text + "' is listed twice");
      }
      words.push_back(item->text);
    }
    field(config) = words;
  };
  key.show = [=](const Config& config) { return flow_list(get(config, field)); };
  return key;
}

Key sizes_key(std::string name, Field<std::vector<std::uint32_t>> field, SizeRange range,
              std::string meaning) {
  Key key = row(std::move(name), "list of sizes", std::move(meaning));
  key.is_list = true;
  key.apply = [=](const Tree& tree, Config& config, const Report& report) {
    constexpr std::size_t kMost = 8;
    std::vector<const Tree*> items;
    if (!scalars(tree, "list of sizes", report, items)) return;
    if (items.empty() || items.size() > kMost) {
      return report.complain(tree.line, "must list 1 to 8 sizes");
    }
    std::vector<std::uint32_t> sizes;
    for (const Tree* item : items) {
      const auto size = parse_size(item->text);
      if (!size) return report.complain(item->line, size.error().text);
      if (*size < range.least || *size > range.most) {
        return report.complain(item->line, shown(item->text) + " is not between " +
                                               format_size(range.least) + " and " +
                                               format_size(range.most));
      }
      if (!sizes.empty() && *size <= sizes.back()) {
        return report.complain(item->line, "sizes must ascend: " + shown(item->text) +
                                               " comes after " + format_size(sizes.back()));
      }
      sizes.push_back(static_cast<std::uint32_t>(*size));
    }
    field(config) = sizes;
  };
  key.show = [=](const Config& config) {
    std::vector<std::string> texts;
    for (const std::uint32_t size : get(config, field)) texts.push_back(std::to_string(size));
    return flow_list(texts);
  };
  return key;
}

Key collectives_key(std::string name, Field<std::vector<model::Collective>> field,
                    std::string meaning) {
  Choices choices;
  for (const auto word : model::Names<model::Collective>::value) {
    // Known to the NCCL probe only.
    if (word != model::name(model::Collective::reduce_scatter)) choices.now.emplace_back(word);
  }
  choices.later = {"reduce", "reduce_scatter", "gather", "scatter"};
  Key key = row(std::move(name), "list of collectives", std::move(meaning));
  key.is_list = true;
  key.apply = [field, choices](const Tree& tree, Config& config, const Report& report) {
    std::vector<const Tree*> items;
    if (!scalars(tree, "list of collectives", report, items)) return;
    std::vector<model::Collective> collectives;
    for (const Tree* item : items) {
      const std::string problem = choice_problem(item->text, choices);
      if (!problem.empty()) return report.complain(item->line, problem);
      const auto collective = *model::parse<model::Collective>(item->text);
      if (std::find(collectives.begin(), collectives.end(), collective) != collectives.end()) {
        return report.complain(item->line, "'" + item->text + "' is listed twice");
      }
      collectives.push_back(collective);
    }
    field(config) = collectives;
  };
  key.show = [=](const Config& config) {
    std::vector<std::string> names;
    for (const auto collective : get(config, field)) names.emplace_back(model::name(collective));
    return flow_list(names);
  };
  return key;
}

Key members_key(std::string name, std::string meaning) {
  Key key = row(std::move(name), "list of members", std::move(meaning));
  key.is_list = true;
  key.apply = [](const Tree& tree, Config& config, const Report& report) {
    std::vector<const Tree*> items;
    if (!scalars(tree, "list of members", report, items)) return;
    for (const Tree* item : items) {
      auto member = parse_member(item->text);
      if (member) {
        config.membership.members.push_back(std::move(*member));
      } else {
        report.complain(item->line, member.error().text);
      }
    }
  };
  key.show = [](const Config& config) {
    std::vector<std::string> entries;
    if (config.membership.file.empty()) {
      for (const Member& member : config.membership.members) {
        entries.push_back(format_member(member));
      }
    }
    return flow_list(entries);
  };
  return key;
}

Key later_key(std::string name, std::string unit, std::string off, std::string meaning,
              std::vector<std::string> tolerated) {
  Key key = row(std::move(name), std::move(unit), std::move(meaning));
  key.built = false;
  key.is_list = !off.empty() && off.front() == '[';
  key.off = off;
  key.tolerated = tolerated;
  key.apply = [=](const Tree& tree, Config&, const Report& report) {
    std::string given = yaml_scalar(tree.text);
    if (tree.shape == Tree::Shape::list) {
      std::vector<std::string> texts;
      for (const Tree& item : tree.items) {
        texts.push_back(item.shape == Tree::Shape::text ? item.text : "{...}");
      }
      given = flow_list(texts);
    } else if (tree.shape == Tree::Shape::section) {
      given = tree.entries.empty() ? "{}" : "{...}";
    }
    // Flags and the environment have no way to write an empty section but an empty value.
    if (given == off ||
        (off == "{}" && tree.text.empty() && tree.items.empty() && tree.entries.empty())) {
      return;
    }
    if (std::find(tolerated.begin(), tolerated.end(), given) != tolerated.end()) {
      return report.warn(tree.line, given + " has no effect in this version");
    }
    report.complain(tree.line, "not in this version: leave it out or at " + off);
  };
  key.show = [=](const Config&) { return off; };
  return key;
}

}  // namespace collwatch::config
