"""Packets lost by ns-2 in the reference's runs of Thompson's experiment: the draws of its generator, one for each packet.

Follows L'Ecuyer 1999, MRG32k3a, which ns-2.35 has: two recursions of order three modulo 2^32 - 209 and 2^32 - 22853.
Differs from drawing one by one: one lane per block, each begun at the end of the one before, by powers of the matrices.
Leaves out streams and substreams; the reference's seeds, 7919 times its number plus 17, fill the six words of the default stream.
"""

import numpy as np

MODULI = (4294967087, 4294944443)
#: x of the next draw from the last three.
STEPS = (((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0)), ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612)))


def times(a, b, modulus):
    return [[sum(x * y for x, y in zip(row, column)) % modulus for column in zip(*b)] for row in a]


def draws(seed: int, count: int, lanes: int = 512) -> np.ndarray:
    """The first `count` uniforms of the generator whose six words are `seed`."""
    block = -(-count // lanes)
    state = []
    for step, modulus in zip(STEPS, MODULI):
        jump, power, n = [[int(i == j) for j in range(3)] for i in range(3)], step, block
        while n:
            jump, power, n = times(jump, power, modulus) if n & 1 else jump, times(power, power, modulus), n >> 1
        starts = [[[seed], [seed], [seed]]]
        while len(starts) < lanes:
            starts.append(times(jump, starts[-1], modulus))
        state.append(np.array(starts, dtype=np.int64)[:, :, 0].T)
    (a, b, c), (d, e, f) = state
    drawn = np.empty((lanes, block))
    for i in range(block):
        a, b, c = b, c, (1403580 * b - 810728 * a) % MODULI[0]
        d, e, f = e, f, (527612 * f - 1370589 * d) % MODULI[1]
        drawn[:, i] = np.where(c > f, c - f, c - f + MODULI[0]) / (MODULI[0] + 1)
    return drawn.ravel()[:count]


def lost(stream: int, ber: float, packets: int, wire_bytes: int = 500) -> list[int]:
    """Numbers, from 1 on, of the packets that the reference's stream loses; the SYN is packet 1."""
    probability = 1 - (1 - ber) ** (8 * wire_bytes)
    return [int(n) + 1 for n in np.nonzero(draws(7919 * stream + 17, packets) < probability)[0]]
