# SPDX-License-Identifier: Apache-2.0
#
# What documents, alerts and schemas say must exist in the code: metrics, fingerprints, alerts and
# their runbooks, files that are linked to. One grep from an alert must land everywhere.
import json
import os
import re

from tree import numbered

VOCABULARY = "probes/model/vocabulary.h"
METRIC_TABLE = "exporters/prometheus/metric_table.h"
ALERTS = "configs/alerts.yml"
RUNBOOKS = "docs/runbooks/"
OTHER_ALERTS = {"AgentDown", "ProbeStale", "WatcherDown"}
METRIC = re.compile(r"\bcollwatch_[a-z0-9][a-z0-9_]*")
SUFFIXES = ("_bucket", "_sum", "_count")


def names_of(tree, enum):
    table = re.search(rf"COLLWATCH_NAMES\({enum},(.*?)\);", tree.text(VOCABULARY), re.S)
    return set(re.findall(r'"([a-z0-9_]+)"', table.group(1))) if table else set()


def all_names(tree):
    return set(re.findall(r'"([a-z0-9_]+)"', tree.text(VOCABULARY)))


def documents(tree):
    yield from tree.matching(".md")
    yield from tree.matching(".yml", ".yaml", ".json", under=("configs/", "deploy/", "docs/"))


def check_metrics(tree):
    metrics = set(re.findall(r'"(collwatch_[a-z0-9_]+)"', tree.text(METRIC_TABLE)))
    known = set(metrics)
    for metric in metrics:
        known.update(metric + suffix for suffix in SUFFIXES)
    # Targets and functions of the build carry the same prefix.
    for _, text in tree.matching("CMakeLists.txt", ".cmake"):
        known.update(re.findall(r"(?:library|executable|target|function)\(\s*(collwatch_[a-z0-9_]+)", text))
    complaints = []
    for path, text in documents(tree):
        for number, line in numbered(text):
            for name in METRIC.findall(line):
                if name not in known:
                    complaints.append(f"{path}:{number}: there is no metric {name}")
    if "docs/metrics.md" in tree.files:
        told = set(METRIC.findall(tree.text("docs/metrics.md")))
        for metric in sorted(metrics - told):
            complaints.append(f"docs/metrics.md:1: does not describe {metric}")
    return complaints


def lists_in(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from lists_in(item)
    elif isinstance(value, list):
        yield value
        for item in value:
            yield from lists_in(item)


def check_fingerprints(tree):
    fingerprints = names_of(tree, "Fingerprint")
    known = all_names(tree)
    complaints = []
    for path, text in documents(tree):
        for number, line in numbered(text):
            for values in re.findall(r'fingerprint\s*(?:=~|=|!=|:)\s*"([a-z0-9_|]+)"', line):
                for value in values.split("|"):
                    if value not in fingerprints:
                        complaints.append(f"{path}:{number}: there is no fingerprint {value}")
            if path.endswith(".md"):
                for value in re.findall(r"`((?:gloo|nccl|cuda|store)_[a-z0-9_]+)`", line):
                    if value not in known:
                        complaints.append(f"{path}:{number}: there is no fingerprint {value}")
    for path, text in tree.matching(".json", under=("docs/schema/",)):
        try:
            schema = json.loads(text)
        except ValueError as error:
            complaints.append(f"{path}:1: {error}")
            continue
        for values in lists_in(schema):
            strings = {value for value in values if isinstance(value, str)}
            if "gloo_peer_lost" in strings and strings != fingerprints:
                odd = ", ".join(sorted(strings ^ fingerprints))
                complaints.append(f"{path}:1: its list of fingerprints differs by: {odd}")
    return complaints


def check_alerts(tree):
    complaints = []
    from_ids = {"".join(part.capitalize() for part in name.split("_"))
                for name in names_of(tree, "Fingerprint")}
    alerts = {}
    for path, text in tree.matching(".yml", under=(ALERTS,)):
        for number, line in numbered(text):
            found = re.match(r"\s*-?\s*alert:\s*['\"]?(\w+)", line)
            if found:
                alerts[found.group(1)] = f"{path}:{number}"
    for alert, place in alerts.items():
        if alert not in from_ids | OTHER_ALERTS:
            complaints.append(f"{place}: {alert} is named after no fingerprint")
        if f"{RUNBOOKS}{alert}.md" not in tree.files:
            complaints.append(f"{place}: {alert} has no {RUNBOOKS}{alert}.md")
    for path, _ in tree.matching(".md", under=(RUNBOOKS,)):
        name = os.path.basename(path)[:-len(".md")]
        if name != "README" and name not in alerts:
            complaints.append(f"{path}:1: there is no alert {name} in {ALERTS}")
    return complaints


def check_links(tree):
    complaints = []
    for path, text in tree.matching(".md"):
        for number, line in numbered(text):
            for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                place = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if not os.path.exists(os.path.join(tree.root, place)):
                    complaints.append(f"{path}:{number}: links to {target}, which is not there")
    return complaints
