"""`python -m pullnet`: the command, without its folder being on the path."""

from pullnet.cli import main

main()
