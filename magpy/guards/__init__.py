"""Guards: what must hold for an entry to be used, checked natively (program), and why it
did not (describe). The instructions themselves are described in instr."""
