"""Running a study file.

store        the study in its storage             lease          trials that are lost and retried
objective    what is evaluated, as requests       evaluator      the process that evaluates them
programs     workers that are such processes      shared_run     the loop on a shared study
ask_tell     people in the loop                   live           what a terminal shows meanwhile
failure_notes  what a run says about failures
"""
