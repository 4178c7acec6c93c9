// SPDX-License-Identifier: Apache-2.0
//
// The sampled search, and which part of a literal is worth searching for.
#include "daemon/match/sampler.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "probes/model/result.h"

namespace collwatch::match {
namespace {

constexpr int kTableBits = 18;
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
    "world rendezvous backend gloo nccl_debug cuda_visible_devices collective collectives";

constexpr std::uint64_t kGramMask = (std::uint64_t{1} << (8 * Sampler::kGram)) - 1;

std::uint64_t gram_of(std::uint64_t word) {
  return (word | kFold64) & kGramMask;
}

/// From kGram bytes; slow, since it is put together from parts.
std::uint64_t gram_at(const char* text) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, Sampler::kGram);
  return gram_of(word);
}

std::uint32_t slot_of(std::uint64_t gram) {
  return static_cast<std::uint32_t>((gram * 0x9E3779B97F4A7C15ULL) >> (64 - kTableBits));
}

std::uint32_t bucket_of(std::uint32_t slot) {
  return slot >> (kTableBits - kBucketBits);
}

/// Up to kWidest bytes, folded.
std::uint64_t word_at(const char* text, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, size);
  return word | kFold64;
}

/// How often a gram occurs in ordinary text.
int commonness(const char* gram) {
  static const auto counts = [] {
    std::unordered_map<std::uint64_t, int> counted;
    for (std::size_t at = 0; at + Sampler::kGram <= kOrdinary.size(); ++at) {
      ++counted[gram_at(kOrdinary.data() + at)];
    }
    return counted;
  }();
  const auto it = counts.find(gram_at(gram));
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

/// Where the window of `width` bytes begins whose grams ordinary text holds least.
std::size_t rarest_window(const std::string& literal, std::size_t width) {
  std::size_t best = 0;
  double best_score = -1e9;
  for (std::size_t at = 0; at + width <= literal.size(); ++at) {
    const double score = rarity(std::string_view(literal).substr(at, width));
    if (score > best_score) {
      best_score = score;
      best = at;
    }
  }
  return best;
}

}  // namespace

bool equal_folded(const char* a, const char* b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
  }
  return true;
}

double rarity(std::string_view part) {
  double score = 0;
  for (const char c : part) score += surprise(c);
  for (std::size_t at = 0; at + Sampler::kGram <= part.size(); ++at) {
    const int count = commonness(part.data() + at);
    if (count > 0) score -= std::min(12.0, 4.0 + 2.0 * count);
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
  table_.resize((std::size_t{1} << kTableBits) / 64);
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    COLLWATCH_ASSERT(literals_[i].size() <= kLongest);
    const std::size_t start = rarest_window(literals_[i], width);
    const char* const window = literals_[i].data() + start;
    for (std::size_t offset = 0; offset < stride_; ++offset) {
      const std::uint32_t slot = slot_of(gram_at(window + offset));
      table_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      places_.push_back({word_at(window, width) & window_mask_, bucket_of(slot),
                         static_cast<std::uint8_t>(offset), static_cast<std::uint16_t>(start),
                         static_cast<int>(i)});
    }
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return a.bucket != b.bucket ? a.bucket < b.bucket : a.literal < b.literal;
  });
  bucket_.assign((std::size_t{1} << kBucketBits) + 1, 0);
  for (const Place& place : places_) ++bucket_[place.bucket + 1];
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

void Sampler::find(std::string_view text, std::vector<Hit>& hits) const {
  if (literals_.empty()) return;
  const std::uint64_t* const table = table_.data();
  const char* const data = text.data();
  const std::size_t stride = stride_;
  const auto slot_at = [data](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof word);
    return slot_of(gram_of(word));
  };
  const auto bit = [table](std::uint32_t slot) { return table[slot / 64] >> (slot % 64); };
  std::size_t at = 0;
  // Four positions to a branch: nearly always none of them is of interest.
  for (; at + 3 * stride + sizeof(std::uint64_t) <= text.size(); at += 4 * stride) {
    const std::uint32_t slots[4] = {slot_at(at), slot_at(at + stride), slot_at(at + 2 * stride),
                                    slot_at(at + 3 * stride)};
    if (((bit(slots[0]) | bit(slots[1]) | bit(slots[2]) | bit(slots[3])) & 1U) == 0) continue;
    for (std::size_t i = 0; i < 4; ++i) {
      if ((bit(slots[i]) & 1U) != 0) check(text, at + i * stride, bucket_of(slots[i]), hits);
    }
  }
  for (; at + kGram <= text.size(); at += stride) {
    const std::uint32_t slot = slot_of(gram_at(data + at));
    if ((bit(slot) & 1U) != 0) check(text, at, bucket_of(slot), hits);
  }
}

}  // namespace collwatch::match
