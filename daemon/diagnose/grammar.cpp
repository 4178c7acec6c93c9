// SPDX-License-Identifier: Apache-2.0
//
// The expressions. Each has a literal of at least eight characters, for the prefilter's sake.
#include "daemon/diagnose/grammar.h"

#include <iterator>

namespace collwatch::diagnose {

namespace {

const Rule kRules[] = {
    // Python and C++ end of a process.
    {"traceback", Mark::traceback, R"(Traceback \(most recent call last\):)"},
    {"frame", Mark::frame, R"(^ *File "[^"]+", line \d+, in )"},
    {"chained", Mark::chained,
     R"(During handling of the above exception, another exception occurred|The above exception was the direct cause of the following)"},
    {"spawned", Mark::spawned,
     R"(^-- Process (?P<local_rank>\d+) terminated with the following error)"},
    {"abort", Mark::abort, R"(terminate called after throwing an instance of)"},

    // Elastic's report and its one-line form.
    {"report-host", Mark::report_host, R"(^ {2,}host {6}: (?P<host>\S+))"},
    {"report-rank", Mark::report_rank,
     R"(^ *rank +: (?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\))"},
    {"report-exit", Mark::report_exit, R"(^ *exitcode +: (?P<code>-?\d+) \(pid: (?P<pid>\d+)\))"},
    {"elastic-failed", Mark::exited,
     R"(failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: (?P<pid>\d+)\))"},
    {"elastic-signal", Mark::exited,
     R"(Signal (?P<signal>\d+) \(SIG\w+\) received by PID (?P<pid>\d+))"},
    {"elastic-restart", Mark::restart, R"(attempts left; will restart worker group)"},
    {"elastic-sigterm", Mark::terminated, R"(Sending process (?P<pid>\d+) closing signal)"},

    // Schedulers and other launchers.
    {"srun-exit", Mark::exited,
     R"(srun: error: (?P<host>\S+): tasks? (?P<tasks>[\d,\-\[\]]+): Exited with exit code (?P<code>\d+))"},
    {"srun-signal", Mark::exited,
     R"(srun: error: (?P<host>\S+): tasks? (?P<tasks>[\d,\-\[\]]+): (?P<end>Killed|Aborted|Segmentation fault|Bus error|Terminated|Out Of Memory))"},
    {"mpi-signal", Mark::exited,
     R"(noticed that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal>\d+))"},
    {"mpi-abort", Mark::exited,
     R"(MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator .* with errorcode (?P<code>\d+))"},
    {"lightning-exit", Mark::exited,
     R"(\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with code (?P<code>-?\d+))"},
    {"spawn-signal", Mark::exited,
     R"(process (?P<local_rank>\d+) terminated with (?:signal (?P<end>SIG\w+)|exit code (?P<code>-?\d+)))"},

    // Who is to blame, in so many words.
    {"barrier-named", Mark::fields,
     R"(Ranks? (?P<culprit>[\d, ]+) failed to pass monitoredBarrier)"},
    {"barrier-timeout", Mark::fields,
     R"(Rank (?P<culprit>\d+) timed out in monitoredBarrier after)"},
    {"barrier-innocent", Mark::fields,
     R"(Rank (?P<innocent>\d+) successfully reached monitoredBarrier)"},
    {"barrier-ask", Mark::fields, R"(Please check rank (?P<ask>\d+) logs for faulty rank)"},
    {"mismatch-pair", Mark::fields,
     R"(Detected mismatch between collectives on ranks\. Rank (?P<rank_a>\d+) is running (?:inconsistent )?collective: CollectiveFingerPrint\((?P<print_a>.*?)\), but Rank (?P<rank_b>\d+) is running collective: CollectiveFingerPrint\((?P<print_b>.*?)\)(?:\.|$))"},
    {"mismatch", Mark::fields,
     R"(Detected mismatch between collectives on ranks\. Rank (?P<rank_a>\d+) is running (?:inconsistent )?collective: CollectiveFingerPrint\((?P<print_a>.*?)\)(?:\.|$))"},
    {"lagging", Mark::fields,
     R"(ranks \[(?P<culprit>[\d, ]+)\] are the lagging ranks that caused this timeout)"},
    {"lagging-list", Mark::fields,
     R"(\[(?P<culprit>[\d, ]+)\] (?:joined but didn't finish|finished) collective #(?P<seq>\d+))"},
    {"remote-error", Mark::fields, R"(remote error detected from rank:? +(?P<culprit>\d+))"},
    {"flight-culprit", Mark::fields, R"(Culprit rank (?P<culprit>\d+); Error type)"},
    {"ddp-sizes", Mark::fields,
     R"(\[(?P<culprit>\d+)\]: params\[\d+\] in this process with sizes)"},
    {"join-exhausted", Mark::fields, R"(Rank (?P<culprit>\d+) exhausted all inputs)"},
    {"desync-timeout", Mark::fields,
     R"(\[(?P<observer>\d+)\] Timeout at collective: (?P<op>\w+), #(?P<seq>\d+))"},
    {"dump-signal", Mark::fields,
     R"(dump signal (?:due to a collective timeout )?from +rank (?P<observer>\d+))"},
    {"duplicate-gpu", Mark::fields,
     R"(Duplicate GPU detected ?: rank (?P<rank_a>\d+) and rank (?P<rank_b>\d+) both on CUDA device)"},

    // Who is missing.
    {"horovod-missing", Mark::list, R"(^Missing ranks: *$)"},
    {"missing-ranks", Mark::fields, R"(missing_ranks=\[(?P<missing>[\d, ]+)\])"},
    {"missing-flight", Mark::fields, R"(missing ranks: \{?\[?(?P<missing>[\d, ]+))"},
    {"missing-dumps", Mark::fields, R"(Missing dump files from ranks \{?\[?(?P<missing>[\d, ]+))"},
    {"not-connected", Mark::fields, R"(is NOT connected to: \[(?P<missing>[\d, ]+)\])"},
    {"clients-joined", Mark::fields,
     R"(waiting for clients\. (?P<joined>\d+)/(?P<expected>\d+) clients joined)"},
    {"barrier-count", Mark::fields,
     R"(\(world_size=(?P<expected>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+))"},
    {"store-key", Mark::fields,
     R"((?:keys?: |key: |\[)(?P<key>/?default_pg/\S*?(?:/rank_|//cpu//\d+/)(?P<missing>\d+))\b)"},
    {"unique-id-key", Mark::fields,
     R"(keys?: (?P<key>/?default_pg/\S*?//cuda//(?P<p2p>\d+:\d+|\d+))\b)"},

    // Directions, addresses, positions.
    {"gloo-direction", Mark::fields,
     R"(Timed out waiting (?P<timeout_ms>\d+)ms for (?P<direction>recv|send) operation to complete)"},
    {"gloo-size", Mark::fields,
     R"(op\.preamble\.length <= op\.nbytes\. (?P<got>\d+) vs (?P<want>\d+))"},
    {"gloo-peer", Mark::fields,
     R"((?:Connection closed by peer \[|Read error \[|Read timeout \[|Write timeout \[|writev \[|Socket closed \[|Connect timeout \[|connect \[|remote=\[)(?P<peer_ip>[0-9a-fA-F:.]+)\]:(?P<peer_port>\d+))"},
    {"gloo-rank-size", Mark::fields, R"(rank < size\. (?P<own_rank>\d+) vs (?P<expected>\d+))"},
    {"gloo-interface", Mark::fields, R"(Unable to find address for: (?P<interface>\S+))"},
    {"nccl-work", Mark::fields,
     R"(WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+), (?:TensorShape=\[(?P<size>[\d, ]*)\]|NumelIn=(?P<size_in>\d+), NumelOut=(?P<size_out>\d+)), Timeout\(ms\)=(?P<timeout_ms>\d+)\))"},
    {"nccl-position", Mark::fields,
     R"(last enqueued (?:NCCL )?work: (?P<last_enqueued>-?\d+), last completed (?:NCCL )?work: (?P<last_completed>-?\d+))"},
    {"nccl-group", Mark::beside,
     R"(\[PG (?:ID )?(?P<group>\S+)(?: PG GUID [^\]]*?)?(?: ?\([^)]*\))? Rank (?P<group_rank>\d+)\])"},
    {"store-target", Mark::fields,
     R"(trying to connect to \(?(?P<store_host>[^,\s)]+)(?:, |:)(?P<store_port>\d+))"},
    {"store-network", Mark::fields,
     R"(connect to any network address of \((?P<store_host>[^,]+), (?P<store_port>\d+)\))"},

    // The kernel about processes.
    {"oom-killed", Mark::fields, R"(Killed process (?P<pid>\d+),? \(?(?P<program>[^)\s]+))"},
    {"xid", Mark::fields,
     R"(NVRM: Xid \((?P<device>[^)]*)\): (?P<xid>\d+)(?:, pid='?(?P<pid>\d+))?)"},

    // World size.
    {"world-size", Mark::world,
     R"((?:world_size|WORLD_SIZE|world size)["']?\s?[=:]\s?(?P<expected>\d+))"},
    {"world-barrier", Mark::world,
     R"(Completed store-based barrier for .* with (?P<expected>\d+) nodes)"},
};

}  // namespace

const std::vector<Rule>& grammar() {
  static const std::vector<Rule> rules(std::begin(kRules), std::end(kRules));
  return rules;
}

}  // namespace collwatch::diagnose
