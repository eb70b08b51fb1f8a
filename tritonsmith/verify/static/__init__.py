"""What a candidate's text shows: names, members, imports, patches; `policy` states the rules over it."""
