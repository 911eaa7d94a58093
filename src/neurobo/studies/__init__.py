"""Studies as files: what `neurobo run`, `ask`, `tell` and `report` are made of.

study_file   the TOML file, checked                      schema      the keys that it may have
toml_lines   where its keys stand                        reference   docs/study-file.md
beginning    files to begin with                         explain     what a file means, in words
executes     what a study executes                       law_file    the law that a file names
pool_file    a pool of candidates                        sheet       CSV files
store        the study in its storage, clear errors      lease       who works on a trial, retries
objective    what is evaluated, as requests              evaluator   the process that evaluates them
programs     the workers that are such processes         runner      minimize's loop with these
failures     what a run says about failures              live        what a terminal shows meanwhile
ask_tell     people in the loop                          transfer    results from and to other files
tally        counts and the best trial                   surrogate   the best point under noise
findings     what a report says                          account     what the algorithm did and why
report       one HTML page                               pictures    its pictures as files
"""
