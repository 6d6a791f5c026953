"""`python -m asmpg` is the command line, where its script is not on the path."""

from asmpg.cli import main

if __name__ == "__main__":
    main()
