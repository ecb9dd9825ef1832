"""The lab from the command line: `suffice replay` and `suffice simulate`."""
