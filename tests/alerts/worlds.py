#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Worlds of two to eight agents told to configs/alerts.yml by promtool: who says what from when to
# when, who cannot be scraped, and exactly which alerts fire at which time, labels included. The
# single alerts have files of their own beside this one; here is what an incident looks like as a
# whole. Usage: worlds.py [NAME]...; exit 1 when a world failed, 77 when promtool is missing.
import json
import os
import shutil
import subprocess
import sys
import tempfile

from world import INIT, LOST, TIMEOUT, VERSION, World


def page(entity, kind="node", fingerprint=TIMEOUT):
    return fingerprint, kind, entity, "page"


def down_ticket(agent):
    return "AgentDown", "node", agent, "ticket"


def dead_node(agents, cluster="blue"):
    """One node dies for all others and for Prometheus; later it is mended."""
    world = World(f"dead node of {agents} in cluster '{cluster}'", agents, cluster=cluster)
    rest = world.others("n1")
    world.down("n1", 50, 150)
    world.says(rest, "node", "n1", 55, 165, reason="host_stall")
    world.sees(rest, TIMEOUT, 55, 165)
    world.fires(50)
    world.fires(60, page("n1"))
    world.fires(120, page("n1"), down_ticket("n1"))  # the ticket is Alertmanager's to inhibit
    world.fires(160, page("n1"))
    world.fires(165)
    world.fires(300)
    return world


def isolated_but_scraped(agents):
    """The network of the collectives is cut, the one Prometheus uses is not."""
    world = World(f"isolated node of {agents} that still answers", agents)
    world.says(world.others("n0"), "node", "n0", 50)
    world.says(["n0"], "self", "n0", 50, reason="isolated")
    world.sees(world.agents, TIMEOUT, 50)
    world.fires(50, page("n0"))
    world.fires(300, page("n0"))
    return world


def link(agents, scraped_ends):
    """The way between two nodes is cut; the others only hear of it."""
    world = World(f"link of {agents}, {scraped_ends} ends scraped", agents)
    if scraped_ends == 1:
        world.down("n1", 0)
    world.says(["n0", "n1"], "link", "n0<->n1", 50)
    world.says(world.others("n0", "n1"), "link", "n0<->n1", 50, view="heard")
    world.sees(["n0", "n1"], TIMEOUT, 50)
    tickets = [down_ticket("n1:9781")] if scraped_ends == 1 else []
    world.fires(45, *tickets)
    world.fires(50, page("n0<->n1", "link"), *tickets)
    world.fires(300, page("n0<->n1", "link"), *tickets)
    return world


def direction(entity):
    """A directed link, then the link as a whole, then the other direction: one and the same page."""
    world = World(f"directed link {entity}", 4)
    ends = entity.split("->")
    whole = "<->".join(sorted(ends))
    world.says(ends, "directed_link", entity, 50, 80)
    world.says(ends, "link", whole, 80, 110)
    world.says(ends, "directed_link", "->".join(reversed(ends)), 110, 140)
    world.sees(ends, TIMEOUT, 50, 140)
    for time in range(50, 140, 5):
        world.fires(time, page(whole, "link"))
    world.fires(140)
    world.fires(300)
    return world


def both_directions_at_once():
    world = World("both directions of a link, and both of a node, at one agent", 4)
    for entity in ("n1->n0", "n0->n1"):
        world.says(["n0", "n1"], "directed_link", entity, 50)
    for kind in ("node_egress", "node_ingress", "node"):
        world.says(["n0", "n1", "n2"], kind, "n3", 50)
    world.fires(50, page("n0<->n1", "link"), page("n3"))
    return world


def egress():
    """Peers differ: some say the node, some its egress; so does the node itself."""
    world = World("egress of a node", 8)
    world.says(["n0", "n1", "n3"], "node_egress", "n2", 50)
    world.says(["n4", "n5", "n6", "n7"], "node", "n2", 50)
    world.says(["n2"], "node_egress", "n2", 50)
    world.sees(world.agents, TIMEOUT, 50)
    for time in range(50, 300, 25):
        world.fires(time, page("n2"))
    return world


def fingerprints_differ():
    """Half of the peers saw a reset, half a timeout, and they change their minds: one page."""
    world = World("peers differ about the fingerprint", 8)
    world.says(["n0", "n1"], "node", "n2", 50, fingerprint=LOST, reason="agent_down")
    world.says(["n3", "n4", "n5"], "node", "n2", 55)
    world.says(["n6", "n7"], "node", "n2", 60, 100)
    world.sees(["n0", "n1"], LOST, 50)
    world.sees(["n3", "n4", "n5", "n6", "n7"], TIMEOUT, 50)
    for time in range(50, 300, 10):
        world.fires(time, page("n2", fingerprint=LOST))
    return world


def clears_unevenly():
    """Agents clear within a few scrapes of each other, one scrape fails in between: no second page."""
    world = World("agents clear one after the other", 4, 400)
    world.says(["n0"], "node", "n2", 50, 150)
    world.says(["n1"], "node", "n2", 50, 155)
    world.says(["n3"], "node", "n2", 50, 160)
    world.sees(["n0", "n1", "n3"], TIMEOUT, 50, 160)
    world.down("n1", 100, 105)
    world.down("n3", 100, 110)
    for time in range(50, 160, 5):
        world.fires(time, page("n2"))
    for time in range(160, 400, 5):
        world.fires(time)
    return world


def link_beside_node():
    """One agent has not heard enough and blames its own link: still one page."""
    world = World("link page beside the node page", 4)
    world.says(["n0", "n1"], "node", "n2", 50)
    world.says(["n3"], "link", "n2<->n3", 50)
    world.says(["n3"], "link", "n0<->n3", 200)  # another incident
    world.sees(["n0", "n1", "n3"], TIMEOUT, 50)
    world.fires(50, page("n2"))
    world.fires(195, page("n2"))
    world.fires(200, page("n2"), page("n0<->n3", "link"))
    return world


def lone_accuser():
    """One agent of eight is sure, another suspects, six find all well: nobody is named."""
    world = World("lone accuser", 8)
    world.says(["n5"], "node", "n2", 50)
    world.says(["n6"], "node", "n2", 50, state="suspect")
    world.sees(["n5"], TIMEOUT, 50)
    world.fires(55)
    world.fires(60, page("blue", "collective"))
    world.fires(300, page("blue", "collective"))
    return world


def suspects_only():
    """A worker that its own agent restarts: suspected, seen by tier B, over in half a minute."""
    world = World("a worker is restarted", 4, 400)
    world.says(world.others("n2"), "node", "n2", 50, 75, state="suspect", fingerprint=LOST,
               reason="worker_crash")
    world.sees(world.agents, LOST, 50, 85)
    world.sees(world.agents, TIMEOUT, 60, 105)  # tier B comes round later than the edges
    for time in range(0, 400, 5):
        world.fires(time)
    return world


def suspected_for_long():
    """Suspected for minutes and never enough to page: a ticket for the cluster."""
    world = World("suspected for minutes", 4)
    world.says(["n0"], "link", "n0<->n1", 50, state="suspect")
    world.sees(["n0"], TIMEOUT, 50)
    world.fires(105)
    world.fires(110, (TIMEOUT, "collective", "blue", "ticket"))
    return world


def nobody_named():
    """Collectives fail, every edge is fine: the cluster; until a culprit is found."""
    world = World("collectives fail, nobody is named", 8)
    world.sees(world.agents, TIMEOUT, 50, 200)
    world.says(world.others("n2"), "node", "n2", 150, 200)
    world.fires(55)
    world.fires(60, page("blue", "collective"))
    world.fires(145, page("blue", "collective"))
    world.fires(150, page("n2"))
    world.fires(200)
    return world


def nobody_named_in_unnamed_cluster():
    world = World("no cluster label", 3, cluster="")
    world.sees(["n1"], INIT, 50)
    world.fires(60, page("default", "collective", INIT))
    return world


def collateral_class():
    """A node dies of peer_lost; tier B of the others times out for as long: one page."""
    world = World("the symptom has another fingerprint", 4, 400)
    world.down("n2", 50)
    world.says(["n0", "n1", "n3"], "node", "n2", 50, 300, fingerprint=LOST, reason="agent_down")
    world.sees(["n0", "n1", "n3"], LOST, 50, 300)
    world.sees(["n0", "n1", "n3"], TIMEOUT, 50, 340)
    world.fires(50, page("n2", fingerprint=LOST))
    for time in range(85, 300, 5):
        world.fires(time, page("n2", fingerprint=LOST), down_ticket("n2"))
    for time in range(300, 400, 5):
        world.fires(time, down_ticket("n2"))
    return world


def two_members(scraped):
    """With two nobody can say whose end it is: a link. A refused connection proves itself."""
    world = World(f"two members, {scraped} scraped", 2)
    if scraped == 1:
        world.down("n1", 50)
    world.says(["n0", "n1"], "link", "n0<->n1", 50, 200)
    world.says(["n0"], "node", "n1", 250, fingerprint=LOST, reason="refused")
    ticket = [down_ticket("n1")] if scraped == 1 else []
    world.fires(50, page("n0<->n1", "link"))
    world.fires(195, page("n0<->n1", "link"), *ticket)
    world.fires(200, *ticket)
    world.fires(250, page("n1", fingerprint=LOST), *ticket)
    return world


def partition():
    """Both sides name the minority; Prometheus reaches one side only."""
    world = World("partition", 4)
    for agent in ("n2", "n3"):
        world.down(agent, 50)
    world.says(world.agents, "partition", "n2,n3", 55)
    world.sees(world.agents, TIMEOUT, 55)
    world.fires(55, page("n2,n3", "partition"))
    world.fires(200, page("n2,n3", "partition"), down_ticket("n2"), down_ticket("n3"))
    return world


def wrong_version():
    """The odd one finds all others odd; only it gets the ticket, and nobody a page."""
    world = World("version mismatch", 4)
    how = dict(state="ticket", fingerprint=VERSION, reason="version_mismatch")
    world.says(["n0", "n1", "n3"], "misconfig", "n2", 50, **how)
    for other in ("n0", "n1", "n3"):
        world.says(["n2"], "misconfig", other, 50, **how)
    world.sees(world.agents, VERSION, 50)
    for time in range(50, 300, 10):
        world.fires(time, (VERSION, "misconfig", "n2", "ticket"))
    return world


def ticket_becomes_page():
    world = World("a ticket becomes a page", 4)
    world.says(["n0", "n1", "n3"], "node", "n2", 50, 150, state="ticket")
    world.says(["n0", "n1"], "node", "n2", 150)
    world.says(["n3"], "node", "n2", 150, state="ticket")
    world.fires(50, (TIMEOUT, "node", "n2", "ticket"))
    world.fires(145, (TIMEOUT, "node", "n2", "ticket"))
    world.fires(150, page("n2"))
    world.fires(300, page("n2"))
    return world


def quiet(agents):
    world = World(f"nothing happens to {agents}", agents)
    world.sees(world.agents, TIMEOUT, 1000)  # there, and 0
    world.says(["n0"], "self", "n0", 100, 200, reason="isolated", state="page")
    world.says(world.agents, "node", "n1", 100, 150, view="heard")
    for time in range(0, 300, 5):
        world.fires(time)
    return world


def never_joined():
    world = World("a member never joins", 4)
    world.down("n3", 0)
    world.says(["n0", "n1", "n2"], "node", "n3", 60, fingerprint=INIT, reason="never_joined")
    world.sees(["n0", "n1", "n2"], INIT, 60)
    world.fires(60, page("n3", fingerprint=INIT), down_ticket("n3:9781"))
    return world


def worlds():
    yield from (dead_node(n) for n in range(3, 9))
    yield dead_node(4, cluster="")
    yield from (isolated_but_scraped(n) for n in range(3, 9))
    yield from (link(n, ends) for n in range(2, 9) for ends in (1, 2))
    yield from (quiet(n) for n in (2, 5, 8))
    yield from (direction(entity) for entity in ("n1->n3", "n3->n1"))
    yield from (two_members(scraped) for scraped in (1, 2))
    for world in (both_directions_at_once, egress, fingerprints_differ, clears_unevenly,
                  link_beside_node, lone_accuser, suspects_only, suspected_for_long, nobody_named,
                  nobody_named_in_unnamed_cluster, collateral_class, partition, wrong_version,
                  ticket_becomes_page, never_joined):
        yield world()


def main():
    if shutil.which("promtool") is None:
        print("SKIPPED: promtool is not installed (package prometheus, or promtool)")
        return 77
    chosen = [w for w in worlds() if not sys.argv[1:] or any(a in w.name for a in sys.argv[1:])]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="collwatch-worlds-") as folder:
        for world in chosen:
            path = os.path.join(folder, "world.yml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(world.test(), file)  # JSON is YAML
            done = subprocess.run(["promtool", "test", "rules", path], capture_output=True,
                                  text=True, check=False)
            print(f"{'ok    ' if done.returncode == 0 else 'FAILED'} {world.name}")
            if done.returncode != 0:
                failed += 1
                print(done.stdout + done.stderr)
    print(f"{len(chosen) - failed} of {len(chosen)} worlds as expected")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
