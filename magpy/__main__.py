"""``magpy-python -m magpy bench``: what the package can do without a program of yours."""
import sys

USAGE = """usage: magpy-python -m magpy COMMAND …

commands:
  bench     measure what a compiled call costs besides its graph, next to torch.compile (bench --help)"""


def main(arguments):
    if arguments[:1] == ["bench"]:
        from magpy.bench import command
        command.main(arguments[1:])
    elif arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
    else:
        sys.exit(USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
