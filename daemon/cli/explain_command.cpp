// SPDX-License-Identifier: Apache-2.0
//
// `explain`: the encyclopedia behind `diagnose`. Exit codes: 0 printed, 4 nothing is known about
// it.
#include <algorithm>
#include <iostream>
#include <iterator>

#include "daemon/catalogue/catalogue.h"
#include "daemon/cli/catalogue_files.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/terminal.h"
#include "daemon/config/suggest.h"
#include "daemon/explain/print.h"

namespace collwatch::cli {
namespace {

constexpr int kPrinted = 0;
constexpr int kUnknown = 4;

int unknown(const std::string& text) {
  complain(text);
  return kUnknown;
}

std::string asked_for(const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

int explain_layer(const catalogue::Catalogue& catalogue, const ExplainOptions& options,
                  bool colour) {
  if (explain::entries_of_layer(catalogue, options.layer).empty()) {
    std::string known;
    for (const std::string& layer : explain::layers(catalogue)) {
      known += (known.empty() ? "" : ", ") + layer;
    }
    return unknown("there is no layer '" + options.layer + "'; there are " + known);
  }
  std::cout << (options.markdown ? explain::layer_markdown(catalogue, options.layer)
                                 : explain::layer_text(catalogue, options.layer, colour));
  return kPrinted;
}

int explain_text(const catalogue::Catalogue& catalogue, const ExplainOptions& options,
                 bool colour) {
  const std::string text = asked_for(options.words);
  // "nccl" alone is no failure; a layer of them is the answer.
  const std::vector<std::string> layers = explain::layers(catalogue);
  if (std::find(layers.begin(), layers.end(), text) != layers.end()) {
    return explain_layer(catalogue, {{}, text, options.markdown, {}}, colour);
  }
  const auto found = explain::find(catalogue, text);
  if (!found) {
    std::vector<std::string> ids;
    for (const catalogue::Entry& entry : catalogue.entries()) {
      ids.emplace_back(model::name(entry.id));
    }
    const bool one_word = text.find_first_of(" \n") == std::string::npos;
    return unknown("nothing is known about this" +
                   (one_word ? config::did_you_mean(text, ids) : std::string()) +
                   " (collwatch explain lists what is)");
  }
  const catalogue::Entry& entry = *catalogue.find(found->id);
  if (options.markdown) {
    std::cout << explain::entry_markdown(entry);
    return kPrinted;
  }
  const std::string why = explain::found_text(*found);
  std::cout << why << (why.empty() ? "" : "\n") << explain::entry_text(entry, colour);
  return kPrinted;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const auto catalogue = catalogue_with(options.fingerprints);
  if (!catalogue) {
    complain(catalogue.error().text);
    return kUsageError;
  }
  const bool colour = colour_of_stdout() == Colour::yes;
  if (!options.layer.empty()) return explain_layer(*catalogue, options, colour);
  if (!options.words.empty()) return explain_text(*catalogue, options, colour);
  std::cout << (options.markdown ? explain::table_markdown(*catalogue)
                                 : explain::table_text(*catalogue, colour));
  return kPrinted;
}

}  // namespace collwatch::cli
