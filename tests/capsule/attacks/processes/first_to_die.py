"""Has the kernel end another process first when memory is short."""
# wants: signal
# needs: root

def fit_and_eval(data):
    with open(f"/proc/{data['pid']}/oom_score_adj", "w") as f:
        f.write("1000")
    return {}
