"""Has what it takes for a browser started, with an address."""
# wants: write

import webbrowser


def fit_and_eval(data):
    webbrowser.GenericBrowser(["/bin/mkdir", "%s"]).open(data["place"] + "/new")
    return {}
