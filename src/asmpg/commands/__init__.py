"""The commands: one module each, with a function that returns data and `show`, which prints it.

`asmpg.commands.study.study` is `asmpg.study`, and so on; `asmpg study` calls
`asmpg.commands.study.show`.
"""
