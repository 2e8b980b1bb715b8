"""What is wrong with a trace file or profile folder: explicit lists of small functions, each looking for one defect."""
