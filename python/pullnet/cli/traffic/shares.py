"""The option `--eps` of commands that dimension links; they alone load what fits need."""

from typing import Annotated

import typer

from pullnet.traffic.dimensioning import EPSILONS

EPS = ",".join(f"{share:g}" for share in EPSILONS)
"""The usual shares for `Eps`."""

Eps = Annotated[str, typer.Option(metavar="SHARES", help="Shares of intervals that may need more than the capacity.")]
