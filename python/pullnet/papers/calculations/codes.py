"""Fountain codes: failure probabilities, operations, limits and speed."""

import math
from itertools import pairwise
from typing import Any

from pullnet import codes


def code_failures(seed: int, code: codes.Code, symbols: int, lost: int, overhead: int, trials: int) -> dict[str, Any]:
    """Failure probability with K + overhead symbols, and the upper end of its 95% interval."""
    found = codes.failure(code, symbols=symbols, lost=lost, overhead=overhead, trials=trials, seed=seed)
    return {"rate": found.rate, "most": found.interval[1], "failures": found.failures, "trials": trials}


def code_order(seed: int, symbols: int, lost: int, trials: int) -> dict[str, Any]:
    """Whether RaptorQ fails less often than R10 at every overhead from 0 to 10 symbols."""
    rates = {
        code: [
            codes.failure(code, symbols=symbols, lost=lost, overhead=more, trials=trials, seed=seed).rate
            for more in range(11)
        ]
        for code in ("r10", "raptorq")
    }
    ordered = all(rq < r10 for r10, rq in zip(rates["r10"], rates["raptorq"], strict=True))
    return {"ordered": ordered, **rates}


def code_slope(seed: int, trials: int) -> dict[str, Any]:
    """Mean failure probability of RaptorQ at K + 0 and K + 1; whether both are within a factor 3 of 1e-2 and 1e-4."""
    blocks = ((10, 10), (26, 26), (100, 10))
    rates = [
        sum(
            codes.failure("raptorq", symbols=symbols, lost=lost, overhead=more, trials=trials, seed=seed).rate
            for symbols, lost in blocks
        )
        / len(blocks)
        for more in (0, 1)
    ]
    within = all(stated / 3 <= rate <= stated * 3 for rate, stated in zip(rates, (1e-2, 1e-4), strict=True))
    return {"within": within, "at_0": rates[0], "at_1": rates[1]}


def code_limits(_seed: int, of: str, r10: int, raptorq: int) -> dict[str, Any]:
    """One of the limits of R10 and RaptorQ, and whether they are the stated ones."""
    ours = [getattr(row, of) for row in codes.limits()]
    return {"r10": ours[0], "raptorq": ours[1], "as_stated": ours == [r10, raptorq]}


def code_operations(seed: int) -> dict[str, Any]:
    """Growth of XORs: of LT with the logarithm of k, of Raptor codes with that of 1/epsilon; means of ten blocks of LT.

    How many symbols one LT block takes, and so how many XORs its decoding, varies widely from block to block.
    """
    ks, epsilons = (100, 200, 500, 1000, 2000, 5000, 10000), (0.5, 0.3, 0.2, 0.1, 0.05)
    lt = {k: [codes.lt_operations(k, seed * 1000 + block) for block in range(10)] for k in ks}
    raptor = {epsilon: codes.raptor_operations(100_000, epsilon, seed) for epsilon in epsilons}
    logs = [math.log(k) for k in ks]
    inverse = [math.log(1 / epsilon) for epsilon in epsilons]
    return {
        "lt_encode_fit": _fit(logs, [lt[k][0].encode for k in ks]),
        "lt_decode_fit": _fit(logs, [sum(block.decode for block in lt[k]) / len(lt[k]) for k in ks]),
        "raptor_encode_fit": _fit(inverse, [raptor[epsilon].encode for epsilon in epsilons]),
        "raptor_decode_fit": _fit(inverse, [raptor[epsilon].decode for epsilon in epsilons]),
    }


def _fit(x: list[float], y: list[float]) -> float:
    """Coefficient of determination of the straight line through the points; 0 if it falls."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    xx, yy = sum((a - mean_x) ** 2 for a in x), sum((b - mean_y) ** 2 for b in y)
    return xy * xy / (xx * yy) if xy > 0 else 0.0


def code_speed(seed: int, seconds: float) -> dict[str, Any]:
    """Speed of RaptorQ with 1280-byte symbols: rates, growth of the time per symbol, small and large blocks."""
    del seed
    rows = {k: codes.speed(k, 1280, seconds=seconds) for k in (10, 100, 300, 1000, 3000, 10000)}
    each = {
        kind: [getattr(rows[k], kind) / k for k in (100, 300, 1000, 3000, 10000)] for kind in ("encode_us", "decode_us")
    }
    latencies = [row.decode_us for row in rows.values()]
    return {
        "encode_gbps": max(row.encode_gbps for row in rows.values()),
        "decode_gbps": max(row.decode_gbps for row in rows.values()),
        "decode_gbps_100": rows[100].decode_gbps,
        "encode_gbps_100": rows[100].encode_gbps,
        "growth": max(max(times) / min(times) for times in each.values()),
        "small_faster": all(small < large for small, large in pairwise(latencies)),
    }
