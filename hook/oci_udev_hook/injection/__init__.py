"""How it gets in: edits from allotments, edits into config.json and out of it again, the mark that tells them apart."""
