// SPDX-License-Identifier: Apache-2.0
//
// Builds the Tree from the library's event stream rather than from its node graph: events carry a
// line for every key and value, keep duplicate keys, and let us stop at a bound.
#include "daemon/config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <optional>
#include <sstream>

#include "daemon/config/read_file.h"

namespace collwatch::config {
namespace {

constexpr std::size_t kMaxDepth = 20;
constexpr std::size_t kMaxValues = 20000;

/// Thrown through the library, caught in parse_yaml.
struct Refused : std::exception {
  Refused(int at, std::string why) : line(at), text(std::move(why)) {}
  int line;
  std::string text;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  Tree take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add(leaf(Tree::Shape::nothing, mark, ""));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (anchor != 0) refuse_anchor(mark);
    add(leaf(Tree::Shape::text, mark, value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Tree::Shape::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Tree::Shape::section, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Tree tree;
    std::optional<Tree> key;  ///< of a section: the key whose value comes next
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  [[noreturn]] static void refuse_anchor(const YAML::Mark& mark) {
    throw Refused(line_of(mark), "anchors (&) and aliases (*) are not supported");
  }

  Tree leaf(Tree::Shape shape, const YAML::Mark& mark, const std::string& text) {
    if (++values_ > kMaxValues) throw Refused(line_of(mark), "too many values");
    Tree tree;
    tree.shape = shape;
    tree.line = line_of(mark);
    tree.text = text;
    return tree;
  }

  void open(Tree::Shape shape, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) refuse_anchor(mark);
    if (open_.size() >= kMaxDepth) throw Refused(line_of(mark), "nested too deeply");
    open_.push_back({leaf(shape, mark, ""), std::nullopt});
  }

  void close() {
    Tree done = std::move(open_.back().tree);
    open_.pop_back();
    add(std::move(done));
  }

  void add(Tree tree) {
    if (open_.empty()) {
      root_ = std::move(tree);
      return;
    }
    Open& parent = open_.back();
    if (parent.tree.shape == Tree::Shape::list) {
      parent.tree.items.push_back(std::move(tree));
      return;
    }
    if (!parent.key) {
      if (tree.shape != Tree::Shape::text) throw Refused(tree.line, "a key must be a word");
      parent.key = std::move(tree);
      return;
    }
    Tree::Entry entry;
    entry.key = std::move(parent.key->text);
    entry.line = parent.key->line;
    entry.value = std::move(tree);
    parent.tree.entries.push_back(std::move(entry));
    parent.key.reset();
  }

  Tree root_;
  std::vector<Open> open_;
  std::size_t values_ = 0;
};

model::Result<Tree> broken(const std::string& name, int line, const std::string& why) {
  return model::fail(model::ErrorCode::invalid_argument,
                     name + ":" + std::to_string(line) + ": not valid YAML: " + why);
}

/// YAML forbids tabs in indentation, and the library says so in other words.
std::string tab_hint(const std::string& bytes, int line) {
  std::istringstream lines(bytes);
  std::string text;
  for (int number = 1; number <= line && std::getline(lines, text); ++number) {
    const std::size_t tab = text.find_first_not_of(' ');
    if (tab != std::string::npos && text[tab] == '\t') {
      return " (line " + std::to_string(number) + " is indented with a tab; use spaces)";
    }
  }
  return "";
}

}  // namespace

model::Result<Tree> parse_yaml(const std::string& bytes, const std::string& name) {
  if (bytes.size() > kMaxFileBytes) {
    return model::fail(model::ErrorCode::limit, name + ": larger than 1 MiB");
  }
  try {
    std::istringstream stream(bytes);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    Tree empty;
    empty.shape = Tree::Shape::section;
    if (!parser.HandleNextDocument(builder)) return empty;
    Tree root = builder.take();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return broken(name, second.take().line, "more than one document");
    }
    return root.shape == Tree::Shape::nothing ? empty : root;
  } catch (const Refused& refused) {
    return broken(name, refused.line, refused.text);
  } catch (const YAML::Exception& exception) {
    const int line = exception.mark.line + 1;
    return broken(name, line, shown(exception.msg) + tab_hint(bytes, line));
  } catch (const std::exception& exception) {
    return broken(name, 1, shown(exception.what()));
  }
}

model::Result<Tree> read_yaml(const std::string& path) {
  const auto bytes = read_file(path, kMaxFileBytes);
  if (!bytes) return model::fail(bytes.error());
  return parse_yaml(bytes->bytes, path);
}

}  // namespace collwatch::config
