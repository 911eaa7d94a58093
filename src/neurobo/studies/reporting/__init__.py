"""Reports of a study.

findings     what the results show                sentences   the same in words
advice       the recommended setting, what next   charts      the charts of the page
report       one HTML page                        pictures    the charts as files
"""
