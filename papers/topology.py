"""Networks as the papers draw them: nodes, links and their labels.

Follows the drawings of HT chapter 4, from left to right.
Differs: made from the scenario that is run, by hand-placed nodes.
Leaves out measurements.
"""

from __future__ import annotations


def draw(networks: dict[str, tuple[dict[str, tuple[float, float]], list[tuple[str, str, str]]]]):
    """A picture of each network: its nodes by position, and its links with their labels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(networks), 1, figsize=(8, 2.6 * len(networks)), layout="constrained", squeeze=False)
    for ax, (title, (places, links)) in zip(axes[:, 0], networks.items()):
        for a, b, said in links:
            (x, y), (u, v) = places[a], places[b]
            ax.plot([x, u], [y, v], "-", color="0.6", linewidth=1)
            ax.annotate(said, ((x + u) / 2, (y + v) / 2), ha="center", va="bottom", fontsize=7, color="0.3")
        for name, (x, y) in places.items():
            ax.annotate(name, (x, y), ha="center", va="center", fontsize=8, bbox={"boxstyle": "round", "fc": "white", "ec": "0.1"})
        xs, ys = zip(*places.values())
        ax.set(title=title, xlim=(min(xs) - 0.5, max(xs) + 0.5), ylim=(min(ys) - 0.6, max(ys) + 0.6))
        ax.axis("off")
    return figure
