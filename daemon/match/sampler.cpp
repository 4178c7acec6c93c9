// SPDX-License-Identifier: Apache-2.0
//
// The sampled search, and which part of a literal is worth searching for.
#include "daemon/match/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "probes/model/result.h"

namespace collwatch::match {
namespace {

constexpr int kWordBits = 11;  ///< of the table's length in words
constexpr int kPairBit = 44;   ///< where in a hash the number of a pair of bits is
constexpr int kBucketBits = 12;
constexpr std::uint64_t kFold64 = 0x2020202020202020ULL;
constexpr std::size_t kLongest = 60000;  ///< of a literal; RE2 bounds expressions far below

/// What logs of healthy training are full of. Only its grams count.
constexpr std::string_view kOrdinary =
    "[info] [warning] [rank 0] info: warn: debug step iteration epoch batch loss train_loss "
    "val_loss eval accuracy perplexity grad_norm gradient norm learning rate learning_rate lr "
    "tokens/s tokens per second samples/s consumed samples elapsed time per iteration (ms) "
    "throughput tflops mfu memory allocated reserved gib mib max memory gpu gpus device devices "
    "cuda:0 nvidia rank ranks local_rank world_size node nodes process group worker workers pid "
    "host nccl info channel via p2p/ipc net/ib/0 gdrdma shared ring tree comm init complete "
    "connected all rings trees threads coll channels bootstrap using interface plugin "
    "version torch torch.distributed pytorch python python3 site-packages lib torch/nn/modules "
    "module.py trainer.py train.py train main model layers attention mlp weight bias parameter "
    "parameters checkpoint checkpoints saving saved saving checkpoint loading loaded load to from "
    "at path /home/user /data/ /mnt/ file files line in return self forward backward optimizer "
    "scheduler config configuration default enabled disabled true false none null set setting "
    "initialized initializing initialization starting started start finished finish completed "
    "running run running for waiting received request requests response reqs pending queue cache "
    "usage the and of is was were will be not with for this that on by as an are has have been "
    "dataset data dataloader loader shard shards sequence length batch size batch_size number "
    "total average avg mean std min max speed eta time date error errors failed failure exception "
    "warning: use instead deprecated future release please consider call called function value "
    "values tensor tensors shape dtype float32 bfloat16 socket connect connection connecting port "
    "address server client timeout seconds store operation operations message ray actor task tasks "
    "raytrainworker pid= ip= wandb tensorboard logging logger version: driver runtime environment "
    "variable variables export iterations waiting waited wait with within without into onto "
    "pending sending processing processed processes used based passed closed increased lines "
    "information attached detached creating created create updated update reduce reduced "
    "all_reduce all_gather redistributed matched matching match multiple simple sample samples "
    "example not found no new node dead the this there then they than other another between "
    "because before after every first last next previous each only also more most some such "
    "could would should must may can cannot support supported supports available required "
    "requires expected unexpected invalid valid missing unknown name names type types object "
    "string int float list dict key keys index indices count counts id ids user users system "
    "service network net plugins transport send recv received receive peer peers local remote "
    "global block blocks size sizes bytes buffer buffers address addresses of to in is at by "
    "world rendezvous backend gloo nccl_debug cuda_visible_devices collective collectives "
    "of the of this of these with the with a at the at it at i t at d at at a and the and had and "
    "have head node load no and time read time real time ed to ed by ed in ed, and ing the the c "
    "the s the p the r for the in the on the by the from the that the to the is the as the not the "
    "reporter exporter importer specified specific especially metrics metric_ usage: gpu usage, "
    "line "
    "12 lines in packed cached blocked worked checked param_groups params: parameters. weights "
    "-> -> 3 -> 4 ] -> [ => | it/s s/it train_ n_loss train_loss in_loss al_loss validation "
    "validating collected connected rejected selected detected directed restored resuming resumed "
    "starting from preparing prepared compiling compiled computing computed downloading uploading "
    "find_unused_parameters reducer.cpp their neighbours their own with their loader worker per "
    "worker "
    "running: 12 waiting: 3 usage: 14 a find to find "
    "tokenizer tokenized generating generated generation evaluating evaluation inference serving";

/// Up to 8 bytes.
std::uint64_t word_of(const char* text, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, size);
  return word;
}

/// Of the gram that a word begins with, folded. The factor ends in zeros, so that the bytes behind
/// the gram make no difference to the result.
std::uint64_t hash_of(std::uint64_t word) {
  return (word | kFold64) * (0x9E3779B97F4A7C15ULL << (64 - 8 * Sampler::kGram));
}

/// Of the gram at `text`, from where there must be a whole word to read.
std::uint64_t hash_at(const char* text) {
  return hash_of(word_of(text, sizeof(std::uint64_t)));
}

/// The same where there may be no more than the gram.
std::uint64_t hash_at_end(const char* text) {
  return hash_of(word_of(text, Sampler::kGram));
}

/// Pairs of bits: two for each gram, so that hardly any other gram has the same in the same word.
constexpr std::array<std::uint64_t, 256> kPairs = [] {
  std::array<std::uint64_t, 256> pairs{};
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned other = i + 13 + i / 64 * 21;
    pairs[i] = (std::uint64_t{1} << (i % 64)) | (std::uint64_t{1} << (other % 64));
  }
  return pairs;
}();

std::uint64_t pair_of(std::uint64_t hash) {
  return kPairs[(hash >> kPairBit) % kPairs.size()];
}

/// Whether some gram of ours has such a hash. The table is of bits that are not set: one test less.
bool seen(const std::uint64_t* unset, std::uint64_t hash) {
  return (unset[hash >> (64 - kWordBits)] & pair_of(hash)) == 0;
}

std::uint32_t bucket_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> (64 - kBucketBits));
}

/// Up to kWidest bytes, folded.
std::uint64_t word_at(const char* text, std::size_t size) {
  return word_of(text, size) | kFold64;
}

/// How often a gram occurs in ordinary text.
int commonness(const char* gram) {
  static const auto counts = [] {
    std::unordered_map<std::uint64_t, int> counted;
    for (std::size_t at = 0; at + Sampler::kGram <= kOrdinary.size(); ++at) {
      ++counted[hash_at_end(kOrdinary.data() + at)];
    }
    return counted;
  }();
  const auto it = counts.find(hash_at_end(gram));
  return it == counts.end() ? 0 : it->second;
}

/// How common a byte is in logs, roughly, in bits of surprise.
double surprise(char c) {
  constexpr std::string_view kCommon = " etaoinsrdlcu0123456789";
  const char folded = static_cast<char>(c | 0x20);
  const std::size_t at = kCommon.find(folded);
  if (at == 0) return 2.5;
  if (at == 1) return 3.0;
  if (at != std::string_view::npos) return 3.5 + 0.1 * static_cast<double>(at);
  return folded >= 'a' && folded <= 'z' ? 6.5 : 6.0;
}

/// How much less rare a gram makes the text that it is in.
double familiarity(const char* gram) {
  const int count = commonness(gram);
  return count == 0 ? 0 : std::min(12.0, 4.0 + 2.0 * count);
}

/// Where the window of `width` bytes begins that rarity() likes best.
std::size_t rarest_window(const std::string& literal, std::size_t width) {
  std::vector<double> of_byte;
  std::vector<double> of_gram;
  for (std::size_t at = 0; at < literal.size(); ++at) {
    of_byte.push_back(surprise(literal[at]));
    if (at + Sampler::kGram <= literal.size()) of_gram.push_back(familiarity(literal.data() + at));
  }
  std::size_t best = 0;
  double best_score = -1e9;
  for (std::size_t at = 0; at + width <= literal.size(); ++at) {
    double score = 0;
    for (std::size_t i = at; i < at + width; ++i) score += of_byte[i];
    for (std::size_t i = at; i + Sampler::kGram <= at + width; ++i) score -= of_gram[i];
    if (score > best_score) {
      best_score = score;
      best = at;
    }
  }
  return best;
}

}  // namespace

bool equal_folded(const char* a, const char* b, std::size_t size) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto differ = [&](std::size_t at) {
    return ((word_of(a + at, kWord) ^ word_of(b + at, kWord)) & ~kFold64) != 0;
  };
  if (size < kWord) {
    for (std::size_t i = 0; i < size; ++i) {
      if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
    }
    return true;
  }
  for (std::size_t at = 0; at + kWord <= size; at += kWord) {
    if (differ(at)) return false;
  }
  return !differ(size - kWord);  // some bytes once more
}

double rarity(std::string_view part) {
  double score = 0;
  for (const char c : part) score += surprise(c);
  for (std::size_t at = 0; at + Sampler::kGram <= part.size(); ++at) {
    score -= familiarity(part.data() + at);
  }
  return score;
}

Sampler::Sampler(std::vector<std::string> literals) : literals_(std::move(literals)) {
  if (literals_.empty()) return;
  std::size_t width = kWidest;
  for (const std::string& literal : literals_) width = std::min(width, literal.size());
  COLLWATCH_ASSERT(width >= kGram);
  stride_ = width - kGram + 1;
  const std::string ones(width, '\xff');
  std::memcpy(&window_mask_, ones.data(), width);
  unset_.assign(std::size_t{1} << kWordBits, ~std::uint64_t{0});
  std::vector<std::pair<std::uint32_t, Place>> places;  // and the bucket of each
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    COLLWATCH_ASSERT(literals_[i].size() <= kLongest);
    const std::size_t start = rarest_window(literals_[i], width);
    const char* const window = literals_[i].data() + start;
    for (std::size_t offset = 0; offset < stride_; ++offset) {
      const std::uint64_t hash = hash_at_end(window + offset);
      unset_[hash >> (64 - kWordBits)] &= ~pair_of(hash);
      const Place place{word_at(window, width) & window_mask_, static_cast<std::int32_t>(i),
                        static_cast<std::uint16_t>(start), static_cast<std::uint8_t>(offset)};
      places.emplace_back(bucket_of(hash), place);
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  bucket_.assign((std::size_t{1} << kBucketBits) + 1, 0);
  for (const auto& [bucket, place] : places) {
    ++bucket_[bucket + 1];
    places_.push_back(place);
  }
  for (std::size_t i = 1; i < bucket_.size(); ++i) bucket_[i] += bucket_[i - 1];
}

void Sampler::check(std::string_view text, std::size_t at, std::uint32_t bucket,
                    std::vector<Hit>& hits) const {
  const bool is_inside = at >= kWidest && at + kWidest <= text.size();
  const Place* const end = places_.data() + bucket_[bucket + 1];
  for (const Place* it = places_.data() + bucket_[bucket]; it != end; ++it) {
    const Place& place = *it;
    const std::size_t window = at - place.in_window;  // wraps only where the next test sees it
    if (is_inside && (word_at(text.data() + window, kWidest) & window_mask_) != place.window) {
      continue;
    }
    const std::string& literal = literals_[static_cast<std::size_t>(place.literal)];
    const std::size_t before = std::size_t{place.in_window} + place.in_literal;
    if (before > at || at - before + literal.size() > text.size()) continue;
    if (equal_folded(text.data() + (at - before), literal.data(), literal.size()))
      hits.push_back({at, place.literal});
  }
}

void Sampler::check_four(std::string_view text, std::size_t at, std::vector<Hit>& hits) const {
  std::uint64_t hashes[4];
  unsigned which = 0;
  for (unsigned i = 0; i < 4; ++i) {
    hashes[i] = hash_at(text.data() + at + i * stride_);
    which |= static_cast<unsigned>(seen(unset_.data(), hashes[i])) << i;
  }
  for (; which != 0; which &= which - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(which));
    check(text, at + i * stride_, bucket_of(hashes[i]), hits);
  }
}

void Sampler::find(std::string_view text, std::vector<Hit>& hits) const {
  if (literals_.empty()) return;
  const std::uint64_t* const unset = unset_.data();
  const std::size_t stride = stride_;
  const char* at = text.data();
  const char* const end = at + text.size();
  if (text.size() >= 3 * stride + sizeof(std::uint64_t)) {
    // Nearly always none of the four is of interest. Where one is, it is hashed again: to remember
    // the hashes would take registers from this loop.
    const char* const last = end - 3 * stride - sizeof(std::uint64_t);
    for (; at <= last; at += 4 * stride) {
      if (seen(unset, hash_at(at)) || seen(unset, hash_at(at + stride)) ||
          seen(unset, hash_at(at + 2 * stride)) || seen(unset, hash_at(at + 3 * stride))) {
        check_four(text, static_cast<std::size_t>(at - text.data()), hits);
      }
    }
  }
  for (auto rest = static_cast<std::size_t>(at - text.data()); rest + kGram <= text.size();
       rest += stride) {
    const std::uint64_t hash = hash_at_end(text.data() + rest);
    if (seen(unset, hash)) check(text, rest, bucket_of(hash), hits);
  }
}

}  // namespace collwatch::match
