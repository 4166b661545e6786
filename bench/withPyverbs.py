"""
The same posts and polls through pyverbs: 16 signaled sends of 64 bytes each, and a poll of 16 completions, again and
again. Prints the nanoseconds of the processor for one send and its completion, the median of the runs.

    withPyverbs.py DEVICE
"""
import json
import statistics
import sys
import time

from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

BATCH = 16
COUNT = 8_000
RUNS = 41


def connected(context, domain, queue):
    """A queue pair that is connected with itself."""
    cap = QPCap(max_send_wr=128, max_recv_wr=128, max_send_sge=4, max_recv_sge=1)
    init = QPInitAttr(qp_type=IBV_QPT_RC, scq=queue, rcq=queue, cap=cap)
    attr = QPAttr(port_num=1)
    pair = QP(domain, init, attr)
    attr.dest_qp_num = pair.qp_num
    attr.path_mtu = 3
    attr.rq_psn = attr.sq_psn = 1
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
    attr.ah_attr = AHAttr(port_num=1, dlid=1)
    pair.to_rts(attr)
    return pair


def main():
    context = Context(name=sys.argv[1])
    domain = PD(context)
    queue = CQ(context, 256, None, None, 0)
    pair = connected(context, domain, queue)
    region = MR(domain, 4096, IBV_ACCESS_LOCAL_WRITE)

    def make():
        """A chain of requests. The list keeps them alive: a link does not."""
        requests = []
        for index in range(BATCH):
            piece = SGE(region.buf + index * 64, 64, region.lkey)
            requests.append(
                SendWR(wr_id=index, num_sge=1, sg=[piece], opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED)
            )
        for request, following in zip(requests, requests[1:]):
            request.next_wr = following
        return requests

    kept = make()

    def run(requests_of):
        start = time.process_time_ns()
        for _ in range(COUNT // BATCH):
            requests = requests_of()
            pair.post_send(requests[0])
            count, completions = queue.poll(BATCH)
            if count != BATCH or any(completion.status != IBV_WC_SUCCESS for completion in completions):
                raise RuntimeError(f"{count} completions")
        return (time.process_time_ns() - start) / COUNT

    times = {"kept": [], "new": []}
    for _ in range(RUNS):
        times["kept"].append(run(lambda: kept))
        times["new"].append(run(make))
    print(json.dumps({name: statistics.median(of) for name, of in times.items()}))


if __name__ == "__main__":
    main()
