"""What a compiled call costs besides its graph, next to torch.compile: ``magpy-python -m magpy bench``.

    cases       the programs
    measure     times of both systems, taken in turns; guards and memory of an entry
    overhead    which measurements make a run
    report      the tables, and what is written as JSON
    chart       the PNG
    command     the command line
"""
