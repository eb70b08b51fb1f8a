# task: own
# rule:
#
