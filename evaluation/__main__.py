"""``python -m evaluation NAME --out DIR``; without a name, it lists the experiments."""

from evaluation.command import main

if __name__ == "__main__":
    main()
