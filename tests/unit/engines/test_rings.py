"""Rings on direct links, against the wiring of a DGX-1V."""

from __future__ import annotations

import pytest

from netloom.engines.analytic.rings import cube_mesh_links, num_rings


def test_every_gpu_of_a_full_cube_mesh_uses_all_its_links() -> None:
    for num_links in (4, 6):
        links = cube_mesh_links(8, num_links)
        for gpu in range(8):
            assert sum(count for low, high, count in links if gpu in {low, high}) == num_links


@pytest.mark.parametrize(
    ("num_gpus", "expected"),
    [
        (2, 1),  # GPUs 0 and 1 share a single link
        (3, 2),  # one triangle, both ways round
        (4, 4),  # GPU 0 has 4 links left: two cycles
        (5, 2),  # GPU 4 hangs on GPU 0 by two links and is passed through
        (6, 2),  # GPUs 4 and 5 share one link: one cycle
        (7, 4),
        (8, 6),  # six links a GPU: three cycles
    ],
)
def test_the_first_gpus_of_a_dgx_1v_hold_so_many_rings(num_gpus: int, expected: int) -> None:
    assert num_rings(num_gpus, cube_mesh_links(num_gpus, 6)) == expected


def test_a_cycle_without_spare_links_is_two_rings() -> None:
    square = ((0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 1))
    assert num_rings(4, square) == 2


def test_two_gpus_without_a_link_hold_no_ring() -> None:
    assert num_rings(2, ()) == 0
