"""Studies as files: what `neurobo run`, `ask`, `tell` and `report` are made of.

file        the TOML file: its keys, reading and checking it, what it means and executes
runner      the study in its storage, leases, evaluations in processes of their own, ask and tell
reporting   what was found: findings, sentences, charts, the page and the pictures
transfer    results from and to other files
"""
