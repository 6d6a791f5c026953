"""What every room needs and none owns: checks, errors, files, facts about the machine."""
