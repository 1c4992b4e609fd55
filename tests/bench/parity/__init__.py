"""What `paritybench.py` is made of.

    checkout    which program files there are and which are to be run
    standins    the modules that program files import and that are not there
    program     one program file and its tests
    compare     are two results the same?
    systems     MagPy, Dynamo and TorchScript behind one interface
    judge       the verdict on one test, in the process that runs it
    children    forked processes with limits on time and memory
    server      every program through every system
    results     the file of verdicts, a line for each program
    report      the table, the reasons and the chart
    progress    what is said while it runs
"""
