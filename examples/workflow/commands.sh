#!/bin/sh
# The chapter's commands: inspect a run, compare two, replay, judge one, a set, a suite.
#
# sh commands.sh        in an empty directory, with `muniment` on the PATH
set -e

cat > desk.py <<'PYTHON'
def draft(stage):
    text = f"Refund: {stage.task}\n"
    with open("letter.txt", "w") as file:
        file.write(text)
    return text
PYTHON
cat > letter.json <<'JSON'
{
  "name": "letter",
  "entry": "draft",
  "nodes": {
    "draft": {"handler": "desk:draft"},
    "check": {"kind": "verify", "verify": {"command": "cat letter.txt", "assert_text": "Refund"}}
  },
  "edges": [{"from": "draft", "to": "check"}]
}
JSON

muniment init > init.txt
muniment run letter.json --task T-7 --label set=baseline > first.txt 2>&1
muniment run letter.json --task T-7 --label set=new > second.txt 2>&1

# There is no server that shows runs: a run's page is a file, and needs nothing else.
muniment report last -o run.html > report.txt

muniment runs show last --limit 0 | grep -E '^status'
muniment runs diff last~1 last | tail -n 1
muniment replay last --trust-program --no-record | grep -E '^verdict'

# A fixture is made of a good run, and another run is held to it: the exit code says how.
muniment runs fixture last~1 -o good.json
muniment eval good.json last | grep -E '^verdict'
muniment eval good.json set=new | grep -E '^cases'

cat > regression.toml <<'TOML'
version = 1
id = "regression"

[[cases]]
id = "as-before"
rubrics = ["sent"]
thresholds = {max_stage_count = 3}

[[rubrics]]
id = "sent"
[[rubrics.assertions]]
kind = "run-status"
expected = "completed"
TOML
muniment eval regression.toml set=new | grep -E '^verdict'
