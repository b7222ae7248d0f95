"""What an empty instruction costs; messages and sums over replicas beside bare MPI."""

import statistics

from program import answers_of, span


def ratio_line(name, ours, peer, peer_name, digits):
    ratios = [a / b for a, b in zip(ours, peer)]
    print(
        f"| {name} | {statistics.median(ours):.{digits}f} | {statistics.median(peer):.{digits}f} {peer_name} "
        f"| {statistics.median(ratios):.2f} | {span(ratios)} |",
        flush=True,
    )


def instructions_and_messages(arguments):
    print("| part 3 | ours us | peer us | ours / peer | spread |\n|---|---|---|---|---|")
    times = answers_of([str(arguments.bin / "overhead_bench")])[0]["instruction_us"]
    print(f"| an instruction with an empty layer | {statistics.median(times):.2f} | goal 3 | | {span(times)} |")
    for name, copy in (("CMA", "cma"), ("no single copy", "none")):
        mode = ["--mca", "btl_vader_single_copy_mechanism", copy]
        command = [*arguments.mpirun, *mode, "-n", "2", str(arguments.bin / "message_bench")]
        for size in answers_of(command):
            title = f"message of {size['bytes'] >> 10} KiB, {name}"
            ratio_line(title, size["link_us"], size["mpi_us"], "bare MPI", 1)


def sums(arguments):
    print("| part 5 | ours ms | peer ms | ours / peer | spread |\n|---|---|---|---|---|")
    for ranks in (2, 4):
        command = [*arguments.mpirun, "-n", str(ranks), str(arguments.bin / "reduce_bench")]
        found = answers_of(command)[0]
        peer = min(("MPI_Allreduce", "in_place"), key=lambda name: statistics.median(found[name]))
        title = f"sum of {found['bytes'] / 1e6:.0f} MB over {ranks} replicas"
        ratio_line(title, found["ours"], found[peer], peer.replace("in_place", "MPI_Allreduce in place"), 1)
