"""A Ray cluster of two nodes on this machine, as a script: it prints its address, and obeys lines of standard input."""

import sys

from ray.cluster_utils import Cluster

LIMITS = {"num_cpus": 1, "object_store_memory": 100 << 20}


def main() -> None:
    """Add or remove the second node by command, until standard input ends."""
    cluster = Cluster(initialize_head=True, head_node_args={**LIMITS, "include_dashboard": False})
    node = None
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line == "add\n":
            node = cluster.add_node(**LIMITS)
            cluster.wait_for_nodes()
        elif node is not None:
            cluster.remove_node(node, allow_graceful=False)
        print("done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
