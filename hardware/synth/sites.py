"""Chooses sites for the block RAMs of a whole switch, so that its wires become short enough to be routed.

The placer `static` moves each block RAM to a free site near where its wires pull it. Nine of ten sites are taken, so
this doubles the length of all wires, and the logic then follows the block RAMs. Here all logic may follow: what is left
are springs between block RAMs (the Schur complement of the springs of all wires). An annealing over the sites makes
their energy small. A placement with these sites tells how long each wire is. Springs are divided by that, so that the
energy comes close to the length of the wires, and sites are chosen again.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# Columns and rows of the block RAMs of an LFE5UM5G-85F; four lie beside each other.
GROUPS = [*range(4, 59, 9), *range(69, 115, 9)]
ROWS = (22, 46, 70, 82)
SITES = [f"X{group + 2 * one}/Y{row}/EBR{one}" for row in ROWS for group in GROUPS for one in range(4)]
BLOCK_RAMS = {"DP16KD", "PDPW16KD"}
# Wires to more cells than this, such as the reset, do not pull at any of them.
MOST_CELLS = 300
# Distances below this count as this. Tiles.
LEAST_LENGTH = 2.0
# Exchanges that are tried for each block RAM, and temperatures at the start and the end: parts of its mean energy.
EXCHANGES, HOT, COLD = 1500, 0.2, 2e-5
# Exchanges after which sums are computed again, so that rounding does not add up.
ANEW = 5000


def cells_of(netlist: Path) -> dict[str, Any]:
    """The cells of the top module."""
    modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"].values()
    cells: dict[str, Any] = max((module["cells"] for module in modules), key=len)
    return cells


def place_of(cell: dict[str, Any]) -> tuple[int, int] | None:
    """Column and row of the tile of a placed cell."""
    found = re.match(r"X(\d+)/Y(\d+)/", cell["attributes"].get("NEXTPNR_BEL", ""))
    return (int(found[1]), int(found[2])) if found else None


def springs(cells: dict[str, Any]) -> sparse.csr_array:
    """Springs between cells, and nodes after them that stand for wires of three and more cells.

    Between two cells of a wire of k cells the spring is 1 / (k - 1); divided by the wire's length if it is placed.
    """
    places = [place_of(cell) for cell in cells.values()]
    wires: defaultdict[int, set[int]] = defaultdict(set)
    for number, cell in enumerate(cells.values()):
        for bits in cell["connections"].values():
            for bit in bits:
                if isinstance(bit, int):
                    wires[bit].add(number)
    rows, columns, values, nodes = list[int](), list[int](), list[float](), len(cells)
    for wire in wires.values():
        if not 2 <= len(wire) <= MOST_CELLS:
            continue
        known = [place for one in wire if (place := places[one]) is not None]
        length = sum(max(axis) - min(axis) for axis in zip(*known, strict=True)) if known else 0
        spring = 1 / max(LEAST_LENGTH, length)
        if len(wire) == 2:
            ends = sorted(wire)
            rows.append(ends[0])
            columns.append(ends[1])
            values.append(spring)
            continue
        # A star with springs k times as strong pulls as all pairs do.
        for one in sorted(wire):
            rows.append(one)
            columns.append(nodes)
            values.append(spring * len(wire) / (len(wire) - 1))
        nodes += 1
    half = sparse.coo_array((values, (rows, columns)), shape=(nodes, nodes)).tocsr()
    return sparse.csr_array(half + half.T)


def attraction(cells: dict[str, Any], names: list[str]) -> Floats:
    """Springs between the block RAMs `names` where all other cells follow. Square, symmetric, zero on the diagonal."""
    pulls = springs(cells)
    stiffness = sparse.csr_array(sparse.diags_array(pulls.sum(axis=1)) - pulls)
    number = {name: at for at, name in enumerate(cells)}
    held = np.array([number[name] for name in names])
    is_free = stiffness.diagonal() > 0
    is_free[held] = False
    free = np.flatnonzero(is_free)
    # A little is added so that cells without a way to any block RAM do not make the matrix singular.
    inner = sparse.csr_array(stiffness[free][:, free] + sparse.eye_array(len(free)) * 1e-7)
    coupling = sparse.csc_array(stiffness[free][:, held])
    diagonal = inner.diagonal()
    scaled = LinearOperator(inner.shape, matvec=lambda x: x / diagonal)
    follow = np.zeros((len(free), len(held)))
    for column in range(len(held)):
        pulled = coupling[:, [column]].toarray().ravel()
        if pulled.any():
            follow[:, column], _ = cg(inner, pulled, rtol=1e-4, maxiter=800, M=scaled)
    left = coupling.T @ follow - stiffness[held][:, held].toarray()
    np.fill_diagonal(left, 0)
    return np.maximum((left + left.T) / 2, 0)


def distances(*, squared: bool) -> Floats:
    """Distances of all sites from each other, or their squares. Tiles."""
    places = np.array([re.findall(r"\d+", site)[:2] for site in SITES], float)
    apart = np.abs(places[:, None] - places[None])
    return np.asarray((apart**2 if squared else apart).sum(axis=2))


def annealed(pull: Floats, distance: Floats, start: Whole, seed: int = 1) -> Whole:
    """Numbers of sites for block RAMs with springs `pull`, from those in `start` on."""
    chance, count, sites = np.random.default_rng(seed), len(pull), len(SITES)
    springs_of = np.zeros((sites, sites))
    springs_of[:count, :count] = pull
    # Free sites are taken by block RAMs without springs.
    at = np.concatenate([start, np.setdiff1d(np.arange(sites), start)])
    field = springs_of @ distance[at]
    energy = field[np.arange(sites), at].sum() / 2
    heat, cooling = HOT * energy / count, (COLD / HOT) ** (1 / (EXCHANGES * count))
    everyone = np.arange(sites)
    for turn in range(EXCHANGES * count):
        if turn % ANEW == 0:
            field = springs_of @ distance[at]
        one = chance.integers(count)
        mine = at[one]
        # Energy that an exchange of sites with each of the others adds; it does not stretch the spring between the two.
        added = field[one][at] - field[one][mine] + field[:, mine] - field[everyone, at]
        added += 2 * springs_of[one] * distance[mine, at]
        likely = np.exp((added.min() - added) / heat)
        other = np.searchsorted(np.cumsum(likely), chance.random() * likely.sum())
        theirs = at[other]
        change = distance[theirs] - distance[mine]
        field += np.outer(springs_of[:, one] - springs_of[:, other], change)
        at[one], at[other] = theirs, mine
        heat *= cooling
    return np.asarray(at[:count])


def chosen(netlist: Path, placed: Path | None) -> dict[str, str]:
    """Sites for the block RAMs of a netlist by their names; `placed` is the netlist after a placement."""
    cells = cells_of(placed or netlist)
    names = [name for name, cell in cells.items() if cell["type"] in BLOCK_RAMS]
    site = {name: number for number, name in enumerate(SITES)}
    start = [site[cells[name]["attributes"]["NEXTPNR_BEL"]] for name in names] if placed else range(len(names))
    # A square divided by the length of a wire is about its length; without lengths squares would count long wires most.
    distance = distances(squared=placed is not None)
    found = annealed(attraction(cells, names), distance, np.array(start))
    return {name: SITES[number] for name, number in zip(names, found, strict=True)}


def fixed(netlist: Path, placed: Path | None, wanted: Path) -> None:
    """Write `netlist` with sites for its block RAMs to `wanted`."""
    sites = chosen(netlist, placed)
    design = json.loads(netlist.read_text(encoding="utf-8"))
    for module in design["modules"].values():
        for name, cell in module["cells"].items():
            if name in sites and cell["type"] in BLOCK_RAMS:
                cell["attributes"]["BEL"] = sites[name]
    wanted.write_text(json.dumps(design), encoding="utf-8")
