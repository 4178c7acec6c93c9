// SPDX-License-Identifier: Apache-2.0
//
// From the judgement to what people read: the culprit's details, collateral ranks, what to fetch
// next, the catalogue's advice with the actual values filled in. Used by Engine; pure.
#pragma once

#include "daemon/catalogue/catalogue.h"
#include "daemon/diagnose/diagnosis.h"
#include "daemon/diagnose/job.h"

namespace collwatch::diagnose {

Diagnosis conclude(const Job& job, const catalogue::Catalogue& catalogue);

enum class Filling { sentence, command };

/// Replaces {rank}, {host}, {peer}, ... by values; a value that is not known becomes a readable
/// word. So does, in a command, a value that a shell would take for more than a word; the name of a
/// file is quoted instead.
std::string fill(const std::string& text, const std::map<std::string, std::string>& values,
                 Filling filling = Filling::sentence);

}  // namespace collwatch::diagnose
