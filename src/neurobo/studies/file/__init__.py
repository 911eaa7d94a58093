"""The study file.

schema       the keys that it may have            reader      reading it, with all its mistakes
study_file   a file that was read                 mistakes    where, the rule, what was given
checks       what only several keys can tell      toml_lines  where its keys stand
command      names in a program's arguments       executes    what a study executes
meaning      what a file means, in words          reference   docs/study-file.md
pool_file    a pool of candidates                 sheet       CSV files
law_file     the law that a file names            beginning   files to begin with
"""
