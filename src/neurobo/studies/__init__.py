"""Studies as files: what `neurobo run`, `ask`, `tell` and `report` are made of.

study_file   the TOML file, checked                      toml_lines  where its keys stand
store        the study in its storage, clear errors      lease       who works on a trial
objective    what is evaluated, as requests              evaluator   the process that evaluates them
programs     the workers that are such processes         runner      minimize's loop with these
ask_tell     people in the loop                          transfer    results from and to other files
best         the best point, also under noise            live        what a terminal shows meanwhile
"""
