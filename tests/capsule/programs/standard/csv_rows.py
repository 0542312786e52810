"""Rows of values separated by commas, from and to text."""
import csv
import pprint


class Lines:
    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)


def fit_and_eval(data):
    text = "name,age,city\nAda,36,\"London, UK\"\nBob,41,Paris\n"
    rows = list(csv.DictReader(text.splitlines()))
    plain = list(csv.reader(["a;b;c", "1;2;3"], delimiter=";"))
    out = Lines()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["x", "a,b", 3])
    writer.writerows([[1, 2], [3, 4]])
    return {
        "ages": [int(row["age"]) for row in rows],
        "city": rows[0]["city"],
        "plain": plain,
        "written": "".join(out.lines),
        "pretty": pprint.pformat({"b": [1, 2], "a": 1}, width=20),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'ages': [36, 41],
 'city': 'London, UK',
 'plain': [['a', 'b', 'c'], ['1', '2', '3']],
 'written': 'x,"a,b",3\n1,2\n3,4\n',
 'pretty': "{'a': 1,\n 'b': [1, 2]}"}
