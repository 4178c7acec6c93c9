# SPDX-License-Identifier: Apache-2.0
#
# A world for promtool: so many agents, what each says from when to when, when it cannot be scraped,
# and which alerts must fire at which time. test() writes it down as promtool reads it. Used by
# worlds.py.
import os

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs",
                     "alerts.yml")
STEP = 5  # seconds between scrapes and between evaluations
TIMEOUT, LOST, INIT, VERSION = ("gloo_collective_timeout", "gloo_peer_lost", "gloo_init_failed",
                                "version_mismatch")
ALERT = {TIMEOUT: "GlooCollectiveTimeout", LOST: "GlooPeerLost", INIT: "GlooInitFailed",
         VERSION: "VersionMismatch"}


class World:
    def __init__(self, name, agents, seconds=300, cluster="blue"):
        self.name, self.steps, self.cluster = name, seconds // STEP, cluster
        self.agents = [f"n{i}" for i in range(agents)]
        self.series = {}
        self.outages = {agent: [] for agent in self.agents}
        self.expected = {}

    def down(self, agent, start, end=None):
        """Cannot be scraped: up is 0 and everything else of it goes stale."""
        self.outages[agent].append((start, end))

    def says(self, agents, kind, entity, start, end=None, state="page", fingerprint=TIMEOUT,
             reason="unreachable", view="direct"):
        for agent in agents:
            labels = dict(kind=kind, entity=entity, reason=reason, fingerprint=fingerprint,
                          state=state, view=view)
            self._add("collwatch_suspect", agent, labels, start, end)
            if kind == "directed_link":
                link = "<->".join(sorted(entity.split("->")))
                self._add("collwatch_suspect_link_info", agent, dict(entity=entity, link=link),
                          start, end)

    def sees(self, agents, fingerprint, start, end=None):
        for agent in agents:
            self._add("collwatch_fingerprint_active", agent, dict(fingerprint=fingerprint), start,
                      end)

    def fires(self, time, *alerts):
        """Exactly these: (fingerprint or alert name, kind, entity, severity)."""
        self.expected[time] = [(ALERT.get(a[0], a[0]),) + a[1:] for a in alerts]

    def others(self, *without):
        return [agent for agent in self.agents if agent not in without]

    def _add(self, metric, agent, labels, start, end):
        key = (metric, agent, tuple(sorted(labels.items())))
        self.series.setdefault(key, []).append((start, end))

    def _at(self, spans, time):
        return any(start <= time and (end is None or time < end) for start, end in spans)

    def _values(self, agent, value):
        """value(time) with gaps where the agent is down; a gap begins with a stale marker."""
        out, there = [], False
        for step in range(self.steps + 1):
            now = None if self._at(self.outages[agent], step * STEP) else value(step * STEP)
            out.append(str(now) if now is not None else "stale" if there else "_")
            there = now is not None
        return " ".join(out)

    def _line(self, metric, agent, labels, values):
        pairs = dict(job="collwatch", instance=f"{agent}:9781", **labels)
        text = ",".join(f'{key}="{value}"' for key, value in pairs.items())
        return {"series": f"{metric}{{{text}}}", "values": values}

    def test(self):
        lines = []
        for agent in self.agents:
            up = ["0" if self._at(self.outages[agent], step * STEP) else "1"
                  for step in range(self.steps + 1)]
            lines.append(self._line("up", agent, {}, " ".join(up)))
            lines.append(self._line("collwatch_node_info", agent,
                                    dict(node=agent, cluster=self.cluster),
                                    self._values(agent, lambda _: 1)))
            lines.append(self._line("collwatch_round_age_seconds", agent, {},
                                    self._values(agent, lambda _: 0.5)))
        for (metric, agent, labels), spans in self.series.items():
            absent = 0 if metric == "collwatch_fingerprint_active" else None
            lines.append(self._line(
                metric, agent, dict(labels),
                self._values(agent, lambda t, s=spans, a=absent: 1 if self._at(s, t) else a)))
        checks = []
        for time, alerts in sorted(self.expected.items()):
            samples = [{"labels": f'ALERTS{{alertname="{name}",alertstate="firing",kind="{kind}",'
                                  f'entity="{entity}",severity="{severity}"}}', "value": 1}
                       for name, kind, entity, severity in alerts]
            checks.append({"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{time}s",
                           "exp_samples": samples})
        return {"rule_files": [os.path.realpath(RULES)], "evaluation_interval": f"{STEP}s",
                "tests": [{"interval": f"{STEP}s", "input_series": lines,
                           "promql_expr_test": checks}]}
