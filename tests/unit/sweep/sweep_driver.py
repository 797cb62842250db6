"""A driver to be killed: ``sweep_driver.py SWEEP.json STORE [DASK ADDRESS]``."""

from __future__ import annotations

import sys

from counting import QUESTIONS

from netloom.app.sweep.run import sweep

if __name__ == "__main__":
    file, store, *dask = sys.argv[1:]
    found = sweep(
        file,
        store=store,
        workers=None if dask else 2,
        dask=dask[0] if dask else None,
        questions=QUESTIONS,
    )
    account = (found.num_from_store, found.num_computed, len(found.failed))
    sys.stdout.write(" ".join(map(str, account)) + "\n")
